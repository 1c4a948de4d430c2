// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/config_input.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/commands/shipped_matrices.hpp"
#include "bench/machine/machine_info.hpp"
#include "impl/plan/plan_json.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/json.hpp"
#include "platform/status_line.hpp"
#include "platform/text/output.hpp"
#include "platform/yaml_document.hpp"

namespace underlap::bench {
namespace {

// The value of a top-level `study:`; empty if there is none. Ignores errors: reading the text as a matrix reports them.
std::string study_of(const std::string& text) {
  yaml::Problems ignored("", {});
  const yaml::Document document = yaml::read_document(text, ignored);
  const yaml::Entry* study = document.root == nullptr ? nullptr : yaml::find_entry(*document.root, "study");
  return study == nullptr ? "" : study->value->text;
}

// Settings of the matrix that this version or this machine does not run, each once for all cells.
std::vector<plan::Message> all_not_run(const plan::Matrix& matrix) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<plan::Message> all;
  for (const plan::Cell& cell : matrix.cells)
    for (const plan::Message& message : cell.plan.not_run)
      if (seen.emplace(message.where, message.message).second) all.push_back(message);
  return all;
}

}  // namespace

void add_config(CLI::App& command, std::string& config) {
  command
      .add_option("CONFIG", config, "configuration (YAML), or the name of a shipped matrix (`underlap list matrices`)")
      ->required()
      ->transform([](const std::string& named) { return config_file(named); });
}

std::string default_folder(const std::string& config) {
  return fmt::format("{}/{}-{}", kRunsFolder, std::filesystem::path(config).stem().string(),
                     machine_info().started_utc);
}

plan::Matrix read_matrix(const std::string& file, const std::vector<plan::Override>& overrides) {
  StatusLine status(status_on_stderr());
  status.say("reading " + file);
  const std::string text = plan::read_config(file);
  if (const std::string study = study_of(text); !study.empty())
    throw std::invalid_argument(fmt::format("{} is the study {}, not a matrix: run it with underlap-study {} {} -o DIR",
                                            file, study, study, file));
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
  for (const plan::Message& error : matrix.errors) print_error("{}\n", error.text());
}

bool refuse(const plan::Matrix& matrix, bool json) {
  const std::vector<plan::Message> errors = matrix.has_errors() ? matrix.errors : all_not_run(matrix);
  if (json && !errors.empty()) print_data(plan::errors_json(errors) + "\n");
  if (!json)
    for (const plan::Message& error : errors) print_error("{}\n", error.text());
  return !errors.empty();
}

void add_flops(CLI::App& command, std::string& flops) {
  command
      .add_option("--flops", flops,
                  "FLOPs to count in TFLOP/s and MFU: full (the whole attention matrix, as Megatron-LM) or causal, "
                  "each with an optional +recompute")
      ->check(not_empty());
}

plan::FlopConvention convention_of(const std::string& flops) {
  if (const auto convention = plan::flop_convention(flops)) return *convention;
  throw std::invalid_argument(
      fmt::format("--flops: {} is not a valid value; use full, causal, full+recompute or causal+recompute", flops));
}

void warn_refused(const std::vector<report::RefusedCell>& refused) {
  for (const report::RefusedCell& cell : refused)
    for (const std::string& reason : cell.because) print_error("note: skipping cell {}: {}\n", cell.name, reason);
}

int with_errors_as(bool json, const std::string& file, const std::function<int()>& command) {
  if (!json) return command();
  try {
    return command();
  } catch (const std::invalid_argument& error) {
    std::string message = error.what();
    if (message.starts_with(file + ": ")) message.erase(0, file.size() + 2);
    print_data(plan::errors_json({{file, message}}) + "\n");
    return kBadInput;
  }
}

}  // namespace underlap::bench
