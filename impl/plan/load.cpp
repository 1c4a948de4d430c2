// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "impl/plan/matrix.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/foreign_configs.hpp"
#include "platform/input/input_file.hpp"

namespace underlap::plan {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::size_t kMostNamed = 12;  // cells in a message

/// The command-line flag for `path`.
std::string flag_name(const std::string& path) {
  if (path == "model.num_layers") return "--layers";
  if (path == kOneCell) return "--cell";
  if (!path.starts_with("run.")) return "--set " + path;
  std::string flag = fmt::format("--{}", std::string_view(path).substr(4));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::vector<std::string> flag_names(const std::vector<Override>& overrides) {
  std::vector<std::string> names;
  for (const auto& [path, value] : overrides) names.push_back(flag_name(path));
  return names;
}

void apply_overrides(Settings& settings, const std::vector<Override>& overrides, std::deque<Document>& documents,
                     Problems& problems) {
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const auto& [path, value] = overrides[i];
    const int index = static_cast<int>(i);
    const Place place{index, 1, 1};
    if (path == kOneCell) continue;  // handled by keep_named()
    if (!find_row(path)) {
      problems.add(place, fmt::format("unknown key {}{}", in_quotes(path), suggestion(path)));
      continue;
    }
    const Document& document = documents.emplace_back(read_document(value, problems, index));
    const Node null{.place = place};
    if (document.root != nullptr || value.empty())
      override_setting(settings, path, place, value.empty() ? null : *document.root, problems);
  }
}

const Node* matrix_of(const Node& root) {
  for (const Entry& entry : root.entries)
    if (entry.key == "matrix") return entry.value;
  return nullptr;
}

void check_root(const Node* root, Problems& problems) {
  if (root == nullptr ? problems.empty() : root->kind == Node::Kind::null)
    problems.add({}, "the file is empty; write at least model: {preset: tiny}");
  else if (root != nullptr && root->kind != Node::Kind::mapping)
    problems.add(root->place, fmt::format("a configuration is a mapping of sections such as model: and run:, not {}; "
                                          "write at least model: {{preset: tiny}}",
                                          describe(*root)));
}

// Keeps only the cells that overrides name, if any.
void keep_named(std::vector<CellRequest>& cells, const std::vector<Override>& overrides, Problems& problems) {
  std::set<std::string_view> kept;
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const auto& [path, name] = overrides[i];
    if (path != kOneCell) continue;
    if (std::ranges::find(cells, name, &CellRequest::name) != cells.end()) {
      kept.insert(name);
      continue;
    }
    std::string names;
    for (const CellRequest& cell : std::span(cells).first(std::min(cells.size(), kMostNamed)))
      names += fmt::format("{}{}", names.empty() ? "" : "; ", cell.name);
    if (cells.size() > kMostNamed) names += fmt::format("; and {} more", cells.size() - kMostNamed);
    problems.add({static_cast<int>(i), 1, 1},
                 fmt::format("the matrix has no cell {}; it has: {}", in_quotes(name), names));
  }
  if (!kept.empty()) std::erase_if(cells, [&](const CellRequest& cell) { return !kept.contains(cell.name); });
}

/// The result if the file could not be read.
Matrix without_plan(const Problems& problems) {
  Cell cell{"cell", {}, {}};
  cell.plan.errors = problems.messages();
  return {{cell}, problems.messages(), {}};
}

/// Each plan contains the errors of the file and its own.
Matrix resolve_cells(std::vector<CellRequest> requests, const Problems& of_file) {
  Matrix matrix;
  Problems all = of_file;
  for (CellRequest& request : requests) {
    Problems own = of_file;
    request.settings.settle();
    Plan plan = resolve(request.settings, own);
    plan.errors = own.messages();
    all.merge(own);
    matrix.cells.push_back({std::move(request.name), std::move(request.values), std::move(plan)});
  }
  matrix.errors = all.messages();
  return matrix;
}

/// model: {preset: tiny}, data_parallel_size: 2, matrix: {...}; or arguments: --num-layers 32 --hidden-size 4096 ...
Matrix parse_text(const std::string& yaml, const std::string& where, const std::vector<Override>& overrides) {
  Problems problems(where, flag_names(overrides));
  if (yaml.size() > kLargestFile) {
    problems.add({}, "larger than 1 MiB, so not a configuration; check the path");
    return without_plan(problems);
  }
  const bool is_list = are_megatron_arguments(yaml);
  Document document = is_list ? Document{} : read_document(yaml, problems);
  if (!is_list) check_root(document.root, problems);
  if (!is_list && (document.root == nullptr || document.root->kind != Node::Kind::mapping))
    return without_plan(problems);
  // The nodes are shared, so both documents must stay.
  Document of_nemo;
  if (!is_list && is_nemo_dump(*document.root)) {
    of_nemo = nemo_as_bridge(*document.root);
    document.root = of_nemo.root;
  }
  std::deque<Document> override_documents;
  Settings base = is_list ? read_megatron_arguments(yaml, document, problems) : read_settings(*document.root, problems);
  apply_overrides(base, overrides, override_documents, problems);
  auto cells = expand_matrix(matrix_of(*document.root), base, problems);
  if (cells.empty()) cells.push_back({"cell", {}, std::move(base)});
  keep_named(cells, overrides, problems);
  return resolve_cells(std::move(cells), problems);
}

}  // namespace

std::string read_config(const std::filesystem::path& file) {
  return read_input_file(file, {.bytes = kLargestFile + 1});
}

Matrix parse(const std::string& yaml, const std::string& where, const std::vector<Override>& overrides) {
  Matrix matrix = parse_text(yaml, where, overrides);
  matrix.source = {yaml, where, overrides};
  return matrix;
}

Matrix load(const std::filesystem::path& file, const std::vector<Override>& overrides) {
  return parse(read_config(file), file.string(), overrides);
}

}  // namespace underlap::plan
