// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "platform/json.hpp"
#include "research/studies/model_errors.hpp"
#include "research/studies/published/study.hpp"

namespace underlap::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSameFigure = 0.02;  // published figures that differ by less are not ordered

bool is_throughput(const ModelledTable& table) {
  return table.table.quantity != PublishedQuantity::iteration_from_layer;
}

// A row that others are multiples of has no error of its own.
bool is_unit(const ModelledRow& row) { return row.row.relative_to == row.row.name; }

bool is_of_ratios(const ModelledTable& table) { return std::ranges::any_of(table.rows, is_unit); }

// A fitted figure is not a prediction.
std::string error_text(const ModelledRow& row) {
  if (is_unit(row)) return "-";
  return row.is_fit ? "fitted" : signed_percent(row.error());
}

bool has_fit(const ModelledTable& table) { return std::ranges::any_of(table.rows, &ModelledRow::is_fit); }

bool names_choices(const ModelledTable& table) {
  return std::ranges::any_of(table.rows, [](const ModelledRow& row) { return !row.chosen.empty(); });
}

Table throughput_table(const ModelledTable& table) {
  Table out{{{"model", Align::left}}, {}};
  if (names_choices(table)) out.columns.push_back({"chosen", Align::left});
  for (const char* title : {"step s, modelled", "TF/s, published", "TF/s, modelled", "ratio", "error"})
    out.columns.push_back({title});
  for (const ModelledRow& row : table.rows) {
    std::vector<TableCell> cells{TableCell(row.row.name)};
    if (names_choices(table)) cells.emplace_back(row.chosen);
    for (const std::string& cell : {fmt::format("{:.3f}", row.step_s), fmt::format("{:.1f}", row.row.published),
                                    fmt::format("{:.1f}", row.modelled),
                                    fmt::format("{:.3f}", row.modelled / row.row.published), error_text(row)})
      cells.emplace_back(cell);
    out.rows.push_back(std::move(cells));
  }
  return out;
}

// Throughput by number of GPUs.
Table ratio_table(const ModelledTable& table) {
  Table out{{{"row", Align::left},
             {"relative to", Align::left},
             {"step s, modelled"},
             {"TF/s, published"},
             {"TF/s, modelled"},
             {"ratio, published"},
             {"ratio, modelled"},
             {"error"}},
            {}};
  for (const ModelledRow& row : table.rows)
    out.rows.push_back({row.row.name, is_unit(row) ? "-" : row.row.relative_to, fmt::format("{:.3f}", row.step_s),
                        fmt::format("{:.1f}", row.row.published), fmt::format("{:.1f}", row.modelled),
                        fmt::format("{:.3f}", row.scaled_published()), fmt::format("{:.3f}", row.scaled_modelled()),
                        error_text(row)});
  return out;
}

Table iteration_table(const ModelledTable& table) {
  Table out{{{"row", Align::left}, {"iteration s, published"}, {"iteration s, modelled"}, {"ratio"}, {"error"}}, {}};
  for (const ModelledRow& row : table.rows)
    out.rows.push_back({row.row.name, fmt::format("{:.2f}", row.row.published), fmt::format("{:.3f}", row.modelled),
                        fmt::format("{:.3f}", row.modelled / row.row.published), error_text(row)});
  return out;
}

Table rows_table(const ModelledTable& table) {
  if (is_of_ratios(table)) return ratio_table(table);
  return is_throughput(table) ? throughput_table(table) : iteration_table(table);
}

std::string verdict(bool is_reached) { return is_reached ? "reached" : "**not reached**"; }

std::string findings(const ModelledTable& table) {
  const bool is_near = table.largest_error() <= table.table.within;
  std::string text =
      fmt::format("- Largest error{}{} {}; the target, {}, is {}.\n", is_of_ratios(table) ? " of a ratio" : "",
                  has_fit(table) ? " of the rows not used for fitting" : "", percent(table.largest_error()),
                  percent(table.table.within), verdict(is_near));
  if (is_throughput(table) && !is_of_ratios(table))
    text += fmt::format(
        "- Order: of the pairs of rows whose published figures differ by more than {}, {} are in the wrong order; the "
        "right order is {}.\n",
        percent(kSameFigure), table.misordered_pairs(kSameFigure), verdict(table.misordered_pairs(kSameFigure) == 0));
  return text;
}

// Statements of a source or another table.
std::vector<std::string> given_texts(const ModelledTable& modelled) {
  const PublishedTable& table = modelled.table;
  std::vector<std::string> texts;
  if (table.attention_forward_us > 0)
    texts.push_back(fmt::format("unfused attention, {:g} us forward and {:g} us backward per head of a sequence",
                                table.attention_forward_us, table.attention_backward_us));
  if (table.optimizer_bytes > 0)
    texts.push_back(
        fmt::format("an unfused optimizer, which moves {:g} bytes more for each parameter of a rank than a fused one",
                    table.optimizer_bytes));
  if (table.loss_bytes > 0)
    texts.push_back(
        fmt::format("an unfused loss in fp32, which moves {:g} bytes more for each logit", table.loss_bytes));
  if (table.quantity == PublishedQuantity::iteration_from_layer)
    texts.push_back(
        fmt::format("a layer of {}, {:g} ms, as GEMMs that sustain {:.3f} of the described peak in all models",
                    table.unit, table.layer_ms, modelled.speed));
  return texts;
}

std::string figures_text(const ModelledTable& modelled) {
  const PublishedTable& table = modelled.table;
  std::string text;
  for (const std::string& figure : given_texts(modelled)) text += fmt::format("Given: {}. ", figure);
  if (table.fitted_to.empty()) return text + "Fitted: nothing.";
  const std::string figure = table.fitted_figure.empty()
                                 ? fmt::format("GEMMs{} sustain {:.3f} of the peak in the hardware description",
                                               table.attention_forward_us > 0 ? "" : " and attention", table.speed)
                                 : table.fitted_figure + " of the description";
  if (has_fit(modelled)) return text + fmt::format("Fitted: one figure, to row {} only: {}.", table.fitted_to, figure);
  return text + fmt::format("Given: the figure fitted to row {} of a table above, {}. Fitted here: nothing.",
                            table.fitted_to, figure);
}

std::string list(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += fmt::format("- {}\n", sentence);
  return text;
}

std::string section(const ModelledTable& table) {
  const PublishedTable& t = table.table;
  return fmt::format(
      "## {}\n\nSource: {}. Times: {}. Matrix: `bench/matrices/published/{}.yaml`{}, which can also be run directly. "
      "{}\n\n{}\n{}\nAssumptions and deviations:\n\n{}\n",
      t.title, t.source, table.link, t.matrix, t.part.empty() ? "" : ", " + t.part, figures_text(table),
      markdown(rows_table(table)), findings(table), list(t.assumed));
}

}  // namespace

Table published_table(const std::vector<ModelledTable>& tables) {
  Table out{{{"table", Align::left}, {"row", Align::left}, {"published"}, {"modelled"}, {"ratio"}, {"error"}}, {}};
  for (const ModelledTable& table : tables)
    for (const ModelledRow& row : table.rows)
      out.rows.push_back({table.table.title, row.row.name, fmt::format("{:.4g}", row.scaled_published()),
                          fmt::format("{:.4g}", row.scaled_modelled()), fmt::format("{:.3f}", 1 + row.error()),
                          error_text(row)});
  return out;
}

std::string published_json(const std::vector<ModelledTable>& tables) {
  Json document{{"schema", "underlap.published/1"}, {"tables", Json::array()}};
  for (const ModelledTable& table : tables) {
    Json rows = Json::array();
    for (const ModelledRow& row : table.rows)
      rows.push_back({{"name", row.row.name},
                      {"published", row.row.published},
                      {"chosen", row.chosen},
                      {"step_s", row.step_s},
                      {"modelled", row.modelled},
                      {"is_fit", row.is_fit},
                      {"relative_to", row.row.relative_to}});
    document["tables"].push_back({{"title", table.table.title},
                                  {"matrix", table.table.matrix},
                                  {"part", table.table.part},
                                  {"quantity", to_string(table.table.quantity)},
                                  {"link", table.link},
                                  {"within", table.table.within},
                                  {"speed", table.speed},
                                  {"unit", table.table.unit},
                                  {"layer_ms", table.table.layer_ms},
                                  {"attention_forward_us", table.table.attention_forward_us},
                                  {"attention_backward_us", table.table.attention_backward_us},
                                  {"optimizer_bytes", table.table.optimizer_bytes},
                                  {"loss_bytes", table.table.loss_bytes},
                                  {"fitted_to", table.table.fitted_to},
                                  {"largest_error", table.largest_error()},
                                  {"rows", rows}});
  }
  return json_text(document, 1) + "\n";
}

std::string published_markdown(const PublishedStudy& study, const std::vector<ModelledTable>& tables) {
  std::string text =
      "# Published figures compared with simulation\n\nPublished measurements, compared with simulations of the same "
      "configurations. Underlap measured nothing here. Command: `underlap-study published_figures "
      "bench/matrices/published.yaml -o results/published`.\n\n";
  for (const ModelledTable& table : tables) text += section(table);
  return text + "## Not compared\n\n" + list(study.left_out);
}

}  // namespace underlap::bench
