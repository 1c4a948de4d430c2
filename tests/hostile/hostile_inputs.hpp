// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "platform/temporary_folder.hpp"
#include "tests/hostile/run_case.hpp"

namespace underlap::hostile {

/// A name that acts on a terminal, in Markdown, in HTML and in CI systems where it is not escaped.
extern const std::string kName;
extern const std::string kFileName;

/// Files that hold such names everywhere: traces t0.json, t1.json, u0.json and u1.json, configurations, a run `right`,
/// and its copy `spoiled`. Made once for all cases.
class Inputs {
 public:
  Inputs();

  std::filesystem::path at(const std::string& name) const { return folder_.path() / name; }
  const std::filesystem::path& folder() const { return folder_.path(); }
  const Ended& made() const { return made_; }

 private:
  TemporaryFolder folder_;
  Ended made_;
};

/// Puts the program folder first in PATH, and the names into NAME and FILE.
void set_names_for_commands();

}  // namespace underlap::hostile
