// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/parse_matrix.hpp"

#include "impl/step/chunk_buckets.hpp"

namespace underlap::bench {
namespace {

/// Each weight of a layer is looked at; nobody has more layers.
constexpr std::int64_t kMostLayers = 10'000;

}  // namespace

plan::Matrix parse_matrix(const std::string& yaml, const std::string& where,
                          const std::vector<plan::Override>& overrides) {
  plan::Matrix matrix = plan::parse(yaml, where, overrides);
  for (plan::Cell& cell : matrix.cells) {
    if (!cell.plan.errors.empty() || cell.plan.config.model.num_layers > kMostLayers) continue;
    cell.plan.buckets = chunk_buckets(cell.plan.config);
  }
  return matrix;
}

}  // namespace underlap::bench
