// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/machine/machine_info.hpp"
#include "bench/tune/search.hpp"
#include "bench/tune/tune_report.hpp"
#include "impl/plan/step_flops.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/signal_watch.hpp"
#include "platform/status_line.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {
namespace {

struct TuneArguments {
  std::string config;
  std::string around;
  bool all_cells = false;
  std::int64_t gpus = 0;
  std::string hardware, speed;
  std::optional<std::int64_t> batch;
  std::string sequence, layers, cell;
  std::string limit;
  std::string flops = "full";
  std::string folder;
  bool resume = false;
  bool exhaustive = false;
  bool json = false;
};

std::int64_t bytes_of(const std::string& text) {
  std::size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  const double scale = unit == "GB" ? 1e9 : unit == "GiB" ? 1024.0 * 1024 * 1024 : 0;
  if (end == 0 || scale == 0 || !(number > 0) || number > 1e6)
    throw std::invalid_argument(fmt::format("--limit: {} is not a size; write it like 75GB", text));
  return static_cast<std::int64_t>(number * scale);
}

TuneRequest request_of(const TuneArguments& arguments) {
  const bool is_around = !arguments.around.empty();
  if (is_around == !arguments.config.empty())
    throw std::invalid_argument(is_around ? "CONFIG and --around both give a configuration: use one of them"
                                          : "CONFIG is required, or --around with a configuration to improve");
  TuneRequest request;
  request.model.where = is_around ? arguments.around : arguments.config;
  request.model.yaml = plan::read_config(request.model.where);
  const auto put = [&](const char* knob, const std::string& value) {
    if (!value.empty()) request.model.overrides.emplace_back(knob, value);
  };
  put("run.hardware", arguments.hardware);
  put("run.speed", arguments.speed);
  put("model.seq_length", arguments.sequence);
  put("model.num_layers", arguments.layers);
  put(plan::kOneCell, arguments.cell);
  request.num_gpus = arguments.gpus;
  request.batch = arguments.batch;
  if (!arguments.limit.empty()) request.limit_bytes = bytes_of(arguments.limit);
  request.around = is_around;
  request.all_cells = arguments.all_cells;
  return request;
}

double in_ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

/// What a search that a signal ends says last: the best layout so far, and how to continue.
class EarlyEndOfSearch {
 public:
  EarlyEndOfSearch(std::string command_line, const TuneArguments& arguments)
      : command_line_(std::move(command_line)), folder_(arguments.folder), resumes_(arguments.resume) {}

  void set(const SearchState& state) {
    const std::lock_guard lock(mutex_);
    best_ns_ = state.best_ns;
    best_ = state.best;
  }

  void say_last_words(int signal) {
    std::string words = fmt::format("\nunderlap: {} ended the search; ", signal_name(signal));
    const std::lock_guard lock(mutex_);
    words += best_ns_ == 0
                 ? std::string("no layout was simulated yet\n")
                 : fmt::format("best layout so far, about {:.1f} ms:\n  {}\n", in_ms(best_ns_), text_of(best_));
    if (folder_.empty())
      words += "nothing is kept; with -o DIR, --resume continues a search\n";
    else
      words += fmt::format("continue with: {}{}\n", command_line_, resumes_ ? "" : " --resume");
    write_last_words(words);
  }

 private:
  std::string command_line_, folder_;
  bool resumes_;
  std::mutex mutex_;
  std::int64_t best_ns_ = 0;
  Choices best_;
};

int run_tune(const TuneArguments& arguments, const std::string& command_line) {
  const plan::FlopConvention convention = convention_of(arguments.flops);
  if (arguments.resume && arguments.folder.empty())
    throw std::invalid_argument("--resume needs -o DIR, the folder of the search to continue");
  EarlyEndOfSearch early_end(command_line, arguments);
  const SignalWatch watch([&](int signal) { early_end.say_last_words(signal); });  // before any other thread
  const TuneJob job(request_of(arguments));
  SimulatedSteps steps(arguments.folder, arguments.resume, job.fingerprint() + machine_info().commit);
  StatusLine status(status_on_stderr());
  const SearchProgress progress = [&](const SearchState& state) {
    status.say(fmt::format("{}: {} of {}{}", state.what, state.done, state.count,
                           state.best_ns > 0 ? fmt::format("; best so far {:.1f} ms", in_ms(state.best_ns)) : ""));
    early_end.set(state);
  };
  const SearchResult result =
      arguments.exhaustive ? search_exhaustively(job, steps, progress) : search(job, steps, progress);
  if (arguments.json)
    print_data(tune_json(job, result, convention));
  else
    print_text(tune_text(job, result, convention, terminal_format(STDOUT_FILENO)));
  if (!arguments.folder.empty() && !result.best.empty()) {
    write_configs(job, result, arguments.folder);
    if (!arguments.json) print_text("configs: {}/best.yaml, 01.yaml, ...\n", arguments.folder);
  }
  return result.best.empty() ? kBadInput : kOk;
}

}  // namespace

void add_tune_command(CLI::App& app, int& exit_code, const std::string& command_line) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand("tune", "Search layouts and overlap settings by simulation");
  command->add_option("CONFIG", arguments->config, "model and fixed settings; anything not set is searched")
      ->check(not_empty());
  command
      ->add_option("--around", arguments->around,
                   "improve this configuration: the search starts from its layout and overlap settings")
      ->check(not_empty());
  command->add_flag("--all-cells", arguments->all_cells,
                    "also search cells that compute something else: without transfers, or with another model, "
                    "precision or optimizer than the first");
  command->add_option("--gpus", arguments->gpus, "GPUs of the job")->required()->check(CLI::Range(1, 65536));
  command->add_option("--hardware", arguments->hardware, "name or file of the machine (`underlap list hardware`)")
      ->check(not_empty());
  command
      ->add_option("--speed", arguments->speed,
                   "scale the throughput of GEMMs and attention, e.g. 0.8 = 80 % of the hardware description")
      ->check(not_empty());
  command->add_option("--batch", arguments->batch, "global batch size, in sequences")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--seq", arguments->sequence, "sequence length, in tokens")->check(not_empty());
  command->add_option("--layers", arguments->layers, "shorten the model to this many layers")->check(not_empty());
  command->add_option("--cell", arguments->cell, "use only this cell of the file's matrix")->check(not_empty());
  command
      ->add_option("--limit", arguments->limit,
                   "limit on the predicted memory of a GPU, e.g. 75GB (default: all of it, less 6 % for fragmentation)")
      ->check(not_empty());
  add_flops(*command, arguments->flops);
  command->add_option("-o,--output", arguments->folder, "folder for the best configurations and the simulations")
      ->check(not_empty());
  command->add_flag("--resume", arguments->resume, "continue the search in that folder");
  command->add_flag("--exhaustive", arguments->exhaustive, "simulate every combination (small search spaces only)");
  command->add_flag("--json", arguments->json, "print JSON (underlap.tune/1)");
  command->footer(
      "Example: underlap tune model.yaml --gpus 64 --hardware h100-sxm -o tuned\n         underlap tune --around "
      "tuned/best.yaml --gpus 128");
  command->callback([arguments, &exit_code, command_line] { exit_code = run_tune(*arguments, command_line); });
}

}  // namespace underlap::bench
