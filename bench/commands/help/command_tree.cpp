// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/help/command_tree.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>

#include "bench/commands/help/help_text.hpp"
#include "bench/commands/run_fields.hpp"
#include "bench/commands/shipped_matrices.hpp"
#include "impl/device/sim/hardware.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::bench {
namespace {

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  std::istringstream list(option.get_positional() ? option.get_name(true) : option.get_name(false, true));
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

// Those for people.
std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

// A flag that sets a field of `run:` has the field's name.
std::string field_of(std::string flag) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::replace(flag.begin(), flag.end(), '-', '_');
  return "run." + flag;
}

std::vector<std::string> knob_names() {
  std::vector<std::string> names;
  for (const plan::KnobInfo& knob : plan::known_knobs()) names.push_back(knob.name);
  return names;
}

// Read once: many commands take a matrix.
const std::vector<std::string>& matrix_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const ShippedMatrix& matrix : shipped_matrices()) found.push_back(matrix.name);
    return found;
  }();
  return names;
}

// Choices of options that are not knobs, by the option's name, which is the same in every command.
std::vector<std::string> listed_words(const std::string& name) {
  if (name == "--hardware") return sim::hardware_names();
  if (name == "--like") return plan::preset_names();
  if (name == "PATTERN") return knob_names();
  if (name == "CONFIG") return matrix_names();
  return {};
}

void describe_by_knob(CommandOption& option, const std::string& group) {
  static const std::vector<plan::KnobInfo> knobs = plan::known_knobs();
  const auto knob = std::ranges::find(knobs, field_of(option.names.back()), &plan::KnobInfo::name);
  if (knob == knobs.end()) return;
  if (group == kRunFieldGroup && !knob->backends.empty())
    option.about = fmt::format("{}: {}", fmt::join(knob->backends, " and "), option.about);
  option.words = knob->words;
  if (!knob->words.empty()) option.value = fmt::format("{}", fmt::join(knob->words, "|"));
  if (knob->type.find("number") != std::string::npos) option.value = "N";
}

// CLI11's "INT:INT in [40 - 1000]" holds a type and a range: the type goes after the name, the range into the text.
void describe_type(CommandOption& option, const std::string& type) {
  static const std::map<std::string, std::string> kValues{{"INT", "N"}, {"UINT", "N"}, {"FLOAT", "X"}};
  const std::string word = type.substr(0, type.find_first_of(":,"));
  const auto known = kValues.find(word);
  option.value = known == kValues.end() ? word : known->second;
  if (const std::size_t words = type.find('{'); words != std::string::npos)
    for (std::istringstream list(type.substr(words + 1, type.find('}') - words - 1));
         std::getline(list, option.value, ',');)
      option.words.push_back(option.value);
  constexpr std::size_t kLongestList = 60;  // longer lists are in the description
  if (!option.words.empty()) option.value = fmt::format("{}", fmt::join(option.words, "|"));
  if (option.value.size() > kLongestList) option.value = "NAME";
  const std::size_t range = type.find(" in [");  // "INT in [1 - 1000]"
  if (range == std::string::npos) return;
  std::string limits = type.substr(range + 5, type.find(']', range) - range - 5);
  if (const std::size_t dash = limits.find(" - "); dash != std::string::npos) limits.replace(dash, 3, " to ");
  option.about += fmt::format("; {}", limits);
}

std::vector<std::string> command_names(const CLI::App& app) {
  if (app.get_parent() != nullptr) return command_names(*app.get_parent());
  std::vector<std::string> names;
  for (const CLI::App* child : commands_of(app)) names.push_back(child->get_name());
  for (const auto& [topic, text] : help_topics()) names.push_back(topic);
  return names;
}

CommandOption option_of(const CLI::Option& option, const CLI::App& app) {
  static const std::set<std::string> kFiles{"-o", "CONFIG", "TRACE", "FILE", "DIR", "--config", "--html"};
  CommandOption view{.names = names_of(option), .value = {}, .about = option.get_description(), .words = {}};
  view.is_required = option.get_required();
  view.is_repeated = option.get_items_expected_max() > 1;
  view.takes_file = std::ranges::any_of(view.names, [](const std::string& name) { return kFiles.contains(name); });
  if (option.get_type_size_max() == 0) return view;
  describe_type(view, option.get_type_name());
  describe_by_knob(view, option.get_group());
  for (const std::string& name : view.names)
    if (auto words = name == "COMMAND" ? command_names(app) : listed_words(name); !words.empty())
      view.words = std::move(words);
  return view;
}

}  // namespace

Command command_tree(const CLI::App& app) {
  Command command{.path = path_of(app),
                  .about = app.get_description(),
                  .group = app.get_group() == CLI::App().get_group() ? "Commands" : app.get_group(),
                  .positionals = {},
                  .options = {},
                  .commands = {},
                  .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty())
      (option->get_positional() ? command.positionals : command.options).push_back(option_of(*option, app));
  // The parser cannot require a positional after one that takes any number of words; the command checks that itself.
  for (std::size_t i = 1; i < command.positionals.size(); ++i)
    command.positionals[i].is_required |= command.positionals[i - 1].is_repeated;
  for (const CLI::App* child : commands_of(app)) command.commands.push_back(command_tree(*child));
  return command;
}

}  // namespace underlap::bench
