// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace underlap::bench {

/// One option, flag or positional of a command, as a person is told of it.
struct CommandOption {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional its one name
  std::string value;               ///< what stands behind it: "N", "host|cuda|sim"; empty for a flag
  std::string about;
  bool is_required = false;
  bool is_repeated = false;
  std::vector<std::string> words;  ///< that may stand for the value, where they are known
  bool takes_file = false;         ///< the value is a file or a folder
};

/// One command with all below it: what help, manual and completion are made from.
struct Command {
  std::string path;  ///< with the program's name: "underlap list knobs"
  std::string about;
  std::string group;  ///< title of the list that names it in the help of the command above it
  std::vector<CommandOption> positionals;
  std::vector<CommandOption> options;
  std::vector<Command> commands;  ///< those for people
  std::string footer;

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

/// The tree of `app`. Options without a group of their own, and commands without one, are for programs and left out.
Command command_tree(const CLI::App& app);

}  // namespace underlap::bench
