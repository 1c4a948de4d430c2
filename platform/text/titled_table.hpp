// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platform/table.hpp"

namespace underlap {

/// A table under its title, with sentences below it.
struct TitledTable {
  std::string title;
  Table table = {};
  std::vector<std::string> notes = {};
};

/// For a terminal. A table without rows is left out.
std::string render(const TitledTable& titled, const TableFormat& format);

}  // namespace underlap
