// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/drawing/row_plot.hpp"

#include <QPainter>
#include <QValueAxis>
#include <algorithm>
#include <memory>
#include <utility>

#include "viewer/charts/drawing/painting.hpp"

namespace underlap::viewer {
namespace {

constexpr double kEdge = 14;
constexpr double kGap = 10;             ///< between columns of text
constexpr double kWidestLabels = 0.36;  ///< of the chart; longer names are cut
constexpr double kLeastLabels = 0.14;   ///< which leave the plot its share first
constexpr double kLeastPlot = 0.32;
constexpr double kThickestBar = 22;
constexpr double kAxisHeight = 44;
constexpr double kTitlesHeight = 16;

// Columns of text beside the plot: their widths, as wide as their longest text.
struct Columns {
  double label = 0;
  double sublabel = 0;
  std::vector<double> says;

  double left(double width) const {
    const double beside = kEdge + (sublabel > 0 ? kGap + sublabel : 0) + kGap;
    const double room = (1 - kLeastPlot) * width - right() - beside;
    return beside + std::min(label, std::clamp(room, kLeastLabels * width, kWidestLabels * width));
  }
  double right() const {
    double sum = kEdge;
    for (const double column : says) sum += kGap + column;
    return sum;
  }
};

Columns columns_of(const RowPlot& plot) {
  Columns columns;
  for (const QString& title : plot.says_titles) columns.says.push_back(text_width(title, kSmallPixels));
  for (const PlotRow& row : plot.rows) {
    columns.label = std::max(columns.label, text_width(row.label, kTextPixels));
    columns.sublabel = std::max(columns.sublabel, text_width(row.sublabel, kTextPixels));
    for (std::size_t i = 0; i < row.says.size(); ++i)
      columns.says.at(i) = std::max(columns.says.at(i), text_width(row.says[i], kTextPixels));
  }
  return columns;
}

class Rows {
 public:
  Rows(RowPlot plot, const Theme& theme) : plot_(std::move(plot)), columns_(columns_of(plot_)), theme_(theme) {}

  QMarginsF margins(double width) const { return {columns_.left(width), kTitlesHeight, columns_.right(), kAxisHeight}; }

  void paint(QPainter& painter, const QRectF& area) const {
    const std::size_t shown = num_shown(area.height());
    const double height = area.height() / static_cast<double>(std::max<std::size_t>(shown, 1));
    paint_titles(painter, area);
    for (std::size_t i = 0; i < shown; ++i) {
      const QRectF strip(area.left(), area.top() + static_cast<double>(i) * height, area.width(), height);
      if (plot_.rows[i].begins_group && i > 0) paint_separator(painter, strip);
      paint_texts(painter, plot_.rows[i], strip);
      plot_.paint_row(painter, {theme_, area, strip, plot_.low, plot_.high}, i);
    }
    paint_rest(painter, area, plot_.rows.size() - shown);
    if (shown == 0) draw_text(painter, area, Qt::AlignCenter, plot_.when_empty, theme_.dim_text, kTitlePixels);
  }

 private:
  std::size_t num_shown(double height) const {
    // A hair of tolerance: the height that fitting_size() found must do.
    const auto room = static_cast<std::size_t>(height / plot_.least_row_height + 0.01);
    return std::clamp<std::size_t>(room, std::min<std::size_t>(1, plot_.rows.size()), plot_.rows.size());
  }

  void paint_separator(QPainter& painter, const QRectF& strip) const {
    draw_line(painter, {kEdge, strip.top()}, {strip.right() + columns_.right() - kEdge, strip.top()}, theme_.grid);
  }

  void paint_titles(QPainter& painter, const QRectF& area) const {
    double x = area.right();
    for (std::size_t i = 0; i < plot_.says_titles.size(); ++i) {
      draw_text(painter, {x + kGap, area.top() - kTitlesHeight, columns_.says[i], kTitlesHeight},
                Qt::AlignRight | Qt::AlignVCenter, plot_.says_titles[i], theme_.dim_text, kSmallPixels);
      x += kGap + columns_.says[i];
    }
  }

  void paint_texts(QPainter& painter, const PlotRow& row, const QRectF& strip) const {
    const double sublabel_left = strip.left() - kGap - columns_.sublabel;
    const double label_right = columns_.sublabel > 0 ? sublabel_left - kGap : strip.left() - kGap;
    draw_text(painter, {kEdge, strip.top(), label_right - kEdge, strip.height()}, Qt::AlignLeft | Qt::AlignVCenter,
              row.label, theme_.text);
    draw_text(painter, {sublabel_left, strip.top(), columns_.sublabel, strip.height()},
              Qt::AlignLeft | Qt::AlignVCenter, row.sublabel, theme_.dim_text);
    double x = strip.right();
    for (std::size_t i = 0; i < row.says.size(); ++i) {
      draw_text(painter, {x + kGap, strip.top(), columns_.says[i], strip.height()}, Qt::AlignRight | Qt::AlignVCenter,
                row.says[i], theme_.text);
      x += kGap + columns_.says[i];
    }
  }

  void paint_rest(QPainter& painter, const QRectF& area, std::size_t left_out) const {
    if (left_out == 0) return;
    const QString text =
        QString("%1 more %2%3 in a higher chart").arg(left_out).arg(plot_.what, left_out == 1 ? "" : "s");
    draw_sentence(painter, {kEdge, area.top() - kTitlesHeight, area.right() - kEdge, kTitlesHeight}, text, theme_.worse,
                  kSmallPixels);
  }

  RowPlot plot_;
  Columns columns_;
  const Theme& theme_;
};

}  // namespace

double RowCanvas::x(double value) const {
  const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
  return plot.left() + share * plot.width();
}

QRectF RowCanvas::bar(double from, double to) const {
  const double thickness = std::min(kThickestBar, 0.68 * row.height());
  const double left = x(std::min(from, to));
  return {left, row.center().y() - thickness / 2, x(std::max(from, to)) - left, thickness};
}

QChart* draw_rows(const ChartFigures& figures, const Theme& theme, std::vector<LegendEntry> legend, RowPlot plot) {
  auto figure = std::make_unique<Figure>(figures, theme, std::move(legend));
  figure->add_value_axis(plot.low, plot.high, plot.axis_title, plot.least_tick)->setGridLineVisible(plot.has_grid);
  const double least_height = static_cast<double>(plot.rows.size()) * plot.least_row_height;
  const auto rows = std::make_shared<Rows>(std::move(plot), theme);  // both functions draw with it
  figure->set_plot([rows](double width) { return rows->margins(width); }, least_height);
  figure->paint_over([rows](QPainter& painter, const QRectF& area) { rows->paint(painter, area); });
  return figure.release();
}

}  // namespace underlap::viewer
