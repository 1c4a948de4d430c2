// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/page/html.hpp"

namespace underlap::bench {

/// Command, version and files: the last section of a page.
std::vector<page::Fact> page_facts(const std::string& command_line, const std::vector<std::string>& files = {});

/// Writes a page to `file` and prints that name, or the page itself for "-". Does nothing for an empty name.
void write_page(const std::string& file, const std::string& html);

}  // namespace underlap::bench
