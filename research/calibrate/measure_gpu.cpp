// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "impl/device/cuda/requirements.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "research/calibrate/child.hpp"
#include "research/calibrate/commands.hpp"
#include "research/calibrate/cuda_gpu.hpp"
#include "research/calibrate/experiments.hpp"
#include "research/calibrate/opened_libraries.hpp"

namespace underlap::bench {
namespace {

struct CalibrateArguments {
  std::string base = "h200-sxm";
  std::string output;
  std::string name;
  int samples = 31;
  double warm_up_s = 2;
  std::int64_t shrink = 1;
  int probe_connections = 0;  // a child's: probe the queues of this process
  bool list = false;
  std::vector<std::string> only;
  std::vector<std::string> machine;  // KEY=TEXT
};

/// As the options ask for it; trial sizes want less memory too.
CudaGpuOptions gpu_options(const CalibrateArguments& arguments, const CudaLibraries& libraries) {
  CudaGpuOptions options{.libraries = libraries};
  if (arguments.shrink == 1) return options;
  options.workspace_bytes /= arguments.shrink;
  options.rotated_bytes = 1 << 16;
  options.calls = 10;
  options.probe_us = 20;
  options.message_bytes = std::max<std::int64_t>(options.message_bytes / arguments.shrink / arguments.shrink, 1 << 14);
  options.warm_up_side = std::max<std::int64_t>(options.warm_up_side / arguments.shrink, 16);
  return options;
}

int probe(const CalibrateArguments& arguments) {
  CudaGpu gpu(gpu_options(arguments, {}));
  for (const auto& [seen, samples] : probe_queues(gpu, arguments.probe_connections, 11))
    print_data(to_line(seen, samples) + "\n");
  return kOk;
}

void write(const Measurements& measurements, const std::string& output) {
  if (!output.empty()) write_file_atomically(output, to_yaml(measurements));
}

int calibrate(const CalibrateArguments& arguments) {
  cuda::check_cuda_machine(1);
  // NCCL's kernels wait for each other: none may be loaded meanwhile.
  if (arguments.only == std::vector{std::string(kLinkValidation)}) setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  const sim::Hardware base = sim::load_hardware(arguments.base);
  Measurements out{.name = arguments.name.empty() ? arguments.base + ".measured" : arguments.name,
                   .base = arguments.base,
                   .shrink = arguments.shrink};
  // Before CUDA starts here: a child alone on the GPU is not held up by this process.
  if (arguments.only.empty())
    probe_all_queues(out, [&](int connections) {
      return run_child({std::filesystem::read_symlink("/proc/self/exe").string(), "--probe-connections",
                        std::to_string(connections), "--shrink", std::to_string(arguments.shrink)},
                       {{"CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(connections)}});
    });
  const OpenedLibraries libraries;
  CudaGpu gpu(gpu_options(arguments, libraries.borrowed()));
  gpu.warm_up(arguments.warm_up_s);
  out.machine = gpu.machine();
  for (const std::string& pair : arguments.machine) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) throw std::invalid_argument(fmt::format("--machine {}: must be KEY=TEXT", pair));
    out.machine.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  Calibration calibration{
      .gpu = gpu, .base = base, .samples = arguments.samples, .out = out, .shrink = arguments.shrink};
  for (const std::string& line : judge_queues(out.hardware_queues)) print_text("hardware queues: {}\n", line);
  std::vector<std::string> names = arguments.only;
  if (names.empty())
    for (const Experiment& experiment : experiments())
      if (experiment.name != kLinkValidation) names.emplace_back(experiment.name);
  for (const std::string& name : names) {  // what is done stays, whatever comes after
    run_experiments(calibration, {name}, [](std::string_view running) { print_error("{}\n", running); });
    write(out, arguments.output);
  }
  if (arguments.output.empty()) print_data(to_yaml(out));
  for (const auto& [experiment, why] : out.skipped) print_error("not measured: {}: {}\n", experiment, why);
  return kOk;
}

int run(const CalibrateArguments& arguments) {
  if (arguments.probe_connections > 0) return probe(arguments);
  if (!arguments.list) return calibrate(arguments);
  Table table{{{"experiment", Align::left}, {"what it measures", Align::left}},
              {{{"hardware_queues"}, {"which commands block which at 1, 8 and 32 connections; not with --only"}}}};
  for (const Experiment& experiment : experiments())
    table.rows.push_back({{std::string(experiment.name)}, {std::string(experiment.about)}});
  print_text(render(table, terminal_format(STDOUT_FILENO)));
  return kOk;
}

}  // namespace

int measure_gpu(int argc, char** argv) {
  CalibrateArguments arguments;
  CLI::App app("Measures a GPU: latencies, rates, hardware queues, and how communication slows concurrent compute");
  app.add_option("--base", arguments.base, "base hardware description");
  app.add_option("-o,--output", arguments.output,
                 "output file, rewritten after each experiment (default: standard output)");
  app.add_option("--name", arguments.name, "name of the measured machine");
  app.add_option("--samples", arguments.samples, "repetitions of each timing")->check(CLI::Range(3, 10000));
  app.add_option("--warm-up", arguments.warm_up_s,
                 "seconds of GEMMs before the first timing (an idle GPU has low clocks)")
      ->check(CLI::Range(0.0, 600.0));
  app.add_option("--shrink", arguments.shrink, "divide every size by this: a trial run, not a measurement")
      ->check(CLI::Range(1, 4096));
  app.add_option("--only", arguments.only, "run only these experiments");
  app.add_option("--machine", arguments.machine, "KEY=TEXT to add to the file: command, clocks, date, commit");
  app.add_option("--probe-connections", arguments.probe_connections)->group("");
  app.add_flag("--list", arguments.list, "list the experiments");
  app.footer(
      "Example: underlap-calibrate --base h200-sxm -o results/hardware/h200.measured.yaml\n"
      "`underlap-calibrate rates --help`: times operations against the roofline, and collectives by size");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kBadInput;
  }
  return run(arguments);
}

}  // namespace underlap::bench
