// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/commands/commands.hpp"
#include "impl/device/sim/hardware.hpp"
#include "impl/plan/plan.hpp"
#include "impl/plan/presets.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/problems.hpp"
#include "platform/suggestion.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kHardware = "h100-sxm";

// How a model is cut: each size is of one kind of parallelism.
struct Layout {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t pipeline = 1;
  std::int64_t virtual_stages = 1;  // of each pipeline rank where overlap is on; 1: the layers share out no further

  std::int64_t gpus() const { return tensor * context * pipeline; }
};

constexpr const char* kHostConfig =
    R"(# A tiny GPT with data-parallel overlap off and on, measured on this machine's
# CPU in half a minute.
#
#   underlap plan FILE           show the effective settings and why
#   underlap run FILE -o DIR     measure it
#   underlap show DIR            print the results again (--html PAGE: as a page)
#
# `underlap list knobs` explains every key. `underlap init --like llama3-8b`
# starts from a large model.
model:
  preset: {}                 # see `underlap list presets`; more keys override it
data_parallel_size: 2
train: {{micro_batch_size: 8, num_microbatches: 1}}
comm_overlap:
  bucket_size: 200000          # in parameters: small enough for a few buckets
run:
  backend: host                # CPU threads and loopback transfers, measured
  link_gbps: 1                 # Gbit/s (default: as fast as the loopback)
  steps: 8                     # measured steps of each cell in a block
  blocks: 5                    # each runs every cell, so drift affects all alike
  warmup: 2

# Each entry is one cell, with the keys in which it differs. A second axis would
# make one cell per pair of values.
matrix:
  overlap:
    - name: off
      comm_overlap.overlap_grad_reduce: false
      comm_overlap.overlap_param_gather: false
    - name: on
      comm_overlap.overlap_grad_reduce: true
      comm_overlap.overlap_param_gather: true
    - name: no_comm            # the step time if transfers took no time
      comm_overlap.overlap_grad_reduce: false
      comm_overlap.overlap_param_gather: false
      no_comm: true
)";

// The keys of a cell with every overlap on or off, each on a line.
std::string overlap_keys(const Layout& layout, bool is_on) {
  std::string keys;
  for (const char* name : {"overlap_grad_reduce", "overlap_param_gather"})
    keys += fmt::format("      comm_overlap.{}: {}\n", name, is_on);
  if (layout.tensor > 1) keys += fmt::format("      comm_overlap.tp_comm_overlap: {}\n", is_on);
  if (layout.context > 1) keys += fmt::format("      extensions.cp_overlap: {}\n", is_on);
  if (is_on && layout.virtual_stages > 1)
    keys += fmt::format("      model.virtual_pipeline_model_parallel_size: {}  # needed for overlap\n",
                        layout.virtual_stages);
  return keys;
}

std::string model_keys(const plan::ModelConfig& model, const Layout& layout) {
  std::string keys = fmt::format("  preset: {}  # {} layers, hidden size {}; see `underlap list presets`\n",
                                 model.preset, model.num_layers, model.hidden_size);
  if (layout.tensor > 1)
    keys += fmt::format("  tensor_model_parallel_size: {}\n  sequence_parallel: true\n", layout.tensor);
  if (layout.context > 1) keys += fmt::format("  context_parallel_size: {}\n", layout.context);
  if (layout.pipeline > 1) keys += fmt::format("  pipeline_model_parallel_size: {}\n", layout.pipeline);
  return keys;
}

std::string modelled_config(const plan::ModelConfig& model, const Layout& layout) {
  constexpr std::int64_t kReplicas = 2;
  // A multiple of the stages, as virtual ones need; more would only take longer to play.
  const std::int64_t microbatches = layout.pipeline == 1 ? 4 : 2 * layout.pipeline;
  return fmt::format(
      R"(# {0} with communication overlap off and on, simulated on {1} GPUs
# (no GPU is needed): the fewest whose memory is predicted to hold two replicas.
#
#   underlap plan FILE           show the effective settings and why
#   underlap run FILE -o DIR     simulate it
#   underlap show DIR            print the results again (--html PAGE: as a page)
#
# `underlap list knobs` explains every key, `underlap list hardware` the
# machines.
model:
{2}data_parallel_size: {3}
train:
  micro_batch_size: 1
  num_microbatches: {4}
run:
  backend: sim                 # all times are simulated; cuda runs it on GPUs
  hardware: {5}

# Each entry is one cell, with the keys in which it differs. A second axis would
# make one cell per pair of values.
matrix:
  overlap:
    - name: off
{6}    - name: on
{7}    - name: no_comm            # the step time if transfers took no time
{6}      no_comm: true
)",
      model.preset, kReplicas * layout.gpus(), model_keys(model, layout), kReplicas, microbatches, kHardware,
      overlap_keys(layout, false), overlap_keys(layout, true));
}

// Stages that share the layers of a rank alike, as few as there can be but more than one.
std::int64_t virtual_stages(std::int64_t layers_of_a_rank) {
  for (std::int64_t stages = 2; stages <= layers_of_a_rank; ++stages)
    if (layers_of_a_rank % stages == 0) return stages;
  return 1;
}

// Ways to cut a model of so many layers, fewer GPUs first. Of as many GPUs those that cut layers before those that cut
// the model between layers, since a node's links are the faster ones; sequences are cut last.
std::vector<Layout> layouts(std::int64_t layers) {
  std::vector<Layout> all;
  for (const std::int64_t context : {1, 2})
    for (std::int64_t pipeline = 1; pipeline <= layers; ++pipeline)
      for (std::int64_t tensor = 1; tensor <= 8 && layers % pipeline == 0; tensor *= 2)
        all.push_back({tensor, context, pipeline, pipeline == 1 ? 1 : virtual_stages(layers / pipeline)});
  std::ranges::stable_sort(all, {}, &Layout::gpus);
  return all;
}

bool fits(const std::string& config, double gpu_bytes) {
  const plan::Matrix matrix = plan::parse(config, "starting configuration");
  return !matrix.has_errors() && std::ranges::all_of(matrix.cells, [&](const plan::Cell& cell) {
    return static_cast<double>(cell.plan.peak_memory.total()) <= gpu_bytes;
  });
}

std::string smallest_modelled_config(const plan::ModelConfig& model) {
  const double gpu_bytes = sim::load_hardware(kHardware).gpu.hbm_gb.value * 1e9;
  for (const Layout& layout : layouts(model.num_layers))
    if (std::string config = modelled_config(model, layout); fits(config, gpu_bytes)) return config;
  throw std::invalid_argument(fmt::format("no layout of {} fits {} GPUs", model.preset, kHardware));
}

// A commented configuration to begin with, YAML: the model of that preset with its communication overlap off, on, and
// without transfers. A model of a few million parameters is measured on this host; any other runs in virtual time, on
// the fewest GPUs whose memory holds it.
std::string starting_config(const std::string& name) {
  constexpr std::int64_t kHostsHiddenSize = 512;  // a step of more takes a CPU seconds
  if (const plan::ModelConfig* preset = plan::find_preset(name))
    return preset->hidden_size <= kHostsHiddenSize ? fmt::format(kHostConfig, name) : smallest_modelled_config(*preset);
  const std::vector<std::string> names = plan::preset_names();
  throw std::invalid_argument(fmt::format("--like: no preset {}; use one of {}{}", yaml::in_quotes(name),
                                          fmt::join(names, ", "), did_you_mean(name, names)));
}

struct InitArguments {
  std::string file = "underlap.yaml";
  std::string preset = "tiny";
  bool force = false;
};

// The comments speak of FILE, so that they hold for the name that it is given.
std::string naming(std::string config, const std::string& file) {
  for (std::size_t at = config.find("FILE"); at != std::string::npos; at = config.find("FILE", at + file.size()))
    config.replace(at, 4, file);
  return config;
}

int run_init(const InitArguments& arguments) {
  const std::string config = starting_config(arguments.preset);
  if (arguments.file == "-") {
    print_data(config);
    return kOk;
  }
  if (std::filesystem::exists(arguments.file) && !arguments.force)
    throw std::invalid_argument(
        fmt::format("{} already exists: choose another file, or overwrite it with --force", arguments.file));
  write_file_atomically(arguments.file, naming(config, arguments.file));
  print_text("wrote {0}\n  underlap plan {0}    shows its effective settings\n  underlap run {0}     runs it\n",
             arguments.file);
  return kOk;
}

}  // namespace

void add_init_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<InitArguments>();
  CLI::App* command = app.add_subcommand("init", "Write a commented configuration to start from");
  command->add_option("FILE", arguments->file, "file to write, or - for standard output (default: underlap.yaml)");
  command->add_option("--like", arguments->preset,
                      "model preset, see `underlap list presets` (default: tiny, which this machine can measure; "
                      "larger ones are simulated)");
  command->add_flag("--force", arguments->force, "overwrite an existing file");
  command->footer(
      "Example: underlap init config.yaml && underlap run config.yaml -o first\n"
      "         underlap init --like llama3-8b llama.yaml");
  command->callback([arguments, &exit_code] { exit_code = run_init(*arguments); });
}

}  // namespace underlap::bench
