// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/status_watch.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/memory_room.hpp"
#include "platform/text/output.hpp"
#include "profiler/gate/named_runs.hpp"

namespace underlap::bench {
namespace {

struct SaveArguments {
  std::vector<std::string> runs;
  std::string folder;
};

int save_baseline(const SaveArguments& arguments) {
  StatusWatch watch;
  std::vector<compare::RunFigures> runs = gate::runs_named(arguments.runs, watch);
  gate::check_baseline(runs);
  check_output_folder("-o", arguments.folder);
  // Runs of one side have the same knobs: those of the first are enough.
  for (std::size_t i = 1; i < runs.size(); ++i)
    for (compare::CellFigures& cell : runs[i].cells) {
      cell.knobs.clear();
      cell.derived_knobs.clear();
    }
  const std::string text = gate::baseline_text(runs);
  const std::filesystem::path file = std::filesystem::path(arguments.folder) / gate::kBaselineFile;
  write_file_atomically(file, text);
  print_text("{}: {} run{} of {} cell{}, {}\n", file.string(), runs.size(), runs.size() == 1 ? "" : "s",
             runs.front().cells.size(), runs.front().cells.size() == 1 ? "" : "s",
             in_bytes(static_cast<std::int64_t>(text.size())));
  return kOk;
}

}  // namespace

void add_baseline_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("baseline", "Save a run as a small baseline file to commit");
  command->require_subcommand(1);
  auto arguments = std::make_shared<SaveArguments>();
  CLI::App* save =
      command->add_subcommand("save", "Save what `underlap gate` needs of one or more runs, in a few kilobytes");
  save->add_option("RUN", arguments->runs, "runs, in any form that `underlap gate` accepts")->required();
  save->add_option("-o,--output", arguments->folder, "baseline folder; an existing baseline is replaced")
      ->required()
      ->check(not_empty());
  save->footer("Example: underlap baseline save out/main -o baselines/main");
  save->callback([arguments, &exit_code] { exit_code = save_baseline(*arguments); });
}

}  // namespace underlap::bench
