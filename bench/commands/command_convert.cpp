// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/status_watch.hpp"
#include "platform/exit_code.hpp"
#include "platform/status_line.hpp"
#include "platform/text/escape.hpp"
#include "platform/text/output.hpp"
#include "profiler/analysis/matching/communication_matching.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
  std::vector<std::string> traces;
  std::string file;
  std::optional<std::string> cell;
  bool force = false;
};

attribution::AttributionOptions usual_attribution(const Trace&) { return {}; }

// A file holds one cell, while a run's folder may have several.
input::CellTrace cell_of_folder(const ConvertArguments& arguments) {
  StatusWatch watch;
  std::optional<input::CellTrace> found;
  input::for_each_cell(
      arguments.traces.front(), arguments.cell, usual_attribution, watch, [&](const input::CellTrace& cell) {
        if (found)
          throw std::invalid_argument(
              fmt::format("{} contains the traces {} and {}, but a file holds one cell; choose one, such as --cell {}",
                          arguments.traces.front(), found->files.front(), cell.files.front(), found->cell));
        found = cell;
      });
  return std::move(*found);
}

input::CellTrace read_input(const ConvertArguments& arguments) {
  if (arguments.traces.size() == 1 && input::is_run_folder(arguments.traces.front())) return cell_of_folder(arguments);
  if (arguments.cell) throw std::invalid_argument("--cell requires a run folder; give one or remove --cell");
  StatusWatch watch;
  return input::read_cell(input::trace_files(arguments.traces), usual_attribution, watch);
}

void check_free(const std::vector<fs::path>& files, bool force) {
  if (force) return;
  for (const fs::path& file : files)
    if (std::error_code unknown; fs::exists(fs::symlink_status(file, unknown)))
      throw std::invalid_argument(
          fmt::format("{} already exists: choose another file, or overwrite it with --force", file.string()));
}

void print_skipped(const Trace& trace) {
  for (const auto& [reason, count] : trace.import.skipped) print_error("skipped {}: {}\n", count, visible_text(reason));
}

// The parser cannot separate the last of several words from those before it.
void take_last_as_file(ConvertArguments& arguments) {
  if (!arguments.file.empty()) return;
  if (arguments.traces.size() < 2)
    throw std::invalid_argument(
        "FILE is required: the file to write, such as out.pftrace or out.json.gz\n  see underlap convert --help");
  arguments.file = std::move(arguments.traces.back());
  arguments.traces.pop_back();
}

int run_convert(ConvertArguments& arguments) {
  take_last_as_file(arguments);
  formats::check_extension(arguments.file);
  input::CellTrace traced = read_input(arguments);
  analysis::add_flows(traced.trace, analysis::match_communications(traced.trace));
  const std::vector<fs::path> files = formats::written_files(arguments.file, traced.trace);
  check_free(files, arguments.force);
  {
    StatusLine status(status_on_stderr());
    status.say("writing " + arguments.file);
    formats::write_trace(arguments.file, traced.trace);
  }
  print_skipped(traced.trace);
  for (const fs::path& file : files) print_text("wrote {}\n", visible_text(file.string()));
  return kOk;
}

}  // namespace

void add_convert_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand("convert", "Convert traces to another format");
  command
      ->add_option("TRACE", arguments->traces,
                   "the traces of one job (files, folder or glob pattern), one per rank; or a run folder")
      ->required();
  command->add_option("FILE", arguments->file,
                      "file to write; the extension selects the format: .pftrace (all ranks, for Underlap and "
                      "ui.perfetto.dev) or .json (one file per rank, NAME.rank0.json, for HTA, TraceLens and "
                      "Perfetto); append .zst, or .gz to .json, to compress");
  command->add_option("--cell", arguments->cell, "cell to write, if TRACE is a run folder");
  command->add_flag("--force", arguments->force, "overwrite existing files");
  command->footer(
      "Example: underlap convert DIR --cell both both.json.gz\n"
      "         underlap convert rank0.json.gz rank1.json.gz both.pftrace.zst");
  command->callback([arguments, &exit_code] { exit_code = run_convert(*arguments); });
}

}  // namespace underlap::bench
