// SPDX-License-Identifier: Apache-2.0
// Derives each kind of figure from steps in virtual time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/ranks/session.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/plan/layout/chunk_buckets.hpp"
#include "impl/plan/plan.hpp"
#include "impl/plan/step_flops.hpp"
#include "impl/step/simulation.hpp"
#include "profiler/report/samples.hpp"
#include "research/studies/published/study.hpp"

namespace underlap::bench {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kMsPerS = 1e3;
constexpr double kUsPerS = 1e6;
constexpr double kFlopsPerTflop = 1e12;
constexpr const char* kIteration = "iteration";  // the part of a matrix with whole steps

plan::Matrix read_matrix(const std::string& file) {
  plan::Matrix matrix = plan::parse(plan::read_config(file), file);
  std::string errors;
  for (const plan::Message& error : matrix.errors) errors += error.text() + "\n";
  for (const plan::Cell& cell : matrix.cells) {
    for (const plan::Message& message : cell.plan.not_run) errors += message.text() + "\n";
    if (cell.plan.config.run.traits().measures_time) errors += fmt::format("{}: run.backend must be sim\n", file);
  }
  if (!errors.empty()) throw std::invalid_argument(errors.substr(0, errors.size() - 1));
  return matrix;
}

/// Rates of a GPU that is slower than its description.
struct Slower {
  double speed = 1;  ///< run.speed: of GEMMs, and of attention unless it is given
  /// Share of the described peak per feature of a head: attention that writes its scores moves them, however many
  /// features a head has. 0: as described.
  double attention_forward = 0, attention_backward = 0;
  double optimizer_bytes = 0;  ///< additional traffic for each parameter of a rank, at the end of a step
  double loss_bytes = 0;       ///< additional traffic for each logit of a rank and microbatch
};

void set_efficiency(std::vector<sim::AttentionCurve>& curves, double by_feature) {
  for (sim::AttentionCurve& curve : curves)
    curve.over_sequence.curve = sim::Curve({{1, by_feature * static_cast<double>(curve.head_size)}});
}

std::unique_ptr<sim::TimeModel> machine(const plan::Config& config, const Slower& slower) {
  plan::RunConfig run = config.run;
  run.speed *= slower.speed;
  sim::Hardware hardware = sim::hardware_of(run);
  if (slower.attention_forward > 0) {
    set_efficiency(hardware.kernels.attention_forward, slower.attention_forward / slower.speed);
    set_efficiency(hardware.kernels.attention_backward, slower.attention_backward / slower.speed);
  }
  return sim::make_time_model(config, std::move(hardware));
}

// Parameters of the rank that holds the most.
double num_parameters(const plan::Config& config) {
  std::int64_t most = 0;
  for (std::int32_t stage = 0; stage < config.parallel.pipeline_model_parallel_size; ++stage) {
    std::int64_t elements = 0;
    for (std::int32_t chunk = 0; chunk < config.parallel.virtual_pipeline_model_parallel_size; ++chunk)
      for (const plan::Parameter& p :
           chunk_parameters(config, stage, chunk, {config.parallel.tensor_model_parallel_size, 0}).all)
        elements += p.elements();
    most = std::max(most, elements);
  }
  return static_cast<double>(most);
}

// Time of additional memory traffic in the measured system. It is not overlapped: nothing runs during its optimizer,
// and the stage with the loss limits a pipeline.
double besides_s(const plan::Config& config, const Slower& slower) {
  const plan::ModelConfig& model = config.model;
  const double logits = static_cast<double>(config.train.micro_batch_size * config.train.num_microbatches) *
                        static_cast<double>(model.seq_length * model.vocab_size) /
                        config.parallel.tensor_model_parallel_size;
  const double bytes = slower.optimizer_bytes * num_parameters(config) + slower.loss_bytes * logits;
  const sim::Hardware hardware = sim::load_hardware(config.run.hardware);
  const double gb_per_s = hardware.gpu.hbm_gb_per_s.value * hardware.kernels.memory.curve(bytes);
  return bytes > 0 ? bytes / gb_per_s / kNsPerS : 0;
}

// The first step starts on idle devices; the second is representative of a training run.
double step_s(const plan::Config& config, const Slower& slower) {
  const auto data = model::TextData::unread(config.model.seq_length);
  const auto time = machine(config, slower);
  report::BlockRun block;
  block.num_steps = 2;
  block.figures =
      report::figures_of(Simulation(config, data, *time).play(0, block.num_steps), false, config.parallel.stage_size());
  return static_cast<double>(samples_of(block, 0).front().step_ns) / kNsPerS + besides_s(config, slower);
}

/// The cells of a matrix, found by their values on its axes. Each is simulated on first use.
class Steps {
 public:
  explicit Steps(const std::string& file) : file_(file), matrix_(read_matrix(file)) {}

  std::vector<const plan::Cell*> cells(const std::string& model, const std::string& part) const {
    std::vector<const plan::Cell*> found;
    for (const plan::Cell& cell : matrix_.cells)
      if (value(cell, "model") == model && value(cell, "part") == part) found.push_back(&cell);
    if (!found.empty()) return found;
    throw std::invalid_argument(
        fmt::format("{}: no cell with model {}{}", file_, model, part.empty() ? "" : " and part " + part));
  }

  const plan::Config& config(const std::string& model, const std::string& part = "") const {
    return cells(model, part).front()->plan.config;
  }

  // Values are JSON texts.
  static std::string value(const plan::Cell& cell, std::string_view axis) {
    for (const auto& [name, text] : cell.values)
      if (name == axis) return text.size() > 1 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
    return "";
  }

  const std::string& file() const { return file_; }
  std::string link() const { return link_text(matrix_.cells.front().plan.config.run); }

 private:
  std::string file_;
  plan::Matrix matrix_;
};

plan::FlopConvention convention_of(PublishedQuantity quantity) {
  if (quantity == PublishedQuantity::causal_tflops) return plan::FlopConvention::causal;
  return quantity == PublishedQuantity::hardware_tflops ? plan::FlopConvention::full_recompute
                                                        : plan::FlopConvention::full;
}

// Steps of few layers and microbatches are subtracted, so that only the passes of two layers remain.
double layer_s(const Steps& steps, const std::string& model, const Slower& slower) {
  const auto step = [&](int layers, int microbatches) {
    return step_s(steps.config(model, fmt::format("layers_{}_microbatches_{}", layers, microbatches)), slower);
  };
  return (step(4, 2) - step(4, 1) - step(2, 2) + step(2, 1)) / 2;
}

// The GEMM speed that gives the published layer time, to a thousandth; as described if the layer takes longer even
// then.
double speed_of_layer(const Steps& steps, const PublishedTable& table, Slower slower) {
  double slow = 0.05, fast = 1;
  while (fast / slow > 1.0005) {
    slower.speed = std::sqrt(slow * fast);
    (layer_s(steps, table.unit, slower) * kMsPerS > table.layer_ms ? slow : fast) = slower.speed;
  }
  return fast;
}

// `products` of causal attention's size: 2 forward, 5 backward, as counted in virtual time.
double efficiency_by_feature(const plan::Config& config, double products, double us) {
  if (us == 0) return 0;
  const double s = static_cast<double>(config.model.seq_length);
  const double flops_by_feature = 2 * products * s * (s + 1) / 2;
  const double peak = sim::load_hardware(config.run.hardware).gpu.bf16_tflops.value * kFlopsPerTflop;
  return flops_by_feature / (peak * us / kUsPerS);
}

Slower slower_of(const Steps& steps, const PublishedTable& table) {
  const bool is_from_layer = table.quantity == PublishedQuantity::iteration_from_layer;
  const plan::Config& config = steps.config(table.rows.front().cell, is_from_layer ? kIteration : table.part);
  Slower slower{.speed = table.speed,
                .attention_forward = efficiency_by_feature(config, 2, table.attention_forward_us),
                .attention_backward = efficiency_by_feature(config, 5, table.attention_backward_us),
                .optimizer_bytes = table.optimizer_bytes,
                .loss_bytes = table.loss_bytes};
  if (is_from_layer) slower.speed = speed_of_layer(steps, table, slower);
  return slower;
}

struct Chosen {
  const plan::Cell* cell = nullptr;
  double step_s = 0;
};

// The fastest cell of a row whose predicted memory fits; a single cell is not checked.
Chosen fastest(const Steps& steps, const std::string& model, const std::string& part, const Slower& slower) {
  const std::vector<const plan::Cell*> cells = steps.cells(model, part);
  Chosen chosen;
  for (const plan::Cell* cell : cells) {
    const bool fits = cell->plan.peak_memory.total() <= sim::gpu_memory_bytes(cell->plan.config);
    if (cells.size() > 1 && !fits) continue;
    const double step = step_s(cell->plan.config, slower);
    if (chosen.cell == nullptr || step < chosen.step_s) chosen = {cell, step};
  }
  if (chosen.cell == nullptr)
    throw std::invalid_argument(fmt::format("{}: no variant of model {} fits in GPU memory", steps.file(), model));
  return chosen;
}

void add_rows(const Steps& steps, ModelledTable& out) {
  const PublishedTable& table = out.table;
  const bool is_from_layer = table.quantity == PublishedQuantity::iteration_from_layer;
  const Slower slower = slower_of(steps, table);
  out.speed = slower.speed;
  for (const PublishedRow& row : table.rows) {
    const auto [cell, step] = fastest(steps, row.cell, is_from_layer ? kIteration : table.part, slower);
    const plan::Config& config = cell->plan.config;
    const double flops = plan::step_flops(config, convention_of(table.quantity));
    const double tflops = flops / step / config.parallel.world_size() / kFlopsPerTflop;
    out.rows.push_back({.row = row,
                        .chosen = Steps::value(*cell, "choice"),
                        .step_s = step,
                        .modelled = is_from_layer ? step : tflops,
                        .is_fit = row.name == table.fitted_to});
  }
  for (ModelledRow& row : out.rows)
    for (const ModelledRow& unit : out.rows)
      if (unit.row.name == row.row.relative_to) {
        row.unit_published = unit.row.published;
        row.unit_modelled = unit.modelled;
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
    const Steps steps(std::filesystem::path(study.matrices) / (table.matrix + ".yaml"));
    ModelledTable& out = tables.emplace_back();
    out.table = table;
    out.link = steps.link();
    add_rows(steps, out);
  }
  return tables;
}

}  // namespace underlap::bench
