// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/numerics_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/precision.hpp"
#include "impl/plan/tensor_slots.hpp"
#include "impl/step/techniques.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/samples.hpp"

namespace underlap::bench {
namespace {

using report::CellResult;
using report::NumericsLabel;

// Largest relative differences between the losses of a cell and its reference that are no mismatch.
constexpr double kReorderedTolerance = 2e-3, kLowerPrecisionTolerance = 2e-2;

std::map<std::int32_t, double> losses_by_step(const CellResult& cell) {
  std::map<std::int32_t, double> losses;
  for (const report::StepSample& sample : cell.samples)
    if (sample.loss) losses[sample.step] = *sample.loss;
  return losses;
}

std::optional<double> largest_relative_difference(const CellResult& cell, const CellResult& reference) {
  const auto theirs = losses_by_step(reference);
  std::optional<double> largest;
  for (const auto& [step, loss] : losses_by_step(cell)) {
    const auto found = theirs.find(step);
    if (found == theirs.end()) continue;
    const double difference = std::abs(loss - found->second) / std::max(std::abs(found->second), 1e-300);
    largest = std::max(largest.value_or(0), std::isnan(difference) ? INFINITY : difference);
  }
  return largest;
}

bool multiplies_in_fp8(const plan::Config& config) { return plan::is_fp8(plan::scaling_of(config)); }

bool reduces_in_fp8(const plan::Config& config) {
  for (std::size_t i = 0; i < plan::kNumTensorSlots; ++i)
    if (plan::reduces_in_fp8(static_cast<plan::TensorSlot>(i), config.tensor_overlap.slots[i])) return true;
  return false;
}

// Whether tensor-parallel sums of the two are rounded to fp8 in other places.
bool rounds_reductions_apart(const plan::Config& a, const plan::Config& b) {
  return (reduces_in_fp8(a) || reduces_in_fp8(b)) && a.tensor_overlap.slots != b.tensor_overlap.slots;
}

// Whether a cell's gradients, weights, products or reductions lose more bits on their way than its reference's do.
bool is_less_precise(const plan::Config& config, const plan::Config& reference) {
  return (!config.ddp.grad_reduce_in_fp32 && reference.ddp.grad_reduce_in_fp32) ||
         (multiplies_in_fp8(config) && !multiplies_in_fp8(reference)) ||
         config.mixed_precision.fp8_param_gather != reference.mixed_precision.fp8_param_gather ||
         rounds_reductions_apart(config, reference);
}

// Everything that the loss of a step depends on, but for how gradients travel.
auto mathematics(const plan::Config& c) {
  const plan::ModelConfig& m = c.model;
  const plan::OptimizerConfig& o = c.optimizer;
  return std::tuple(m.num_layers, m.hidden_size, m.ffn_hidden_size, m.num_attention_heads, m.num_query_groups,
                    m.kv_channels, m.vocab_size, m.seq_length, m.share_embeddings_and_output_weights, m.activation,
                    m.position_embedding_type, m.rotary_base, m.rotary_percent, m.add_bias_linear, m.add_qkv_bias,
                    m.normalization, o.lr, o.adam_beta1, o.adam_beta2, o.adam_eps, o.weight_decay, o.clip_grad,
                    c.train.data, c.run.seed,
                    c.train.micro_batch_size * c.train.num_microbatches * c.parallel.data_parallel_size);
}

// Without transfers, and over an emulated link, nothing arrives from peers.
bool is_checked(const plan::RunConfig& run) { return !run.no_comm && !run.emulated_link; }

std::size_t first_of_equal_mathematics(const std::vector<plan::Cell>& cells, std::size_t cell) {
  const auto wanted = mathematics(cells[cell].plan.config);
  for (std::size_t i = 0; i < cell; ++i)
    if (is_checked(cells[i].plan.config.run) && mathematics(cells[i].plan.config) == wanted) return i;
  return cell;
}

// Whether a technique in effect sums in another order than NCCL would, or may: on GPUs alone, for other backends sum in
// one order.
bool sums_in_its_own_order(const plan::Config& config) {
  const bool may_differ =
      config.run.traits().runs_on_gpus && plan::ranks_sharing(plan::Shared::weights, config.parallel) > 2;
  return std::ranges::any_of(techniques_in_effect(config), [&](const TechniqueInEffect& technique) {
    const SumOrder order = technique.reduces ? technique.facts->sums : SumOrder::same;
    return order == SumOrder::differs || (order == SumOrder::may_differ && may_differ);
  });
}

// cuDNN then adds dq up by atomics, in the order in which blocks end.
bool sums_in_any_order(const plan::Config& config) {
  return config.run.traits().runs_on_gpus && !config.model.deterministic_mode;
}

// Overlap moves no bit, unless what it reduces travels as fp8; but with clipping the order of the norm's sum follows
// the buckets.
double limit_of(const plan::Config& config, bool overlap_alone, bool is_lower) {
  const bool reorders = config.optimizer.clip_grad > 0 || sums_in_any_order(config) || sums_in_its_own_order(config);
  if (is_lower) return kLowerPrecisionTolerance;
  return reorders || !overlap_alone ? kReorderedTolerance : 0;
}

// What may have moved a loss by `limit`.
const char* explanation(const plan::Config& config, bool overlap_alone, double limit) {
  if (limit == 0) return "overlap, which changes no bit";
  if (overlap_alone && sums_in_any_order(config))
    return "a different summation order (model.deterministic_mode is false)";
  return "the difference between the two cells";
}

// The off cell, where `cell` differs from it in overlap alone.
std::optional<std::size_t> off_cell_of(const std::vector<CellResult>& results, std::size_t cell) {
  const std::optional<std::size_t> off = find_references(results, cell).off;
  return off && *off != cell ? off : std::nullopt;
}

}  // namespace

std::optional<std::size_t> numerics_reference(const std::vector<plan::Cell>& cells,
                                              const std::vector<CellResult>& results, std::size_t cell) {
  if (!is_checked(cells[cell].plan.config.run) || losses_by_step(results[cell]).empty()) return std::nullopt;
  const std::optional<std::size_t> off = off_cell_of(results, cell);
  return off ? off : first_of_equal_mathematics(cells, cell);
}

std::vector<std::string> label_numerics(const std::vector<plan::Cell>& cells, std::vector<CellResult>& results) {
  std::vector<std::string> mismatches;
  for (std::size_t i = 0; i < results.size(); ++i) {
    CellResult& cell = results[i];
    cell.label = NumericsLabel::not_checked;
    const std::optional<std::size_t> reference = numerics_reference(cells, results, i);
    if (!reference) continue;
    cell.label = NumericsLabel::reference;
    // It equals nothing, not even itself.
    if (const std::string loss = report::non_finite_loss(cell); !loss.empty()) {
      cell.label = NumericsLabel::mismatch;
      cell.max_loss_difference = INFINITY;
      mismatches.push_back(fmt::format("cell {}: {}", cell.name, loss));
      continue;
    }
    if (*reference == i) continue;
    cell.label = NumericsLabel::not_checked;
    const std::optional<double> difference = largest_relative_difference(cell, results[*reference]);
    if (!difference) continue;
    cell.max_loss_difference = *difference;
    const bool is_lower = is_less_precise(cells[i].plan.config, cells[*reference].plan.config);
    const bool overlap_alone = off_cell_of(results, i).has_value();
    const double limit = limit_of(cells[i].plan.config, overlap_alone, is_lower);
    cell.label = *difference == 0      ? NumericsLabel::bit_identical
                 : *difference > limit ? NumericsLabel::mismatch
                 : is_lower            ? NumericsLabel::lower_precision
                                       : NumericsLabel::reordered;
    if (cell.label == NumericsLabel::mismatch)
      mismatches.push_back(fmt::format(
          "cell {}: loss differs from that of {} by {:.2e}; at most {:.0e} is explained by {}", cell.name,
          results[*reference].name, *difference, limit, explanation(cells[i].plan.config, overlap_alone, limit)));
  }
  return mismatches;
}

}  // namespace underlap::bench
