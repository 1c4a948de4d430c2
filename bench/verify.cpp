// SPDX-License-Identifier: Apache-2.0
#include "bench/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "bench/summary.hpp"

namespace underlap::bench {
namespace {

std::map<std::int32_t, double> losses_by_step(const CellResult& cell) {
  std::map<std::int32_t, double> losses;
  for (const StepSample& sample : cell.samples) losses[sample.step] = sample.loss;
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

bool differs_in_overlap_alone(const References& references, std::size_t cell) {
  return references.off && *references.off != cell;
}

}  // namespace

std::vector<std::string> label_numerics(const std::vector<plan::Cell>& cells, std::vector<CellResult>& results,
                                        const LossTolerance& tolerance) {
  std::vector<std::string> mismatches;
  const auto first = std::find_if(results.begin(), results.end(), [](const CellResult& r) { return !r.no_comm; });
  const auto first_index = static_cast<std::size_t>(first - results.begin());
  for (std::size_t i = 0; i < results.size(); ++i) {
    CellResult& cell = results[i];
    cell.label = NumericsLabel::not_checked;
    if (cell.no_comm || first == results.end()) continue;
    const References references = find_references(results, i);
    const bool overlap_alone = differs_in_overlap_alone(references, i);
    const std::size_t reference = overlap_alone ? *references.off : first_index;
    if (reference == i) {
      cell.label = NumericsLabel::reference;
      continue;
    }
    const std::optional<double> difference = largest_relative_difference(cell, results[reference]);
    if (!difference) continue;
    cell.max_loss_difference = *difference;
    const bool is_lower = is_less_precise(cells[i].plan.config, cells[reference].plan.config);
    const double limit = overlap_alone ? 0 : is_lower ? tolerance.lower_precision : tolerance.reordered;
    cell.label = *difference == 0      ? NumericsLabel::bit_identical
                 : *difference > limit ? NumericsLabel::mismatch
                 : is_lower            ? NumericsLabel::lower_precision
                                       : NumericsLabel::reordered;
    if (cell.label == NumericsLabel::mismatch)
      mismatches.push_back(
          fmt::format("cell {}: loss differs from that of {} by {:.2e}; at most {:.0e} is explained by {}", cell.name,
                      results[reference].name, *difference, limit,
                      overlap_alone ? "overlap, which moves no bit" : "what sets the two cells apart"));
  }
  return mismatches;
}

}  // namespace underlap::bench
