// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace underlap::hostile {

/// What the cases of one section have in common. `<>` stands for the text of the case.
struct Section {
  std::string name;
  std::string config;           ///< config.yaml of each case; empty: none is written
  std::string once;             ///< shell: prepares the folder that each case gets a copy of
  std::string run;              ///< shell: what is tried
  std::set<int> exit_codes{2};  ///< that are right
  std::vector<std::string> says;
};

/// One input, and what must come of it.
struct Case {
  std::shared_ptr<const Section> section;
  std::string text;
  std::vector<std::string> says;  ///< words of the output, those of the section too; after a `!`: words that it lacks
  std::string where;              ///< file:line of the table

  std::string config() const;
  std::string command() const;
};

/// Reads one table. A line is one case, `text => words; other words`, the words where they matter; `\n` is a line break
/// in words and in config, and `<empty>` no text at all. Lines that begin with # are comments, and those that begin
/// with @ make a section: `@ name`, which begins it, `@ config`, `@ once`, `@ run`, `@ exit` and `@ says`, each of
/// which may be repeated.
std::vector<Case> read_table(const std::filesystem::path& path);

}  // namespace underlap::hostile
