// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace underlap::bench {

// Each adds one sub-command to `app`; running it sets `exit_code`. `command_line` is what results and pages
// name as their command.
void add_init_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app, int& exit_code);
void add_check_command(CLI::App& app, int& exit_code);
void add_tune_command(CLI::App& app, int& exit_code, const std::string& command_line);
void add_run_command(CLI::App& app, int& exit_code, const std::string& command_line);
void add_rank_command(CLI::App& app, int& exit_code);
void add_submit_command(CLI::App& app, int& exit_code);
void add_merge_command(CLI::App& app, int& exit_code);
void add_status_command(CLI::App& app, int& exit_code);
void add_show_command(CLI::App& app, int& exit_code);
void add_compare_command(CLI::App& app, int& exit_code, const std::string& command_line);
void add_scaling_command(CLI::App& app, int& exit_code);
void add_gate_command(CLI::App& app, int& exit_code, const std::string& command_line);
void add_view_command(CLI::App& app);
void add_baseline_command(CLI::App& app, int& exit_code);
void add_analyze_command(CLI::App& app, int& exit_code, const std::string& command_line);
void add_convert_command(CLI::App& app, int& exit_code);
void add_list_command(CLI::App& app, int& exit_code);
/// help, version and completion, which speak of all commands that `app` has when they run.
void add_help_commands(CLI::App& app, int& exit_code);

/// Version, commit, compiler, backends and libraries: what --version prints.
std::string version_text();

}  // namespace underlap::bench
