// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace underlap::bench {

/// One option, flag or positional of a command, as shown in help.
struct CommandOption {
  std::vector<std::string> names;  ///< "-o", "--output"; for a positional its only name
  std::string value;               ///< placeholder after the name: "N", "host|cuda|sim"; empty for a flag
  std::string about;
  bool is_required = false;
  bool is_repeated = false;
  std::vector<std::string> words;  ///< accepted values, if known
  bool takes_file = false;         ///< the value is a file or a folder
};

/// One command and its subcommands: the source of help, manual page and completion.
struct Command {
  std::string path;  ///< with the program's name: "underlap list knobs"
  std::string about;
  std::string group;  ///< title of its group in the help of the parent command
  std::vector<CommandOption> positionals;
  std::vector<CommandOption> options;
  std::vector<Command> commands;  ///< excluding commands for programs
  std::string footer;

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

/// The tree of `app`. Options and commands without a group are for programs and left out.
Command command_tree(const CLI::App& app);

}  // namespace underlap::bench
