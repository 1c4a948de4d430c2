// SPDX-License-Identifier: Apache-2.0
// What follows from steps in virtual time, for each kind of figure.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/config_input.hpp"
#include "bench/published/study.hpp"
#include "bench/samples.hpp"
#include "bench/session.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/step/simulation.hpp"

namespace underlap::bench {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kMsPerS = 1e3;
constexpr double kFlopsPerTflop = 1e12;

plan::Matrix read_matrix(const std::string& file) {
  plan::Matrix matrix = parse_matrix(plan::read_config(file), file);
  std::string errors;
  for (const plan::Message& error : matrix.errors) errors += fmt::format("{}: {}\n", error.where, error.message);
  for (const plan::Cell& cell : matrix.cells) {
    for (const plan::Message& message : cell.plan.not_run)
      errors += fmt::format("{}: {}\n", message.where, message.message);
    if (cell.plan.config.run.backend != "sim") errors += fmt::format("{}: run.backend must be sim\n", file);
  }
  if (!errors.empty()) throw std::invalid_argument(errors.substr(0, errors.size() - 1));
  return matrix;
}

std::unique_ptr<sim::TimeModel> machine(const plan::Config& config, double speed) {
  sim::Hardware hardware = sim::load_hardware(config.run.hardware);
  hardware.gpu.bf16_tflops.value *= speed;
  const sim::Placement placement{.gpus_per_node = static_cast<std::int32_t>(config.run.gpus_per_node.value_or(0))};
  return sim::make_time_model(sim::CostModel(std::move(hardware), placement), config.environment.layernorm_sm_margin);
}

// The first step begins on idle devices; the second is that of a training in progress.
double step_s(const plan::Config& config, double speed) {
  const auto data = model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
  const auto time = machine(config, speed);
  BlockRun block;
  block.num_steps = 2;
  block.trace = Simulation(config, data, *time).play(0, block.num_steps);
  return static_cast<double>(samples_of(block, 0, false).front().step_ns) / kNsPerS;
}

/// The cells of a matrix, found by what its axes say. Each is played when it is asked for.
class Steps {
 public:
  Steps(const std::string& file, double speed) : file_(file), matrix_(read_matrix(file)), speed_(speed) {}

  const plan::Cell& cell(const std::string& model, const std::string& part = "") const {
    for (const plan::Cell& cell : matrix_.cells)
      if (value(cell, "model") == model && value(cell, "part") == part) return cell;
    throw std::invalid_argument(
        fmt::format("{}: no cell with model {}{}", file_, model, part.empty() ? "" : " and part " + part));
  }

  double operator()(const std::string& model, const std::string& part = "") const {
    return step_s(cell(model, part).plan.config, speed_);
  }

  std::string link() const { return link_text(matrix_.cells.front().plan.config.run); }

 private:
  // Values are JSON texts.
  static std::string value(const plan::Cell& cell, std::string_view axis) {
    for (const auto& [name, text] : cell.values)
      if (name == axis) return text.size() > 1 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
    return "";
  }

  std::string file_;
  plan::Matrix matrix_;
  double speed_;
};

// Source: Narayanan et al. 2021, eq. 3, without the second forward pass: 72 B s l h^2 (1 + s / 6h + V / 12 l h), which
// is also what Megatron-LM prints for equally many key and query heads and an MLP of 4 h.
double model_flops(const plan::Config& config) {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const plan::ModelConfig& model = config.model;
  const double sequences = number(config.train.micro_batch_size) * number(config.train.num_microbatches) *
                           config.parallel.data_parallel_size;
  const double s = number(model.seq_length), h = number(model.hidden_size), l = number(model.num_layers);
  return 72 * sequences * s * l * h * h * (1 + s / (6 * h) + number(model.vocab_size) / (12 * l * h));
}

void add_throughputs(const Steps& steps, ModelledTable& out) {
  for (const PublishedRow& row : out.table.rows) {
    const plan::Config& config = steps.cell(row.cell, out.table.part).plan.config;
    ModelledRow& modelled = out.rows.emplace_back();
    modelled.row = row;
    modelled.step_s = steps(row.cell, out.table.part);
    modelled.modelled = model_flops(config) / modelled.step_s / config.parallel.world_size() / kFlopsPerTflop;
    modelled.is_fit = row.name == out.table.fitted_to;
  }
}

// Of a step of few layers and microbatches everything but the passes of two layers cancels.
double layer_s(const Steps& steps, const std::string& model) {
  const auto step = [&](int layers, int microbatches) {
    return steps(model, fmt::format("layers_{}_microbatches_{}", layers, microbatches));
  };
  return (step(4, 2) - step(4, 1) - step(2, 2) + step(2, 1)) / 2;
}

// Layers that follow each other from the first microbatch to the last: those of a stage for all microbatches, and while
// the pipeline fills and drains.
double layers_in_a_row(const plan::Config& config) {
  const plan::ParallelConfig& parallel = config.parallel;
  const double fill =
      static_cast<double>(parallel.pipeline_model_parallel_size - 1) / parallel.virtual_pipeline_model_parallel_size;
  return (static_cast<double>(config.train.num_microbatches) + fill) * static_cast<double>(config.model.num_layers) /
         parallel.pipeline_model_parallel_size;
}

// The modelled step, with each layer as much longer as the published one is than the modelled one of the same model.
void add_iterations(const Steps& steps, ModelledTable& out) {
  std::map<std::string, double> step_of;
  for (const PublishedRow& row : out.table.rows) {
    if (!step_of.contains(row.cell)) step_of[row.cell] = steps(row.cell, "iteration");
    for (const std::string& model : {row.cell, out.table.unit})
      if (!out.layer_ms.contains(model)) out.layer_ms[model] = layer_s(steps, model) * kMsPerS;
    const double longer = row.layer_ms / out.layer_ms[out.table.unit] - 1;
    ModelledRow& modelled = out.rows.emplace_back();
    modelled.row = row;
    modelled.step_s = step_of[row.cell];
    modelled.modelled = modelled.step_s + layers_in_a_row(steps.cell(row.cell, "iteration").plan.config) * longer *
                                              out.layer_ms[row.cell] / kMsPerS;
  }
}

}  // namespace

double ModelledTable::largest_error() const {
  double largest = 0;
  for (const ModelledRow& row : rows)
    if (!row.is_fit) largest = std::max({largest, row.error(), -row.error()});
  return largest;
}

int ModelledTable::misordered_pairs(double margin) const {
  int pairs = 0;
  for (const ModelledRow& low : rows)
    for (const ModelledRow& high : rows)
      if (high.row.published > low.row.published * (1 + margin) && high.modelled <= low.modelled) ++pairs;
  return pairs;
}

std::vector<ModelledTable> run_published(const PublishedStudy& study) {
  std::vector<ModelledTable> tables;
  for (const PublishedTable& table : study.tables) {
    const Steps steps(std::filesystem::path(study.matrices) / (table.matrix + ".yaml"), table.speed);
    ModelledTable& out = tables.emplace_back();
    out.table = table;
    out.link = steps.link();
    if (table.quantity == PublishedQuantity::model_tflops)
      add_throughputs(steps, out);
    else
      add_iterations(steps, out);
  }
  return tables;
}

}  // namespace underlap::bench
