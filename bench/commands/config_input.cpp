// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/config_input.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "impl/plan/plan.hpp"
#include "platform/json.hpp"
#include "platform/yaml_document.hpp"

namespace underlap::bench {
namespace {

// What a text calls itself by a top-level `study:`; empty for anything else. Its errors are told by who reads it as a
// matrix.
std::string study_of(const std::string& text) {
  yaml::Problems ignored("", {});
  const yaml::Document document = yaml::read_document(text, ignored);
  const yaml::Entry* study = document.root == nullptr ? nullptr : yaml::find_entry(*document.root, "study");
  return study == nullptr ? "" : study->value->text;
}

}  // namespace

plan::Matrix read_matrix(const std::string& file, const std::vector<plan::Override>& overrides) {
  const std::string text = plan::read_config(file);
  if (const std::string study = study_of(text); !study.empty())
    throw std::invalid_argument(
        fmt::format("{} is the study {} and no matrix: underlap-study {} {} -o DIR runs it", file, study, study, file));
  return plan::parse(text, file, overrides);
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
