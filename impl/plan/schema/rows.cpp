// SPDX-License-Identifier: Apache-2.0
// Reads the table of knobs: knobs/NAME.yaml, one key an item. Fields as those of Row in impl/plan/schema/schema.hpp; a
// type that is not written is boolean, a status honoured, a scope always, a role work.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "impl/plan/pipeline_schedules.hpp"
#include "impl/plan/schema/knobs_text.hpp"
#include "platform/text/digits.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {
namespace {

constexpr EnumNames<Type, 5> kTypes{{"boolean", "integer", "number", "text", "any"}};
constexpr EnumNames<Status, 3> kStatuses{{"honoured", "planned", "known"}};
constexpr EnumNames<Scope, 8> kScopes{{"always", "dp", "tp", "pp", "cp", "fp8", "moe", "fsdp"}};
constexpr EnumNames<Role, 6> kRoles{{"work", "overlap", "manner", "floor", "transfers", "aside"}};

struct Table {
  std::string_view name;
  std::string_view (*text)();
};
constexpr Table kTables[] = {{"knobs/overlap.yaml", overlap_knobs_text},
                             {"knobs/tensor.yaml", tensor_knobs_text},
                             {"knobs/numerics.yaml", numerics_knobs_text},
                             {"knobs/model.yaml", model_knobs_text},
                             {"knobs/workload.yaml", workload_knobs_text}};

/// Reads one file. The tables are the program's own: what is wrong with them is our own bug.
class TableReader {
 public:
  explicit TableReader(const Table& table) : table_(table) {}

  /// The texts of the rows are views of `document`.
  void read(Document& document, std::vector<Row>& rows) {
    Problems problems(std::string(table_.name), {});
    document = read_document(std::string(table_.text()), problems);
    for (const Message& problem : problems.messages()) throw std::logic_error(problem.where + ": " + problem.message);
    for (const Node* node : document.root->items) rows.push_back(read_row(*node));
  }

 private:
  [[noreturn]] void fail(const Node& node, std::string_view why) const {
    throw std::logic_error(fmt::format("{}:{}: {}", table_.name, node.place.line, why));
  }

  double number_of(const Node& node) const {
    const auto value = parse_number<double>(node.text);
    if (!value) fail(node, "no number");
    return *value;
  }

  template <class Enum, std::size_t kCount>
  Enum word(const EnumNames<Enum, kCount>& names, const Node& node) const {
    const auto found = names.find(node.text);
    if (!found) fail(node, "unknown word");
    return *found;
  }

  /// {key: model.microbatch_group_size_per_vp_stage, type: integer, scope: pp, role: manner, range: [1, 1e9]}
  Row read_row(const Node& node) const {
    Row row;
    for (const Entry& entry : node.entries) read_field(row, entry);
    return row;
  }

  void read_field(Row& row, const Entry& entry) const {
    constexpr std::pair<std::string_view, std::string_view Row::*> kTexts[] = {
        {"key", &Row::path},          {"spellings", &Row::spellings}, {"backends", &Row::backends},
        {"fallback", &Row::fallback}, {"choices", &Row::choices},     {"rule", &Row::rule},
        {"about", &Row::about},       {"lacks", &Row::lacks}};
    const Node& value = *entry.value;
    for (const auto& [name, text] : kTexts)
      if (entry.key == name) {
        row.*text = value.kind == Node::Kind::null ? "null" : std::string_view(value.text);
        return;
      }
    if (entry.key == "type")
      row.type = word(kTypes, value);
    else if (entry.key == "status")
      row.status = word(kStatuses, value);
    else if (entry.key == "scope")
      row.scope = word(kScopes, value);
    else if (entry.key == "role")
      row.role = word(kRoles, value);
    else if (entry.key == "listed")
      row.listed = value.text == "true";
    else if (entry.key == "range" && value.items.size() == 2)
      row.range = {number_of(*value.items[0]), number_of(*value.items[1]), row.range.open};
    else if (entry.key == "open")
      row.range.open = value.text == "true";
    else
      fail(value, "unknown field");
  }

  const Table& table_;
};

Row& row_named(std::vector<Row>& rows, std::string_view path) {
  const auto found = std::ranges::find(rows, path, &Row::path);
  if (found == rows.end()) throw std::logic_error(fmt::format("no table of knobs has a row {}", path));
  return *found;
}

}  // namespace

std::span<const Row> rows() {
  static Document documents[std::size(kTables)];
  static const std::vector<Row> instance = [] {
    std::vector<Row> all;
    for (std::size_t i = 0; i < std::size(kTables); ++i) TableReader(kTables[i]).read(documents[i], all);
    for (const KeyField& of : key_fields()) row_named(all, of.key).field = of.field;
    row_named(all, "extensions.pipeline_schedule").registered = pipeline_schedule_names;
    for (Row& row : all)
      if (row.fallback.empty() && row.field.store == nullptr) row.fallback = "null";
    return all;
  }();
  return instance;
}

}  // namespace underlap::plan
