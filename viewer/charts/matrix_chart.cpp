// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/drawing/figure.hpp"
#include "viewer/charts/drawing/painting.hpp"

// The cells of a run as a heat map: a grid where the matrix has two axes, otherwise one row per cell. Color shows how
// overlap changed the step, only where the result is conclusive.
namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;
using analysis::FigureUnit;

enum Column : std::size_t { kStep, kRatio, kRatioLow, kRatioHigh, kExposed, kOverlap, kEfficiency };

constexpr std::size_t kMostColumns = 8;  ///< of a grid; texts need their room
constexpr double kEdge = 14;

std::vector<std::string> axes_of(const report::RunResults& run) {
  std::vector<std::string> axes;
  for (const report::CellResult& cell : run.cells)
    for (const auto& [axis, value] : cell.values) place_of(axes, axis);
  return axes;
}

FigureTable empty_table(const std::vector<std::string>& axes) {
  FigureTable table{{{"cell", "cell"}},
                    {{"step", "step"},
                     {"step/off", "step_ratio_to_off", FigureUnit::number},
                     {"low", "step_ratio_to_off_low", FigureUnit::number},
                     {"high", "step_ratio_to_off_high", FigureUnit::number},
                     {"exposed", "exposed"},
                     {"overlap", "overlap", FigureUnit::percent},
                     {"E", "efficiency", FigureUnit::number}},
                    {}};
  for (const std::string& axis : axes) table.names.push_back({axis, axis});
  return table;
}

using MaybeEstimate = std::optional<report::Estimate>;

std::optional<double> value_of(const MaybeEstimate& estimate, double unit = 1) {
  return estimate ? std::optional(unit * estimate->value) : std::nullopt;
}

std::optional<double> limit_of(const MaybeEstimate& estimate, double report::Interval::*limit) {
  return estimate && estimate->interval ? std::optional((*estimate->interval).*limit) : std::nullopt;
}

FigureRow row_of(const report::CellResult& cell, const report::CellSummary& summary,
                 const std::vector<std::string>& axes) {
  FigureRow row{{cell.name},
                {value_of(summary.step_ms, 1e6), value_of(summary.step_ratio_to_off),
                 limit_of(summary.step_ratio_to_off, &report::Interval::low),
                 limit_of(summary.step_ratio_to_off, &report::Interval::high), value_of(summary.exposed_ms, 1e6),
                 summary.overlap_pct, value_of(summary.efficiency)}};
  for (const std::string& axis : axes) {
    const auto found = std::ranges::find(cell.values, axis, [](const auto& value) { return value.first; });
    row.names.push_back(found == cell.values.end() ? "" : found->second);
  }
  return row;
}

ChartFigures figures(const ChartInput& input) {
  const std::vector<std::string> axes = axes_of(*input.run);
  ChartFigures of = headed("Cells of the matrix: step relative to the cell without overlap", input);
  of.table = empty_table(axes);
  for (std::size_t i = 0; i < input.run->cells.size(); ++i)
    of.table.rows.push_back(row_of(input.run->cells[i], input.summaries->at(i), axes));
  of.note =
      "step/off: step time / step time of the cell without overlap; below 1 is shorter. Colored if its interval "
      "excludes 1. E: share of the communication cost that overlap saves.";
  return of;
}

// The distance of a ratio from 1; 0 if the blocks are inconclusive.
double change_of_row(const FigureRow& row) {
  if (!row.figures[kRatio]) return 0;
  const auto &low = row.figures[kRatioLow], &high = row.figures[kRatioHigh];
  if (low && high && *low <= 1 && *high >= 1) return 0;
  return *row.figures[kRatio] - 1;
}

// Full color from 30 % on.
QColor ratio_color(const FigureRow& row, double, const Theme& theme) {
  const double change = change_of_row(row);
  if (change == 0) return theme.surface;
  const double strength = 0.15 + 0.6 * std::min(1.0, std::abs(change) / 0.3);
  return mixed(change < 0 ? theme.better : theme.worse, theme.background, strength);
}

QColor efficiency_color(const FigureRow& row, double, const Theme& theme) {
  const double efficiency = *row.figures[kEfficiency];
  const double strength = 0.7 * std::min(1.0, std::abs(efficiency));
  return mixed(efficiency > 0 ? theme.better : theme.worse, theme.surface, strength);
}

struct TextLine {
  QString text;
  bool is_bold = false;
};

struct Tile {
  QColor color;
  std::vector<TextLine> lines;
};

// Uses as many lines as the tile has room for. Remaining lines are appended to the second, which is short. A low tile
// has only the first line.
void paint_tile(QPainter& painter, const QRectF& tile, const QColor& color, std::vector<TextLine> lines) {
  constexpr double kLine = 15;
  painter.fillRect(tile.adjusted(1, 1, -1, -1), color);
  const auto room = static_cast<std::size_t>(std::max(1.0, (tile.height() - 2) / kLine));
  if (room == 1) lines.resize(1);
  while (lines.size() > room) {
    lines[1].text += ", " + lines.back().text;
    lines.pop_back();
  }
  const std::size_t shown = lines.size();
  double y = tile.center().y() - kLine * static_cast<double>(shown) / 2;
  for (std::size_t i = 0; i < shown; ++i, y += kLine)
    draw_text(painter, {tile.left() + 3, y, tile.width() - 6, kLine}, Qt::AlignCenter, lines[i].text,
              readable_on(color), lines[i].is_bold ? kTextPixels : kSmallPixels, lines[i].is_bold);
}

std::vector<TextLine> lines_of(const FigureRow& row) {
  std::vector<TextLine> lines;
  const auto step = row.figures[kStep], ratio = row.figures[kRatio];
  const QString step_text = step ? number_text(*step / 1e6) + " ms" : "no step";
  if (ratio) lines.push_back({QString::number(*ratio, 'f', 3), true});
  lines.push_back({step_text, !ratio});
  if (const auto exposed = row.figures[kExposed]; exposed && *exposed > 0)
    lines.push_back({number_text(*exposed / 1e6) + " ms exposed"});
  if (const auto efficiency = row.figures[kEfficiency]) lines.push_back({QString("E %1").arg(*efficiency, 0, 'f', 2)});
  return lines;
}

// Values in the order in which the matrix has them.
std::vector<std::string> values_of(const FigureTable& table, std::size_t name) {
  std::vector<std::string> values;
  for (const FigureRow& row : table.rows) place_of(values, row.names[name]);
  return values;
}

constexpr std::size_t kRowAxis = 1, kColumnAxis = 2;  ///< in a row's names, after the cell's

// A grid has a place of its own for every cell.
bool is_grid(const FigureTable& table) {
  if (table.names.size() != 3 || values_of(table, kColumnAxis).size() > kMostColumns) return false;
  std::set<std::pair<std::string, std::string>> places;
  for (const FigureRow& row : table.rows) {
    if (row.names[kRowAxis].empty() || row.names[kColumnAxis].empty()) return false;
    places.emplace(row.names[kRowAxis], row.names[kColumnAxis]);
  }
  return places.size() == table.rows.size() && places.size() > 1;
}

/// Tiles in rows and columns, with the names of either.
struct Tiles {
  QString rows_title = {};
  QString columns_title = {};
  std::vector<QString> rows;
  std::vector<QString> columns;
  std::vector<std::vector<Tile>> tiles;  ///< of each row; one without a color is a gap
  double least_height = 17;              ///< of a row, at which its tiles show all
  double most_height = 60;
};

std::vector<QString> texts_of(const std::vector<std::string>& values) {
  std::vector<QString> texts;
  for (const std::string& value : values) texts.push_back(QString::fromStdString(value));
  return texts;
}

Tiles grid_of(const FigureTable& table, const Theme& theme) {
  std::vector<std::string> rows = values_of(table, kRowAxis), columns = values_of(table, kColumnAxis);
  Tiles grid{.rows_title = QString::fromStdString(table.names[kRowAxis].title),
             .columns_title = QString::fromStdString(table.names[kColumnAxis].title),
             .rows = texts_of(rows),
             .columns = texts_of(columns),
             .tiles = std::vector(rows.size(), std::vector<Tile>(columns.size())),
             .least_height = 62,
             .most_height = HUGE_VAL};
  for (const FigureRow& row : table.rows)
    grid.tiles[place_of(rows, row.names[kRowAxis])][place_of(columns, row.names[kColumnAxis])] = {
        ratio_color(row, 0, theme), lines_of(row)};
  return grid;
}

QColor plain_color(const FigureRow&, double, const Theme& theme) { return theme.surface; }

QColor exposed_color(const FigureRow& row, double largest, const Theme& theme) {
  return mixed(theme.accent, theme.surface, largest > 0 ? 0.7 * *row.figures[kExposed] / largest : 0);
}

QString ms_text(double ns) { return number_text(ns / 1e6); }
template <int kDigits>
QString fixed_text(double value) {
  return QString::number(value, 'f', kDigits);
}

// A column of a matrix that is no grid: each has a scale of colors of its own.
struct MatrixColumn {
  const char* title;
  Column figure;
  QString (*text)(double figure);
  QColor (*color)(const FigureRow&, double largest_exposed, const Theme&);
};
constexpr MatrixColumn kColumns[] = {{"step ms", kStep, ms_text, plain_color},
                                     {"step/off", kRatio, fixed_text<3>, ratio_color},
                                     {"exposed ms", kExposed, ms_text, exposed_color},
                                     {"hidden %", kOverlap, fixed_text<1>, plain_color},
                                     {"E", kEfficiency, fixed_text<2>, efficiency_color}};

Tiles cell_rows_of(const FigureTable& table, const Theme& theme) {
  Tiles tiles;
  double largest_exposed = 0;
  for (const FigureRow& row : table.rows)
    largest_exposed = std::max(largest_exposed, row.figures[kExposed].value_or(0));
  for (const MatrixColumn& column : kColumns) tiles.columns.emplace_back(column.title);
  for (const FigureRow& row : table.rows) {
    tiles.rows.push_back(QString::fromStdString(row.names.front()));
    std::vector<Tile>& of_row = tiles.tiles.emplace_back();
    for (const auto& [title, column, text, color] : kColumns)
      if (const auto figure = row.figures[column])
        of_row.push_back({color(row, largest_exposed, theme), {{text(*figure)}}});
      else
        of_row.push_back({theme.background, {{"-"}}});
  }
  return tiles;
}

void paint(QPainter& painter, const QRectF& plot, const Tiles& of, const Theme& theme) {
  constexpr double kLeastHeight = 17;
  const auto room = static_cast<std::size_t>(plot.height() / kLeastHeight + 0.01);
  const std::size_t shown = std::min(of.rows.size(), std::max<std::size_t>(room, 1));
  const double height = std::min(of.most_height, plot.height() / static_cast<double>(std::max<std::size_t>(shown, 1)));
  const double width = plot.width() / static_cast<double>(of.columns.size()), label = plot.left() - 8 - kEdge;
  draw_text(painter, {kEdge, plot.top() - 18, label, 16}, Qt::AlignLeft | Qt::AlignVCenter, of.rows_title,
            theme.dim_text, kSmallPixels);
  draw_text(painter, {plot.left(), plot.top() - 35, plot.width(), 16}, Qt::AlignCenter, of.columns_title,
            theme.dim_text, kSmallPixels);
  for (std::size_t column = 0; column < of.columns.size(); ++column)
    draw_text(painter, {plot.left() + width * static_cast<double>(column) + 3, plot.top() - 18, width - 6, 16},
              Qt::AlignCenter, of.columns[column], theme.text);
  for (std::size_t row = 0; row < shown; ++row) {
    QRectF tile(plot.left(), plot.top() + height * static_cast<double>(row), width, height);
    draw_text(painter, {kEdge, tile.top(), label, height}, Qt::AlignLeft | Qt::AlignVCenter, of.rows[row], theme.text);
    for (const auto& [color, lines] : of.tiles[row]) {
      if (color.isValid()) paint_tile(painter, tile, color, lines);
      tile.translate(width, 0);
    }
  }
  if (shown < of.rows.size())
    draw_text(painter, {kEdge, plot.bottom() + 2, plot.right() - kEdge, 16}, Qt::AlignLeft | Qt::AlignVCenter,
              QString("%1 more in a taller chart").arg(of.rows.size() - shown), theme.worse, kSmallPixels);
}

QChart* draw_matrix(const ChartFigures& of, const Theme& theme) {
  using Mark = LegendEntry::Mark;
  auto figure = std::make_unique<Figure>(
      of, theme,
      std::vector<LegendEntry>{{Mark::box, mixed(theme.better, theme.background, 0.75), "30 % shorter or more"},
                               {Mark::box, mixed(theme.worse, theme.background, 0.75), "30 % longer or more"},
                               {Mark::box, theme.surface, "inconclusive, or no cell to compare with"}});
  const Tiles tiles = is_grid(of.table) ? grid_of(of.table, theme) : cell_rows_of(of.table, theme);
  double label = text_width(tiles.rows_title, kSmallPixels);
  for (const QString& row : tiles.rows) label = std::max(label, text_width(row, kTextPixels));
  const double above = tiles.columns_title.isEmpty() ? 20 : 36;
  figure->set_plot([=](double width) { return QMarginsF(kEdge + std::min(label, 0.4 * width) + 8, above, kEdge, 18); },
                   tiles.least_height * static_cast<double>(tiles.rows.size()));
  figure->paint_over([tiles, &theme](QPainter& painter, const QRectF& plot) { paint(painter, plot, tiles, theme); });
  return figure.release();
}

}  // namespace

ChartKind matrix_chart() {
  return {.name = "matrix",
          .title = "Matrix as a heat map",
          .needs = {ChartSource::run},
          .figures = figures,
          .draw = draw_matrix};
}

}  // namespace underlap::viewer
