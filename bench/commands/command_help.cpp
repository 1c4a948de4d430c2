// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/help/command_tree.hpp"
#include "bench/commands/help/help_text.hpp"
#include "bench/commands/help/metrics.hpp"
#include "bench/commands/help/usage_errors.hpp"
#include "bench/machine/machine_info.hpp"
#include "bench/ranks/cuda_backend.hpp"
#include "bench/ranks/session.hpp"
#include "bench/tune/tune_report.hpp"
#include "bench/verify/check_report.hpp"
#include "impl/plan/plan_diff.hpp"
#include "impl/plan/plan_json.hpp"
#include "platform/exit_code.hpp"
#include "platform/fields/json_schema.hpp"
#include "platform/json.hpp"
#include "platform/table.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/inspector/inspector_join.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/compare/compare_report.hpp"
#include "profiler/gate/named_runs.hpp"
#include "profiler/gate/reports.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/report/observed.hpp"
#include "profiler/report/results.hpp"
#include "profiler/report/scaling/scaling.hpp"
#include "profiler/trace/backend.hpp"

namespace underlap::bench {
namespace {

// The command that `words` lead to, each a command of the one before.
const Command& command_at(const Command& program, const std::vector<std::string>& words) {
  const Command* command = &program;
  for (const std::string& word : words) {
    const auto child = std::ranges::find(command->commands, word, &Command::name);
    if (child == command->commands.end()) throw std::invalid_argument(unknown_command(*command, word));
    command = &*child;
  }
  return *command;
}

std::string backends_text() {
  std::vector<std::string> backends;
  for (const BackendTraits& backend : kBackends)
    if (!backend.runs_on_gpus || has_cuda_backend()) backends.emplace_back(backend.name);
  return fmt::format("{}{}", fmt::join(backends, ", "), has_cuda_backend() ? "" : " (built without cuda)");
}

std::string analysis_schema() {
  nlohmann::ordered_json schema = analysis::analysis_json_schema();
  graph::add_details_schema(schema);
  attribution::add_attribution_schema(schema);
  analysis::add_inspector_schema(schema);
  report::add_observed_schema(schema);
  return json_text(schema);
}

nlohmann::ordered_json array_of(nlohmann::ordered_json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

nlohmann::ordered_json reference_to(const char* name) { return {{"$ref", fields::schema_id(name)}}; }

nlohmann::ordered_json object_of(const nlohmann::ordered_json& properties) {
  nlohmann::ordered_json required = nlohmann::ordered_json::array();
  for (const auto& [name, property] : properties.items()) required.push_back(name);
  return {{"type", "object"}, {"properties", properties}, {"required", required}};
}

// A document of other documents.
std::string schema_of_documents(const char* name, nlohmann::ordered_json properties) {
  nlohmann::ordered_json schema{
      {"$schema", fields::kJsonSchemaDraft}, {"$id", fields::schema_id(name)}, {"title", name}};
  properties["schema"] = {{"const", name}};
  schema.update(object_of(properties));
  return json_text(schema);
}

// The analyses of a run's cells.
std::string analyses_schema() {
  return schema_of_documents("underlap.analyses/1", {{"cells", array_of(reference_to("underlap.analysis/1"))}});
}

// The plans of a matrix, or those of each file of a folder.
std::string plans_schema() {
  constexpr const char* kName = "underlap.plans/1";
  const nlohmann::ordered_json plans{
      {"anyOf", {reference_to("underlap.plan/1"), reference_to(kName), reference_to("underlap.errors/1")}}};
  const nlohmann::ordered_json cell =
      object_of({{"name", {{"type", "string"}}}, {"plan", reference_to("underlap.plan/1")}});
  const nlohmann::ordered_json file = object_of({{"file", {{"type", "string"}}}, {"plans", plans}});
  nlohmann::ordered_json schema =
      parse_json(schema_of_documents(kName, {{"cells", array_of(cell)}, {"files", array_of(file)}}));
  schema["required"] = {"schema"};
  schema["oneOf"] = {{{"required", {"cells"}}}, {{"required", {"files"}}}};
  return json_text(schema);
}

/// The JSON Schema of each format that other programs read.
const std::map<std::string, std::string (*)()>& json_schemas() {
  static const std::map<std::string, std::string (*)()> schemas{{"analyses", analyses_schema},
                                                                {"analysis", analysis_schema},
                                                                {"baseline", gate::baseline_json_schema},
                                                                {"check", check_json_schema},
                                                                {"compare", compare::compare_json_schema},
                                                                {"errors", plan::errors_json_schema},
                                                                {"gate", gate::gate_json_schema},
                                                                {"plan", plan::plan_json_schema},
                                                                {"plan_diff", plan::differences_json_schema},
                                                                {"plans", plans_schema},
                                                                {"results", report::results_json_schema},
                                                                {"scaling", report::scaling_json_schema},
                                                                {"tune", tune_json_schema}};
  return schemas;
}

std::string described_schema(const std::string& format) {
  nlohmann::ordered_json schema = parse_json(json_schemas().at(format)());
  describe_properties(schema, format);
  return json_text(schema, 1) + "\n";
}

std::string schema_names() { return fmt::format("{}", fmt::join(std::views::keys(json_schemas()), ", ")); }

void add_help(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::vector<std::string> words;
    bool manual = false;
    std::string schema;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("help", "Show the help of a command, with an example");
  command->add_option("COMMAND", arguments->words,
                      "the command, e.g. run or list knobs, or a topic: mode-map (default: all)");
  command->add_flag("--man", arguments->manual, "print the manual page of all commands, for man -l");
  command->add_option("--schema", arguments->schema, "print the JSON Schema of a format: " + schema_names())
      ->check(CLI::IsMember(json_schemas()));
  command->footer("Example: underlap help run");
  command->callback([&app, &exit_code, arguments] {
    const Command program = command_tree(app);
    if (!arguments->schema.empty())
      print_data(described_schema(arguments->schema));
    else if (const auto topic = help_topics().find(fmt::format("{}", fmt::join(arguments->words, " ")));
             topic != help_topics().end())
      print_text("{}", topic->second);
    else if (arguments->manual)
      print_data(manual_page(program, machine_info().version, build_date()));
    else
      print_text(help_text(command_at(program, arguments->words), help_width()));
    exit_code = kOk;
  });
}

void add_version(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("version", "Print version, commit, compiler, backends and libraries");
  command->footer("Example: underlap version");
  command->callback([&exit_code] {
    print_text("{}\n", version_text());
    exit_code = kOk;
  });
}

void add_completion(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a shell completion script");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember(completion_shells()));
  command->footer(
      "Example: source <(underlap completion bash)    # in ~/.bashrc; zsh likewise\n"
      "         underlap completion fish | source      # in config.fish");
  command->callback([&app, &exit_code, shell] {
    print_data(completion_script(command_tree(app), *shell));
    exit_code = kOk;
  });
}

}  // namespace

std::string version_text() {
  const report::RunInfo info = machine_info();
  auto libraries = info.library_versions;
  for (const BackendTraits& backend : kBackends)
    libraries.merge(backend_info(*backend_from(backend.name)).library_versions);
  std::vector<std::string> versions;
  for (const auto& [name, version] : libraries) versions.push_back(name + " " + version);
  std::string text = fmt::format("underlap {}\ncommit    {}\ncompiler  {}\nbackends  {}\n", info.version, info.commit,
                                 info.compiler, backends_text());
  text += wrap(fmt::format("libraries {}", fmt::join(versions, ", ")), terminal_width(STDOUT_FILENO), "          ");
  text.pop_back();  // the last line break
  return text;
}

void add_help_commands(CLI::App& app, int& exit_code) {
  add_help(app, exit_code);
  add_version(app, exit_code);
  add_completion(app, exit_code);
}

}  // namespace underlap::bench
