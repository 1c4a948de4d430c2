// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/certainty.hpp"

#include <algorithm>

#include "platform/json.hpp"

namespace underlap::bench {

std::vector<PublishedError> published_errors(std::string_view results, std::string_view hardware) {
  constexpr std::string_view kModelled = "modelled: ";
  std::vector<PublishedError> errors;
  const nlohmann::ordered_json all = parse_json(results);
  for (const auto& table : all.at("tables")) {
    if (table.at("link").get<std::string>() != std::string(kModelled) + std::string(hardware)) continue;
    PublishedError error{.table = table.at("title"), .hardware = std::string(hardware)};
    const bool is_time = table.at("quantity") == "iteration_from_layer";
    for (const auto& row : table.at("rows")) {
      const double ratio = row.at("modelled").get<double>() / row.at("published").get<double>();
      const double relative = (is_time ? 1 / ratio : ratio) - 1;
      if (row.at("is_fit").get<bool>()) {
        error.is_fitted = true;
        continue;
      }
      error.least = error.rows == 0 ? relative : std::min(error.least, relative);
      error.most = error.rows == 0 ? relative : std::max(error.most, relative);
      ++error.rows;
    }
    error.is_fitted = error.is_fitted || table.at("speed").get<double>() != 1;
    if (error.rows > 0) errors.push_back(std::move(error));
  }
  return errors;
}

}  // namespace underlap::bench
