// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/commands/page_output.hpp"
#include "bench/commands/series/series.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/report/csv.hpp"
#include "profiler/report/page/run_page.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/results.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

struct ShowArguments {
  std::string folder;
  report::Details details = report::Details::left_out;
  bool csv = false;
  bool json = false;
  std::string html;
  std::string markdown;
  std::string flops;  // empty: as the run counted
};

// Whoever names what a run left, and not its folder, means the run.
std::filesystem::path run_folder(const std::filesystem::path& path) {
  const bool is_within = report::is_results_file(path) || path.filename() == "report.md";
  const std::filesystem::path folder = is_within ? path.parent_path() : path;
  if (!is_within && std::filesystem::is_regular_file(folder))
    throw std::invalid_argument(fmt::format(
        "{}: a file, not a run folder\n  give the folder that `underlap run CONFIG -o DIR` wrote", path.string()));
  if (!folder.empty() && !std::filesystem::exists(folder))
    throw std::invalid_argument(
        fmt::format("{}: no such folder\n  give the folder that `underlap run CONFIG -o DIR` wrote", folder.string()));
  if (report::find_results(folder)) return folder;
  throw std::invalid_argument(
      fmt::format("{}: no results to show: it contains no results.json\n  `underlap run CONFIG -o DIR` writes one "
                  "after its first block; --resume continues a run",
                  folder.string()));
}

void count_flops_as(const std::string& flops, report::RunResults& results) {
  if (flops.empty()) return;
  results.info.flops = to_string(convention_of(flops));
  const auto knows = [&](const report::CellResult& cell) { return cell.work.flops.contains(results.info.flops); };
  if (std::ranges::none_of(results.cells, knows))
    throw std::invalid_argument("--flops: these results are from an older version, which did not record FLOPs");
}

// Of --csv, --json, --html and --markdown.
int num_outputs(const ShowArguments& arguments) {
  return arguments.csv + arguments.json + !arguments.html.empty() + !arguments.markdown.empty();
}

int show_series(const ShowArguments& arguments) {
  if (num_outputs(arguments) > 0 || !arguments.flops.empty() || arguments.details == report::Details::included)
    throw std::invalid_argument(
        fmt::format("{0} contains several runs, but --csv, --json, --html, --markdown, --flops and --details need one: "
                    "give it, such as {0}/run-00",
                    arguments.folder));
  print_text(series_text(arguments.folder, terminal_format(STDOUT_FILENO)));
  return kOk;
}

int run_show(const ShowArguments& arguments) {
  if (num_outputs(arguments) > 1)
    throw std::invalid_argument("--csv, --json, --html and --markdown cannot be combined; use one of them");
  if (arguments.details == report::Details::included && num_outputs(arguments) > 0)
    throw std::invalid_argument(
        "--details applies to terminal output only; --csv, --json, --html and --markdown contain everything");
  if (is_series(arguments.folder)) return show_series(arguments);
  report::RunResults results = report::read_results(run_folder(arguments.folder));
  count_flops_as(arguments.flops, results);
  if (arguments.csv)
    print_data(report::report_csv(results));
  else if (arguments.json)
    print_data(report::results_text(results));
  else if (!arguments.html.empty())
    write_page(arguments.html, report::report_html(results));
  else if (!arguments.markdown.empty())
    write_output(arguments.markdown, report::report_markdown(results));
  else
    print_text(report::run_text(results, terminal_format(STDOUT_FILENO), arguments.details));
  return kOk;
}

}  // namespace

void add_show_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* command = app.add_subcommand("show", "Print the results of a finished or partial run");
  command->add_option("DIR", arguments->folder, "run folder")->required();
  command->add_flag_callback(
      "--details", [arguments] { arguments->details = report::Details::included; },
      "also communication by mode, time breakdown, and excess over the lower bound");
  command->add_flag("--csv", arguments->csv,
                    "print CSV: one row for each cell, one column for each metric with its unit in the name (step_ms, "
                    "step_ms_low and step_ms_high for its interval, mode.dp.exposed_ms, ...)");
  command->add_flag("--json", arguments->json, "print results and statistics as JSON (underlap.results/1)");
  command->add_option("--html", arguments->html,
                      "write a self-contained HTML page with pictures and all tables to this file, or -");
  command->add_option("--markdown", arguments->markdown, "write report.md again to this file, or -");
  add_flops(*command, arguments->flops);
  command->footer(
      "Example: underlap show results/quick/paced\n"
      "         underlap show results/quick/paced --html quick.html\n"
      "         underlap show results/quick/paced --csv | cut -d, -f1,10-12");
  command->callback([arguments, &exit_code] { exit_code = run_show(*arguments); });
}

}  // namespace underlap::bench
