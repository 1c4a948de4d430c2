// SPDX-License-Identifier: Apache-2.0
#include "profiler/certainty/certainty.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "platform/json.hpp"

namespace underlap::certainty {
namespace {

std::string end_of(double relative) {
  return fmt::format("{:.1f} % {}", 100 * std::abs(relative), relative < 0 ? "slower" : "faster");
}

// "17.2 to 34.8 % faster", "7.6 % slower to 12.1 % faster"
std::string range_of(double least, double most) {
  if (least == most) return end_of(least);
  if ((least < 0) != (most < 0)) return end_of(least) + " to " + end_of(most);
  return fmt::format("{:.1f} to {}", 100 * std::abs(least), end_of(most));
}

// Over the tables that had a figure fitted, or those that had none.
std::optional<std::string> range_over(const std::vector<PublishedError>& errors, bool is_fitted) {
  std::optional<double> least, most;
  for (const PublishedError& error : errors) {
    if (error.is_fitted != is_fitted) continue;
    least = std::min(least.value_or(error.least), error.least);
    most = std::max(most.value_or(error.most), error.most);
  }
  return least ? std::optional(range_of(*least, *most)) : std::nullopt;
}

// The name of the machine may be followed by details: "modelled: h100-sxm at speed 0.75".
bool is_of(std::string_view link, const std::string& machine) {
  return link == machine || link.starts_with(machine + ' ');
}

}  // namespace

// {"title": "...", "quantity": "model_tflops", "link": "modelled: h100-sxm", "speed": 1.0, ...,
//  "rows": [{"name": "1.7B", "published": 408.8, "modelled": 546.4, "is_fit": false, ...}]}
std::vector<PublishedError> published_errors(std::string_view results, std::string_view link) {
  std::vector<PublishedError> errors;
  const nlohmann::ordered_json all = parse_json(results);
  for (const auto& table : all.at("tables")) {
    if (!is_of(link, table.at("link").get<std::string>())) continue;
    PublishedError error{.table = table.at("title"), .speed = table.at("speed").get<double>()};
    const bool is_time = table.at("quantity") == "iteration_from_layer";
    error.is_fitted = error.speed != 1;
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
    if (error.rows > 0) errors.push_back(std::move(error));
  }
  return errors;
}

std::string line_of(const PublishedError& error) {
  const std::string speed = error.speed == 1 ? "" : fmt::format(" (--speed {:.3g})", error.speed);
  return fmt::format("{} in {} row{}: {}{}", range_of(error.least, error.most), error.rows, error.rows == 1 ? "" : "s",
                     error.table, speed);
}

std::string sentence_of(const std::vector<PublishedError>& errors) {
  const std::optional<std::string> described = range_over(errors, false);
  const std::optional<std::string> fitted = range_over(errors, true);
  if (!described && !fitted) return "";
  std::string text = "Accuracy: compared with published steps on such machines, simulated steps are ";
  if (described) text += *described + " without calibration";
  if (described && fitted) text += ", and ";
  if (fitted) text += *fitted + " with one fitted speed factor";
  return text;
}

}  // namespace underlap::certainty
