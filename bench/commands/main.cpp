// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>

#include "bench/commands/commands.hpp"
#include "bench/commands/help/command_tree.hpp"
#include "bench/commands/help/help_text.hpp"
#include "bench/commands/help/usage_errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/run_program.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {
namespace {

std::string command_line(int argc, char** argv) {
  std::string text = "underlap";
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

/// Adds the commands that `add` adds under one title.
template <class Add>
void add_group(CLI::App& app, const std::string& title, Add add) {
  const std::size_t before = app.get_subcommands({}).size();
  add();
  const std::vector<CLI::App*> all = app.get_subcommands({});
  for (std::size_t i = before; i < all.size(); ++i)
    if (!all[i]->get_group().empty()) all[i]->group(title);  // commands for programs have none
}

void add_commands(CLI::App& app, int& exit_code, const std::string& command_line) {
  add_group(app, "Analyze traces", [&] {
    add_analyze_command(app, exit_code, command_line);
    add_compare_command(app, exit_code, command_line);
    add_view_command(app);
    add_convert_command(app, exit_code);
  });
  add_group(app, "Benchmark", [&] {
    add_init_command(app, exit_code);
    add_plan_command(app, exit_code);
    add_check_command(app, exit_code);
    add_run_command(app, exit_code, command_line);
    add_rank_command(app, exit_code);
    add_show_command(app, exit_code);
    add_scaling_command(app, exit_code);
    add_tune_command(app, exit_code, command_line);
  });
  add_group(app, "Cluster", [&] {
    add_submit_command(app, exit_code);
    add_status_command(app, exit_code);
    add_merge_command(app, exit_code);
  });
  add_group(app, "CI", [&] {
    add_gate_command(app, exit_code, command_line);
    add_baseline_command(app, exit_code);
  });
  add_group(app, "Other", [&] {
    add_list_command(app, exit_code);
    add_help_commands(app, exit_code);
  });
}

// Nothing was asked: what could be is the answer, and no success.
int tell_commands(const CLI::App& command) {
  const bool is_program = command.get_parent() == nullptr;
  print_error(is_program ? first_page() : help_text(command_tree(command), help_width()));
  return kBadInput;
}

int run_main(int argc, char** argv) {
  CLI::App app(
      "Shows how much of an LLM training step's communication is hidden under compute, how much is exposed, why, and "
      "what changed.",
      "underlap");
  app.formatter_fn([](const CLI::App* command, std::string, CLI::AppFormatMode) {
    return help_text(command_tree(*command), help_width());
  });
  app.set_version_flag("--version", version_text, "print version, commit, compiler, backends and libraries");
  app.require_subcommand(1);
  app.footer(
      "`underlap help COMMAND` shows the options of a command, with examples.\n\nExample: underlap analyze "
      "'traces/*.json.gz'\n         underlap compare before/ after/\n         underlap run quick -o out && underlap "
      "show out");
  int exit_code = kOk;
  add_commands(app, exit_code, command_line(argc, argv));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    if (const CLI::App& chosen = chosen_command(app); lacks_command(chosen)) return tell_commands(chosen);
    throw std::invalid_argument(usage_error(app, error));
  }
  return exit_code;
}

}  // namespace
}  // namespace underlap::bench

int main(int argc, char** argv) {
  return underlap::run_program("underlap", [&] { return underlap::bench::run_main(argc, argv); });
}
