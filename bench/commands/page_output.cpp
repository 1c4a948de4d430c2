// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/page_output.hpp"

#include <fmt/format.h>

#include "bench/machine/machine_info.hpp"
#include "platform/atomic_file.hpp"
#include "platform/text/escape.hpp"
#include "platform/text/list.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {

std::vector<page::Fact> page_facts(const std::string& command_line, const std::vector<std::string>& files) {
  constexpr std::size_t kMostFiles = 64;
  const report::RunInfo info = machine_info();
  std::vector<page::Fact> facts{{"command", command_line},
                                {"Underlap", fmt::format("{}, commit {}", info.version, info.commit)},
                                {"written", info.started_utc}};
  if (!files.empty()) facts.push_back({"files", short_list(files, kMostFiles)});
  return facts;
}

void write_page(const std::string& file, const std::string& html) {
  write_output(file, html);
  if (!file.empty() && file != "-") print_error("wrote {}\n", visible_text(file));
}

}  // namespace underlap::bench
