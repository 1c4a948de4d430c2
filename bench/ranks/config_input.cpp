// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/config_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "impl/step/chunk_buckets.hpp"
#include "platform/json.hpp"

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

std::string plans_json(const plan::Matrix& matrix) {
  if (matrix.cells.size() == 1) return plan::to_json(matrix.cells.front().plan);
  nlohmann::ordered_json json{{"schema", "underlap.plans/1"}, {"cells", nlohmann::ordered_json::array()}};
  for (const plan::Cell& cell : matrix.cells)
    json["cells"].push_back({{"name", cell.name}, {"plan", parse_json(plan::to_json(cell.plan))}});
  return json_text(json, 2);
}

void print_errors(const plan::Matrix& matrix) {
  for (const plan::Message& error : matrix.errors) fmt::print(stderr, "{}: {}\n", error.where, error.message);
}

bool refuse_not_run(const plan::Matrix& matrix) {
  std::set<std::string> messages;
  for (const plan::Cell& cell : matrix.cells)
    for (const plan::Message& message : cell.plan.not_run) messages.insert(message.where + ": " + message.message);
  for (const std::string& message : messages) fmt::print(stderr, "{}\n", message);
  return !messages.empty();
}

}  // namespace underlap::bench
