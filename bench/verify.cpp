// SPDX-License-Identifier: Apache-2.0
#include "bench/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "bench/summary.hpp"

namespace underlap::bench {
namespace {

std::map<std::int32_t, double> losses_by_step(const CellResult& cell) {
  std::map<std::int32_t, double> losses;
  for (const StepSample& sample : cell.samples)
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

// Whether a cell's gradients lose more bits on their way than its reference's do.
bool is_less_precise(const plan::Config& config, const plan::Config& reference) {
  return !config.ddp.grad_reduce_in_fp32 && reference.ddp.grad_reduce_in_fp32;
}

// Everything that the loss of a step depends on, but for how gradients travel.
auto mathematics(const plan::Config& c) {
  const plan::ModelConfig& m = c.model;
  const plan::OptimizerConfig& o = c.optimizer;
  return std::tuple(m.num_layers, m.hidden_size, m.ffn_hidden_size, m.num_attention_heads, m.num_query_groups,
                    m.vocab_size, m.seq_length, m.share_embeddings_and_output_weights, m.activation, o.lr, o.adam_beta1,
                    o.adam_beta2, o.adam_eps, o.weight_decay, o.clip_grad, c.train.data, c.run.seed,
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

// Overlap moves no bit; but with clipping the order of the norm's sum follows the buckets.
double limit_of(const plan::Config& config, bool overlap_alone, bool is_lower, const LossTolerance& tolerance) {
  if (overlap_alone) return config.optimizer.clip_grad > 0 ? tolerance.reordered : 0;
  return is_lower ? tolerance.lower_precision : tolerance.reordered;
}

bool differs_in_overlap_alone(const References& references, std::size_t cell) {
  return references.off && *references.off != cell;
}

}  // namespace

std::vector<std::string> label_numerics(const std::vector<plan::Cell>& cells, std::vector<CellResult>& results,
                                        const LossTolerance& tolerance) {
  std::vector<std::string> mismatches;
  for (std::size_t i = 0; i < results.size(); ++i) {
    CellResult& cell = results[i];
    cell.label = NumericsLabel::not_checked;
    if (!is_checked(cells[i].plan.config.run) || losses_by_step(cell).empty()) continue;
    const References references = find_references(results, i);
    const bool overlap_alone = differs_in_overlap_alone(references, i);
    const std::size_t reference = overlap_alone ? *references.off : first_of_equal_mathematics(cells, i);
    if (reference == i) {
      cell.label = NumericsLabel::reference;
      continue;
    }
    const std::optional<double> difference = largest_relative_difference(cell, results[reference]);
    if (!difference) continue;
    cell.max_loss_difference = *difference;
    const bool is_lower = is_less_precise(cells[i].plan.config, cells[reference].plan.config);
    const double limit = limit_of(cells[i].plan.config, overlap_alone, is_lower, tolerance);
    cell.label = *difference == 0      ? NumericsLabel::bit_identical
                 : *difference > limit ? NumericsLabel::mismatch
                 : is_lower            ? NumericsLabel::lower_precision
                                       : NumericsLabel::reordered;
    if (cell.label == NumericsLabel::mismatch)
      mismatches.push_back(
          fmt::format("cell {}: loss differs from that of {} by {:.2e}; at most {:.0e} is explained by {}", cell.name,
                      results[reference].name, *difference, limit,
                      limit == 0 ? "overlap, which moves no bit" : "what sets the two cells apart"));
  }
  return mismatches;
}

}  // namespace underlap::bench
