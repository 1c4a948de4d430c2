// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/cluster/batch_job.hpp"
#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/commands/run_fields.hpp"
#include "bench/commands/series/series.hpp"
#include "bench/launch/agent.hpp"
#include "bench/launch/coordinator.hpp"
#include "bench/launch/launch.hpp"
#include "bench/machine/machine_info.hpp"
#include "bench/measure/forecast.hpp"
#include "bench/measure/measure.hpp"
#include "bench/measure/refusals.hpp"
#include "bench/ranks/rank_messages.hpp"
#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/session.hpp"
#include "impl/plan/plan_summary.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/run_program.hpp"
#include "platform/status_line.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

struct RunArguments {
  std::string config;
  std::string folder;
  bool resume = false;
  bool no_verify = false;
  bool details = false;
  bool dry_run = false;
  std::int32_t runs = 0;  // 0: a single run, in the folder itself
  std::int32_t launch_timeout_s = 60;
  std::string other;  // program or configuration to alternate with
  std::string flops = "full";
  RunFields fields;
};

// The command that started this process, with the flags that make it resume.
std::string resume_command(const RunArguments& arguments, const std::filesystem::path& folder) {
  // "underlap\0run\0quick\0-o\0out\0"
  std::ifstream words("/proc/self/cmdline", std::ios::binary);
  std::string text, added;
  if (arguments.folder.empty()) added += " -o " + shell_word(folder.string());
  if (!arguments.resume) added += " --resume";
  for (std::string word; std::getline(words, word, '\0');) {
    if (word == "--") text += std::exchange(added, {});  // nothing after it is a flag
    text += (text.empty() ? "" : " ") + shell_word(word);
  }
  return text + added;
}

constexpr std::int32_t kUsualRuns = 5;

bool runs_several(const RunArguments& arguments) { return arguments.runs > 0 || !arguments.other.empty(); }

std::string forecast(const RunArguments& arguments, const plan::Matrix& matrix) {
  const int width = terminal_width(STDOUT_FILENO);
  if (!runs_several(arguments)) return run_forecast(matrix, arguments.resume ? arguments.folder : "", width);
  const std::int32_t runs = arguments.runs > 0 ? arguments.runs : kUsualRuns;
  return fmt::format("{}{} runs, one after the other, each:\n{}", runs,
                     arguments.other.empty() ? "" : fmt::format(" + {}", runs), run_forecast(matrix, "", width));
}

// Checks two configurations before the first run for what a gate would refuse later.
bool is_refused(const RunArguments& arguments, const plan::Matrix& matrix) {
  if (arguments.other.empty() || is_program(arguments.other)) return false;
  plan::Matrix other = read_matrix(arguments.other, overrides_of(arguments.fields));
  find_refusals(other);
  if (refuse(other)) return true;
  check_turns(other, arguments.other, matrix, arguments.config);
  return false;
}

int run_many(const RunArguments& arguments, const plan::Matrix& matrix) {
  if (arguments.details)
    throw std::invalid_argument("--details applies to a single run: underlap show DIR/run-00 --details");
  if (is_refused(arguments, matrix)) return kBadInput;
  SeriesRequest request;
  request.folder = arguments.folder.empty() ? default_folder(arguments.config) : arguments.folder;
  request.runs = arguments.runs > 0 ? arguments.runs : kUsualRuns;
  request.config = arguments.config;
  request.other = arguments.other;
  request.options = flags_of(arguments.fields);
  if (arguments.no_verify) request.options.emplace_back("--no-verify");
  if (arguments.flops != RunArguments().flops)  // an older build has no such flag
    request.options.insert(request.options.end(), {"--flops", arguments.flops});
  request.resume = arguments.resume;
  request.resume_command = resume_command(arguments, request.folder);
  request.progress = status_on_stderr();
  return run_series(request);
}

// A single run in the folder of a series would be mistaken for all of its runs.
void check_no_series(const std::filesystem::path& folder) {
  if (report::is_folder_of_series(folder))
    throw std::invalid_argument(fmt::format(
        "{} contains a series of runs: continue it with --runs N --resume, or choose another folder with -o DIR",
        folder.string()));
}

// The cells of an array are separate runs, and the folder holds their merged results.
void check_no_array(const std::filesystem::path& folder) {
  if (const auto job = read_job(folder); job && !job->cells.empty())
    throw std::invalid_argument(
        fmt::format("{} was submitted as a job array: continue it with `underlap submit --array --resume`, or choose "
                    "another folder with -o DIR",
                    folder.string()));
}

// Checks options that a launcher does not support, and how many of the processes that it started take part.
void check_launched(const RunArguments& arguments, const plan::Matrix& matrix, const Launch& launch) {
  if (runs_several(arguments))
    throw std::invalid_argument(fmt::format(
        "--runs and --interleave start their own processes, but {} has started {}: start each run separately",
        launch.launcher, launch.size));
  const bool has_ranks = matrix.cells.front().plan.config.run.backend != Backend::sim;
  const std::int32_t needed = has_ranks ? world_size(matrix.cells) : 1;
  if (needed > launch.size)
    throw std::invalid_argument(
        fmt::format("the largest cell of {} has {} ranks, but {} started {} processes: start {}", arguments.config,
                    needed, launch.launcher, launch.size, needed));
  if (needed < launch.size)
    print_error("note: {} of the {} processes started by {} will be idle: {}\n", launch.size - needed, launch.size,
                launch.launcher,
                has_ranks ? fmt::format("the largest cell has {} ranks", needed) : "one process runs the simulation");
}

std::string traces_text(const report::RunResults& results, const std::filesystem::path& folder) {
  const bool has_traces =
      std::ranges::any_of(results.cells, [](const report::CellResult& cell) { return !cell.trace_file.empty(); });
  const bool has_recorded =
      std::ranges::any_of(results.cells, [](const report::CellResult& cell) { return cell.kernel_windows > 0; });
  if (!has_traces)
    return has_recorded ? "\nno traces were kept: their figures are in the results\n" : "\nno traces were recorded\n";
  return fmt::format("\ntraces:  {}  (open them in ui.perfetto.dev)\n", (folder / "traces").string());
}

// What this process is and has read, which all launched processes of a run must share: version and commit, the plans of
// the configuration, its seed, and the libraries that compute and carry the bytes.
Facts facts_of(const plan::Matrix& matrix) {
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  report::RunInfo info = machine_info();
  BackendInfo backend = backend_info(run.backend);
  info.library_versions.merge(backend.library_versions);
  Facts facts{{"version", info.version},
              {"commit", info.commit},
              {"run.seed", fmt::format("{}", run.seed)},
              {"configuration plan hash", plans_hash(matrix.cells)}};
  for (const auto& [library, version] : info.library_versions) facts["library " + library] = version;
  return facts;
}

int run_here(const RunArguments& arguments, const std::string& command_line, const Launch* launch,
             Coordinator* coordinator) {
  plan::Matrix matrix = read_matrix(arguments.config, overrides_of(arguments.fields));
  const plan::FlopConvention convention = convention_of(arguments.flops);
  std::vector<report::RefusedCell> refused;
  if (runs_several(arguments))
    find_refusals(matrix, launch != nullptr);  // a gate needs complete runs
  else
    refused = keep_runnable(matrix, launch != nullptr);
  if (refuse(matrix)) return kBadInput;
  warn_refused(refused);
  if (launch != nullptr) check_launched(arguments, matrix, *launch);
  for (const plan::Message& notice : plan::common_notices(matrix)) print_error("note: {}\n", notice.text());
  if (arguments.resume && arguments.folder.empty())
    throw std::invalid_argument("--resume needs -o DIR, the folder of the run to continue");
  if (arguments.dry_run) {
    print_text(forecast(arguments, matrix));
    return refused.empty() ? kOk : kBadInput;
  }
  if (runs_several(arguments)) {
    if (!matrix.cells.front().plan.config.run.traits().measures_time)
      print_error("note: simulations are deterministic: all runs of one build give the same result\n");
    return run_many(arguments, matrix);
  }
  MeasureOptions options;
  if (coordinator != nullptr) {
    StatusLine status(status_on_stderr());
    coordinator->gather(facts_of(matrix), [&](const std::string& text) { status.say(text); });
    options.starter = coordinator;
    options.placement = &coordinator->placement();
    if (matrix.cells.front().plan.config.run.traits().runs_on_cores)
      if (const std::string bound = one_cpu_warning(*options.placement, world_size(matrix.cells)); !bound.empty())
        print_error("note: {}\n", bound);
  }
  options.folder = arguments.folder.empty() ? default_folder(arguments.config) : arguments.folder;
  check_no_series(options.folder);
  check_no_array(options.folder);
  options.resume = arguments.resume;
  options.verify = !arguments.no_verify;
  options.refused = refused;
  options.info = machine_info();
  options.info.command = command_line;
  options.info.flops = to_string(convention);
  read_series(options.info);
  options.progress = status_on_stderr();
  options.resume_command = resume_command(arguments, options.folder);
  if (launch != nullptr) options.resume_command += fmt::format(" (started by {}, as this run was)", launch->launcher);
  const MeasureOutcome outcome = measure(matrix, options);
  print_text(report::run_text(outcome.results, terminal_format(STDOUT_FILENO),
                              arguments.details ? report::Details::included : report::Details::left_out));
  print_text("\nresults: {}\nreport:  {}  (all tables; print them with underlap show DIR --details){}",
             (options.folder / report::kResultsFile).string(), (options.folder / "report.md").string(),
             traces_text(outcome.results, options.folder));
  for (const auto* complaints : {&outcome.mismatches, &outcome.invalid})
    for (const std::string& complaint : *complaints) print_error("underlap: {}\n", complaint);
  if (!outcome.invalid.empty()) return kRunFailed;
  if (!refused.empty()) return kBadInput;
  return outcome.mismatches.empty() ? kOk : kFound;
}

// For a launched process other than rank 0. Rank 0 reports errors in what it reads.
AgentOptions agent_of(const Launch& launch, const std::filesystem::path& folder, const RunArguments& arguments) {
  AgentOptions options{.launch = launch, .folder = folder, .timeout = std::chrono::seconds(arguments.launch_timeout_s)};
  try {
    plan::Matrix matrix =
        plan::parse(plan::read_config(arguments.config), arguments.config, overrides_of(arguments.fields));
    take_out_refused(matrix);
    if (matrix.has_errors()) throw std::invalid_argument(matrix.errors.front().text());
    if (matrix.cells.front().plan.config.run.backend == Backend::cuda) check_caller_environment(matrix.cells);
    options.facts = facts_of(matrix);
  } catch (const std::exception& error) {
    options.complaint = error.what();
  }
  return options;
}

int run_run(const RunArguments& arguments, const std::string& command_line) {
  const std::optional<Launch> launch = read_launch();
  if (!launch) return run_here(arguments, command_line, nullptr, nullptr);
  // The name of a new run folder contains the time, which only rank 0 knows.
  const std::filesystem::path folder = arguments.folder.empty() ? kRunsFolder : arguments.folder;
  if (launch->rank > 0) {
    ::signal(SIGTERM, SIG_IGN);  // rank 0 receives it too, and decides when all processes end
    return serve_agent(agent_of(*launch, folder, arguments));
  }
  Coordinator coordinator(*launch, folder, std::chrono::seconds(arguments.launch_timeout_s));
  const int exit_code = reported_exit_code("underlap", [&] {
    try {
      return run_here(arguments, command_line, &*launch, &coordinator);
    } catch (const StoppedBySignal& stopped) {
      print_error("underlap: {}\n", stopped.what());
      return 128 + stopped.signal;
    }
  });
  coordinator.end(exit_code);
  return exit_code;
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code, const std::string& command_line) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Measure and trace a matrix of configurations");
  add_config(*command, arguments->config);
  command->add_option("-o,--output", arguments->folder, "output folder (default: a new one under results/runs)")
      ->check(not_empty());
  command->add_option("--cell", arguments->fields[plan::kOneCell], "run only this cell of the matrix")
      ->check(not_empty());
  command->add_flag("--resume", arguments->resume, "continue after the last complete block in the folder, or start");
  command->add_flag("--no-verify", arguments->no_verify, "do not compare losses between cells");
  command->add_flag("--details", arguments->details, "print every conclusion, column and table, as in report.md");
  command->add_flag("--dry-run", arguments->dry_run,
                    "show what would run, with memory and disk space, and run nothing");
  command
      ->add_option("--runs", arguments->runs,
                   "run N times in fresh processes, into DIR/run-00, DIR/run-01, ...; `underlap gate` takes the folder")
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--interleave", arguments->other,
                   "alternate with another build of underlap (or another configuration), the baseline; writes "
                   "DIR/baseline and DIR/candidate (--runs defaults to 5)")
      ->check(not_empty());
  command
      ->add_option("--launch-timeout-s", arguments->launch_timeout_s,
                   "how long processes started by mpirun, srun or torchrun wait for each other, in seconds")
      ->check(CLI::Range(1, 86400));
  add_flops(*command, arguments->flops);
  add_run_fields(*command, arguments->fields);
  command->footer(
      "If a cell cannot run, its row shows why, the other cells run, and the exit\nstatus is 2. --runs and "
      "--interleave need matrices in which every cell can run.\n\nSIGINT, SIGTERM and SIGHUP end the run with that "
      "signal's status (130, 143, 129)\nafter printing what is kept and how to continue.\n\nUnder mpirun, srun or "
      "torchrun each process is one rank. Rank 0 prints and\nwrites; the output of the other ranks goes to "
      "DIR/logs.\n\nExample: underlap run quick --link-gbps 4 -o results/runs/paced\n         underlap run quick "
      "--runs 5 --interleave ../main/build/bin/underlap\n         srun -N2 --ntasks-per-node=2 underlap run "
      "config.yaml -o out");
  command->callback([arguments, &exit_code, command_line] { exit_code = run_run(*arguments, command_line); });
}

}  // namespace underlap::bench
