// SPDX-License-Identifier: Apache-2.0
#include "research/studies/published/study.hpp"

#include <algorithm>
#include <filesystem>

#include "profiler/trace/enum_names.hpp"
#include "research/studies/study_parser.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kPublishedName = "published_figures";
constexpr EnumNames<PublishedQuantity, 4> kQuantities{
    {"model_tflops", "causal_tflops", "hardware_tflops", "iteration_from_layer"}};

class PublishedReader {
 public:
  explicit PublishedReader(StudyParser& parser) : parser_(parser) {}

  void read(const YAML::Node& root, PublishedStudy& study) {
    const auto tables = parser_.each([this, &study](const YAML::Node& node) { add_table(node, study); });
    parser_.map(root,
                {{"study", parser_.name(kPublishedName)}, {"tables", tables}, {"left_out", texts(study.left_out)}});
  }

 private:
  using Reader = std::function<void(const YAML::Node&)>;

  Reader texts(std::vector<std::string>& out) {
    return parser_.each([this, &out](const YAML::Node& node) { parser_.text(out.emplace_back())(node); });
  }

  // {matrix: megatron_core_h100, title: ..., source: ..., quantity: model_tflops, within: 0.10, rows: [...]}
  void add_table(const YAML::Node& node, PublishedStudy& study) {
    PublishedTable& table = study.tables.emplace_back();
    const auto quantity = [this, &table](const YAML::Node& value) {
      const auto found = kQuantities.find(value.IsScalar() ? value.Scalar() : "");
      if (!found)
        return parser_.error(value.Mark(),
                             "quantity must be model_tflops, causal_tflops, hardware_tflops or iteration_from_layer");
      table.quantity = *found;
    };
    parser_.map(node, {{"matrix", parser_.text(table.matrix)},
                       {"title", parser_.text(table.title)},
                       {"source", parser_.text(table.source)},
                       {"quantity", quantity},
                       {"within", parser_.value(table.within, 1e-4, 1.0)},
                       {"part", parser_.text(table.part)},
                       {"speed", parser_.value(table.speed, 0.01, 1.0)},
                       {"fitted_to", parser_.text(table.fitted_to)},
                       {"fitted_figure", parser_.text(table.fitted_figure)},
                       {"unit", parser_.text(table.unit)},
                       {"layer_ms", parser_.value(table.layer_ms, 1e-6, 1e6)},
                       {"attention_forward_us", parser_.value(table.attention_forward_us, 1e-6, 1e6)},
                       {"attention_backward_us", parser_.value(table.attention_backward_us, 1e-6, 1e6)},
                       {"optimizer_bytes", parser_.value(table.optimizer_bytes, 1e-6, 1e3)},
                       {"loss_bytes", parser_.value(table.loss_bytes, 1e-6, 1e3)},
                       {"assumed", texts(table.assumed)},
                       {"rows", parser_.each([this, &table](const YAML::Node& row) { add_row(row, table); })}});
    check(node, table);
    check_fit(node, study);
    for (const PublishedRow& row : table.rows)
      if (!row.relative_to.empty() && !has_row(table, row.relative_to))
        parser_.error(node.Mark(), fmt::format("relative_to is {}, which is not a row", row.relative_to));
  }

  static bool has_row(const PublishedTable& table, const std::string& name) {
    return std::ranges::find(table.rows, name, &PublishedRow::name) != table.rows.end();
  }

  // Of the last table: a row of its own, or of one before with the same figure.
  void check_fit(const YAML::Node& node, const PublishedStudy& study) {
    const PublishedTable& last = study.tables.back();
    if (last.fitted_to.empty() != (last.speed == 1 && last.fitted_figure.empty()))
      parser_.error(node.Mark(), "a speed other than 1 is fitted: fitted_to must name its row");
    const auto is_fitted = [&](const PublishedTable& table) {
      return table.speed == last.speed && table.fitted_to == last.fitted_to && has_row(table, last.fitted_to);
    };
    if (!last.fitted_to.empty() && std::ranges::none_of(study.tables, is_fitted))
      parser_.error(node.Mark(), fmt::format("fitted_to is {}, which is not a row", last.fitted_to));
  }

  void check(const YAML::Node& node, const PublishedTable& table) {
    const bool is_from_layer = table.quantity == PublishedQuantity::iteration_from_layer;
    if (table.matrix.empty() || table.rows.empty()) parser_.error(node.Mark(), "a table needs matrix and rows");
    if ((table.layer_ms > 0) != is_from_layer || table.unit.empty() == is_from_layer)
      parser_.error(node.Mark(), "unit and layer_ms are required with iteration_from_layer, and only with it");
    if ((table.attention_forward_us > 0) != (table.attention_backward_us > 0))
      parser_.error(node.Mark(), "attention needs both a forward and a backward time");
    if (is_from_layer && table.speed != 1)
      parser_.error(node.Mark(), "iteration_from_layer computes its speed from the layer");
  }

  // {name: 1.7B, published: 408.8}
  void add_row(const YAML::Node& node, PublishedTable& table) {
    PublishedRow& row = table.rows.emplace_back();
    parser_.map(node, {{"name", parser_.text(row.name)},
                       {"model", parser_.text(row.cell)},
                       {"published", parser_.value(row.published, 1e-6, 1e6)},
                       {"relative_to", parser_.text(row.relative_to)}});
    if (row.cell.empty()) row.cell = row.name;
    if (row.name.empty() || row.published == 0) parser_.error(node.Mark(), "a row needs name and published");
  }

  StudyParser& parser_;
};

}  // namespace

std::string_view to_string(PublishedQuantity quantity) { return kQuantities[quantity]; }

PublishedStudy parse_published_study(const std::string& yaml, const std::string& where) {
  return parsed_study(
      yaml, where,
      PublishedStudy{
          .matrices = std::filesystem::path(where).parent_path() / "published", .tables = {}, .left_out = {}},
      [](StudyParser& parser, const YAML::Node& root, PublishedStudy& study) {
        PublishedReader(parser).read(root, study);
      });
}

}  // namespace underlap::bench
