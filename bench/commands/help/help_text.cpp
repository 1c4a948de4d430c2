// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/help/help_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "platform/exit_code.hpp"
#include "platform/table.hpp"
#include "platform/terminal.hpp"
#include "profiler/attribution/mode_map.hpp"

namespace underlap::bench {
namespace {

constexpr std::size_t kTermColumns = 28;

using Entry = std::pair<std::string, std::string>;  // a term, and what it means

// Terms in one column and texts in the next. If a term is too long, its text begins on the next line.
std::string entries_text(const std::string& title, const std::vector<Entry>& entries, int width) {
  if (entries.empty()) return "";
  std::size_t longest = 0;
  for (const auto& [term, text] : entries)
    if (term.size() + 4 <= kTermColumns) longest = std::max(longest, term.size());
  const std::size_t indent = longest == 0 ? kTermColumns : longest + 4;
  std::string out = fmt::format("\n{}:\n", title);
  for (const auto& [term, text] : entries) {
    const bool fits_on_line = term.size() + 4 <= indent;
    if (!fits_on_line) out += fmt::format("  {}\n", term);
    out += wrap(fmt::format("  {:<{}}{}", fits_on_line ? term : "", indent - 2, text), width, std::string(indent, ' '));
  }
  return out;
}

std::vector<Entry> entries_of(const std::vector<CommandOption>& options) {
  std::vector<Entry> entries;
  for (const CommandOption& option : options)
    entries.emplace_back(option_text(option) + (option.is_repeated ? " ..." : ""), option.about);
  return entries;
}

std::string exit_status_text(int width) {
  std::vector<Entry> entries;
  for (const ExitStatus& status : kExitStatuses) entries.emplace_back(std::to_string(status.code), status.meaning);
  return entries_text("Exit status", entries, width);
}

// Commands under the titles of their groups, in the order in which the groups first occur.
std::string commands_text(const std::vector<Command>& commands, int width) {
  std::vector<std::string> groups;
  for (const Command& command : commands)
    if (std::ranges::find(groups, command.group) == groups.end()) groups.push_back(command.group);
  std::string text;
  for (const std::string& group : groups) {
    std::vector<Entry> entries;
    for (const Command& command : commands)
      if (command.group == group) entries.emplace_back(fmt::format("{:<10}", command.name()), command.about);
    text += entries_text(group, entries, width);
  }
  return text;
}

}  // namespace

int help_width() { return std::clamp(terminal_width(STDOUT_FILENO), 40, 100); }

std::string option_text(const CommandOption& option) {
  const bool is_positional = !option.names.front().starts_with("-");
  const std::string names = fmt::format("{}", fmt::join(option.names, ", "));
  return is_positional || option.value.empty() ? names : names + " " + option.value;
}

std::string usage_text(const Command& command) {
  std::string text = command.path;
  if (!command.options.empty()) text += " [OPTIONS]";
  for (const CommandOption& positional : command.positionals)
    text += fmt::format(" {}{}{}{}", positional.is_required ? "" : "[", positional.names.front(),
                        positional.is_repeated ? "..." : "", positional.is_required ? "" : "]");
  return text + (command.commands.empty() ? "" : " COMMAND");
}

std::string help_text(const Command& command, int width) {
  std::string text = wrap(command.about, width);
  text += fmt::format("\nUsage: {}\n", usage_text(command));
  text += commands_text(command.commands, width);
  text += entries_text("Arguments", entries_of(command.positionals), width);
  text += entries_text("Options", entries_of(command.options), width);
  if (!command.footer.empty()) text += "\n" + command.footer + "\n";
  return text + exit_status_text(width);
}

const std::map<std::string, std::string>& help_topics() {
  static const std::map<std::string, std::string> topics{{"mode-map", attribution::mode_map_help()}};
  return topics;
}

std::string first_page() {
  return "underlap shows how much of an LLM training step's communication is hidden under\n"
         "compute, and how much is exposed.\n"
         "\n"
         "Start with\n"
         "  underlap analyze 'traces/*.json.gz'  the traces of a job\n"
         "  underlap init config.yaml            write a configuration: overlap off and on\n"
         "  underlap run config.yaml -o DIR      measure it on this machine, in a minute\n"
         "  underlap show DIR                    print the result again\n"
         "\n"
         "underlap --help lists all commands; underlap help COMMAND explains one.\n";
}

}  // namespace underlap::bench
