// SPDX-License-Identifier: Apache-2.0
#include "bench/config_input.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace underlap::bench {

std::string plans_json(const plan::Matrix& matrix) {
  if (matrix.cells.size() == 1) return plan::to_json(matrix.cells.front().plan);
  nlohmann::ordered_json json{{"schema", "underlap.plans/1"}, {"cells", nlohmann::ordered_json::array()}};
  for (const plan::Cell& cell : matrix.cells)
    json["cells"].push_back({{"name", cell.name}, {"plan", nlohmann::ordered_json::parse(plan::to_json(cell.plan))}});
  return json.dump(2);
}

void print_errors(const plan::Matrix& matrix) {
  for (const plan::Message& error : matrix.errors) fmt::print(stderr, "{}: {}\n", error.where, error.message);
}

}  // namespace underlap::bench
