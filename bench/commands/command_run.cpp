// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>

#include "bench/commands/commands.hpp"
#include "bench/machine/machine.hpp"
#include "bench/measure/measure.hpp"
#include "bench/ranks/config_input.hpp"
#include "bench/studies/claims/study.hpp"
#include "bench/studies/collective_times.hpp"
#include "bench/studies/published/study.hpp"
#include "bench/studies/reduction_error.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/terminal.hpp"
#include "profiler/report/report.hpp"

namespace underlap::bench {
namespace {

struct RunArguments {
  std::string config;
  std::string folder;
  bool resume = false;
  bool no_verify = false;
  std::map<std::string, std::string> fields;  // by dotted path, as written on the command line
};

// A field of `run:` has a flag of the same name, which wins.
constexpr std::array<std::pair<const char*, const char*>, 17> kRunFields{{
    {"backend", "where it runs: host (threads and sockets, measured), cuda (GPUs) or sim (virtual time, modelled)"},
    {"steps", "measured steps of a cell in one block"},
    {"blocks", "blocks, each with every cell"},
    {"warmup", "steps of a cell before its first block"},
    {"seed", "of weights, data and the order of cells"},
    {"link", "cuda on one GPU: emulated:450GB/s,sms=16 or emulated:450GB/s,copy_engine; latency=5us where wanted"},
    {"link_gbps", "host: pace each rank and direction to this many Gbit/s"},
    {"link_latency_us", "host: latency of a transfer over the paced link, microseconds"},
    {"peer_timeout_s", "how long a rank waits for a peer, seconds"},
    {"rank_processes", "host: true makes every rank a process of its own; with cuda it is one"},
    {"trace", "false: no slices, windows from marks alone"},
    {"no_comm", "remove every transfer"},
    {"hardware", "sim: name or file of the machine that virtual time is for"},
    {"gpus_per_node", "sim: GPUs of a node, in place of the hardware file's"},
    {"numerics", "sim: compute values in virtual time, and losses with them"},
    {"jitter_pct", "sim: vary durations at random by up to this many percent"},
    {"fold", "sim: false plays every rank, and not one for all that do the same"},
}};

std::string default_folder(const std::string& config) {
  return fmt::format("results/runs/{}-{}", std::filesystem::path(config).stem().string(), machine_info().started_utc);
}

// What a study prints, and the files that it leaves in the folder of the run.
struct StudyOutput {
  Table table;
  std::string json_name = "results.json";
  std::string json;
  std::string report_name = "report.md";
  std::string report;
};

int write_study(const StudyOutput& output, const RunArguments& arguments) {
  std::cout << render(output.table, {.width = terminal_width(STDOUT_FILENO), .colour = false, .unicode = false});
  const std::filesystem::path folder = arguments.folder.empty() ? default_folder(arguments.config) : arguments.folder;
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / output.json_name, output.json);
  write_file_atomically(folder / output.report_name, output.report);
  std::cout << "results: " << (folder / output.json_name).string() << "\n";
  return kWell;
}

StudyOutput reduction_error(const std::string& yaml, const std::string& where) {
  const ReductionErrorStudy study = parse_reduction_error_study(yaml, where);
  const std::vector<ReductionErrorRow> rows = run_reduction_error(study);
  return {.table = reduction_error_table(rows),
          .json = reduction_error_json(study, rows),
          .report = reduction_error_markdown(study, rows)};
}

StudyOutput collective_times(const std::string& yaml, const std::string& where) {
  const std::vector<CollectiveLog> logs = parse_collective_logs(yaml, where);
  const std::vector<CollectiveRow> rows = compare_collective_times(logs);
  return {.table = collective_times_table(rows),
          .json = collective_times_json(logs, rows),
          .report = collective_times_markdown(logs, rows)};
}

StudyOutput claims(const std::string& yaml, const std::string& where) {
  const ClaimsStudy study = parse_claims_study(yaml, where);
  const std::vector<ClaimResult> results = run_claims(study);
  return {.table = claims_table(results),
          .json_name = "claims.json",
          .json = claims_json(study, results),
          .report_name = "claims.md",
          .report = claims_markdown(study, results)};
}

StudyOutput published(const std::string& yaml, const std::string& where) {
  const PublishedStudy study = parse_published_study(yaml, where);
  const std::vector<ModelledTable> tables = run_published(study);
  return {
      .table = published_table(tables), .json = published_json(tables), .report = published_markdown(study, tables)};
}

std::vector<plan::Override> overrides_of(const RunArguments& arguments) {
  std::vector<plan::Override> overrides;
  for (const auto& [field, value] : arguments.fields)
    if (!value.empty()) overrides.emplace_back(field, value);
  return overrides;
}

int run_run(const RunArguments& arguments, const std::string& command_line) {
  const std::string yaml = plan::read_config(arguments.config);  // once: it may be a pipe
  if (is_reduction_error_study(yaml)) return write_study(reduction_error(yaml, arguments.config), arguments);
  if (is_collective_times_study(yaml)) return write_study(collective_times(yaml, arguments.config), arguments);
  if (is_claims_study(yaml)) return write_study(claims(yaml, arguments.config), arguments);
  if (is_published_study(yaml)) return write_study(published(yaml, arguments.config), arguments);
  const plan::Matrix matrix = parse_matrix(yaml, arguments.config, overrides_of(arguments));
  print_errors(matrix);
  if (matrix.has_errors() || refuse_not_run(matrix)) return kBadInput;
  if (arguments.resume && arguments.folder.empty())
    throw std::invalid_argument("--resume needs -o DIR, the folder of the run to go on with");
  MeasureOptions options;
  options.folder = arguments.folder.empty() ? default_folder(arguments.config) : arguments.folder;
  options.resume = arguments.resume;
  options.verify = !arguments.no_verify;
  options.info = machine_info();
  options.info.command = command_line;
  const bool on_terminal = isatty(STDERR_FILENO) != 0;
  options.progress = {.stream = &std::cerr, .terminal = on_terminal, .width = terminal_width(STDERR_FILENO), .now = {}};
  const MeasureOutcome outcome = measure(matrix, options);
  const TableFormat format{.width = terminal_width(STDOUT_FILENO), .colour = isatty(STDOUT_FILENO) != 0};
  std::cout << report_table(outcome.results, format) << report_details(outcome.results, format);
  std::cout << "\nresults: " << (options.folder / "results.json").string()
            << "\nreport:  " << (options.folder / "report.md").string()
            << "\ntraces:  " << (options.folder / "traces").string() << "  (ui.perfetto.dev opens them)\n";
  for (const std::string& mismatch : outcome.mismatches) fmt::print(stderr, "underlap: {}\n", mismatch);
  return outcome.mismatches.empty() ? kWell : kRunFailed;
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code, const std::string& command_line) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a matrix of configurations, measure and trace it");
  command->add_option("CONFIG", arguments->config, "configuration, YAML")->required();
  command->add_option("-o,--output", arguments->folder, "folder of the run (default: a new one under results/runs)");
  command->add_flag("--resume", arguments->resume, "go on after the last finished block of the folder");
  command->add_flag("--no-verify", arguments->no_verify, "do not compare the cells' losses");
  for (const auto& [field, what] : kRunFields) {
    std::string flag = std::string("--") + field;
    std::replace(flag.begin(), flag.end(), '_', '-');
    command->add_option(flag, arguments->fields[std::string("run.") + field], what);
  }
  command->add_option("--layers", arguments->fields["model.num_layers"], "shorten the model to this many layers");
  command->footer("Example: underlap run bench/matrices/quick.yaml --link-gbps 4 -o results/runs/paced");
  command->callback([arguments, &exit_code, command_line] { exit_code = run_run(*arguments, command_line); });
}

}  // namespace underlap::bench
