// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/drawing/row_plot.hpp"

#include <QBarSet>
#include <QHorizontalStackedBarSeries>
#include <QLineSeries>
#include <QValueAxis>

#include "viewer/charts/drawing/painting.hpp"

namespace underlap::viewer {
namespace {

constexpr double kEdge = 14;
constexpr double kGap = 10;             ///< between columns of text
constexpr double kWidestLabels = 0.36;  ///< of the chart; longer names are cut
constexpr double kLeastLabels = 0.14;   ///< which leave the plot its share first
constexpr double kLeastPlot = 0.32;
constexpr double kThickestBar = 22;
constexpr double kBarShare = 0.68;     ///< of a row
constexpr double kSliver = 1. / 1000;  ///< of the axis: the shortest bar, which must not vanish
constexpr double kAxisHeight = 44;
constexpr double kTitlesHeight = 16;

double thickness_of_bars(double row_height) { return std::min(kThickestBar, kBarShare * row_height); }

// The widths of the text columns left and right of the plot, each as wide as its longest text.
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
  Rows(RowPlot plot, Figure& figure)
      : plot_(std::move(plot)), columns_(columns_of(plot_)), theme_(figure.theme()), figure_(figure) {
    x_ = figure.add_value_axis(plot_.low, plot_.high, plot_.axis_title, plot_.least_tick);
    x_->setGridLineVisible(plot_.has_grid);
    y_ = new QValueAxis;
    y_->setReverse(true);
    y_->setVisible(false);
    figure.addAxis(y_, Qt::AlignLeft);
  }

  QMarginsF margins(double width) const { return {columns_.left(width), kTitlesHeight, columns_.right(), kAxisHeight}; }

  // Series of the rows that have room, and of no other: a file of SVG would show what lies beyond the plot.
  void show_series(const QRectF& area) {
    const std::size_t shown = num_shown(area.height());
    if (std::exchange(in_series_, shown) != shown) make_series(shown);
    const double height = height_of_row(area, shown);
    if (bars_ != nullptr) bars_->setBarWidth(thickness_of_bars(height) / height);
  }

  void paint_under(QPainter& painter, const QRectF& area) const { paint_rows(painter, area, plot_.paint_under); }

  void paint_over(QPainter& painter, const QRectF& area) const {
    const std::size_t shown = num_shown(area.height());
    const QRectF above(area.left(), area.top() - kTitlesHeight, area.width(), kTitlesHeight);
    paint_says(painter, plot_.says_titles, above, theme_.dim_text, kSmallPixels);
    for (std::size_t i = 0; i < shown; ++i) {
      const RowCanvas canvas = canvas_of(area, i, shown);
      if (plot_.rows[i].begins_group && i > 0) paint_separator(painter, canvas.row);
      paint_texts(painter, plot_.rows[i], canvas.row);
      paint_patterns(painter, canvas, i);
    }
    paint_rows(painter, area, plot_.paint_over);
    paint_rest(painter, area, plot_.rows.size() - shown);
    if (shown == 0) draw_text(painter, area, Qt::AlignCenter, plot_.when_empty, theme_.dim_text, kTitlePixels);
  }

 private:
  std::size_t num_shown(double height) const {
    // A hair of tolerance: the height that fitting_size() found must do.
    const auto room = static_cast<std::size_t>(height / plot_.least_row_height + 0.01);
    return std::clamp<std::size_t>(room, std::min<std::size_t>(1, plot_.rows.size()), plot_.rows.size());
  }

  static double height_of_row(const QRectF& area, std::size_t shown) {
    return area.height() / static_cast<double>(std::max<std::size_t>(shown, 1));
  }

  RowCanvas canvas_of(const QRectF& area, std::size_t row, std::size_t shown) const {
    const double height = height_of_row(area, shown);
    const QRectF strip(area.left(), area.top() + static_cast<double>(row) * height, area.width(), height);
    return {theme_, area, strip, plot_.low, plot_.high};
  }

  void make_series(std::size_t shown) {
    figure_.removeAllSeries();
    bars_ = nullptr;
    if (plot_.add_series) plot_.add_series(figure_, shown);
    if (!plot_.bars.empty()) add_bars(shown);
    if (figure_.series().isEmpty()) figure_.addSeries(new QLineSeries);  // an axis of no series has no range
    for (QAbstractSeries* series : figure_.series()) {
      series->attachAxis(x_);
      series->attachAxis(y_);
    }
    y_->setRange(-0.5, static_cast<double>(std::max<std::size_t>(shown, 1)) - 0.5);
  }

  // Qt stacks bars from 0 on, those on either side of it by themselves.
  void add_bars(std::size_t shown) {
    bars_ = new QHorizontalStackedBarSeries;
    for (const double side : {1.0, -1.0}) {
      if (side < 0 && plot_.low >= 0) continue;
      std::vector<double> ends(shown);
      for (const RowBars& bars : plot_.bars) stack(bars, side, ends);
    }
    figure_.addSeries(bars_);
  }

  // A bar that is not seen brings the next one to its place.
  void stack(const RowBars& bars, double side, std::vector<double>& ends) {
    auto *gap = new QBarSet(""), *bar = new QBarSet(bars.key.text);
    for (std::size_t row = 0; row < ends.size(); ++row) {
      const auto [first, last] = std::minmax({side * bars.spans[row].from, side * bars.spans[row].to});
      const double start = std::max(ends[row], first), length = last - start;
      gap->append(side * (start - ends[row]));
      bar->append(side * (length > 0 ? std::max(length, kSliver * (plot_.high - plot_.low)) : 0));
      ends[row] = start + std::abs(bar->at(bar->count() - 1));
    }
    gap->setBrush(Qt::NoBrush);
    bar->setBrush(bars.key.color);
    for (QBarSet* set : {gap, bar}) set->setPen(Qt::NoPen);
    bars_->append(QList{gap, bar});
  }

  void paint_patterns(QPainter& painter, const RowCanvas& canvas, std::size_t row) const {
    for (const auto& [key, spans] : plot_.bars) {
      const QRectF bar = canvas.bar(spans[row].from, spans[row].to);
      if (key.mark == LegendEntry::Mark::hatched) draw_hatching(painter, bar, key.stripe);
      if (key.mark == LegendEntry::Mark::dotted) draw_dots(painter, bar, key.stripe);
    }
  }

  void paint_rows(QPainter& painter, const QRectF& area, const RowPlot::PaintRow& paint) const {
    const std::size_t shown = paint ? num_shown(area.height()) : 0;
    for (std::size_t i = 0; i < shown; ++i) paint(painter, canvas_of(area, i, shown), i);
  }

  void paint_separator(QPainter& painter, const QRectF& strip) const {
    draw_line(painter, {kEdge, strip.top()}, {strip.right() + columns_.right() - kEdge, strip.top()}, theme_.grid);
  }

  // Texts in the columns right of the plot.
  void paint_says(QPainter& painter, const std::vector<QString>& texts, QRectF strip, const QColor& color,
                  int pixels) const {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      strip = {strip.right() + kGap, strip.top(), columns_.says[i], strip.height()};
      draw_text(painter, strip, Qt::AlignRight | Qt::AlignVCenter, texts[i], color, pixels);
    }
  }

  void paint_texts(QPainter& painter, const PlotRow& row, const QRectF& strip) const {
    const double sublabel_left = strip.left() - kGap - columns_.sublabel;
    const double label_right = columns_.sublabel > 0 ? sublabel_left - kGap : strip.left() - kGap;
    draw_text(painter, {kEdge, strip.top(), label_right - kEdge, strip.height()}, Qt::AlignLeft | Qt::AlignVCenter,
              row.label, theme_.text);
    draw_text(painter, {sublabel_left, strip.top(), columns_.sublabel, strip.height()},
              Qt::AlignLeft | Qt::AlignVCenter, row.sublabel, theme_.dim_text);
    paint_says(painter, row.says, strip, theme_.text, kTextPixels);
  }

  void paint_rest(QPainter& painter, const QRectF& area, std::size_t left_out) const {
    if (left_out == 0) return;
    const QString text =
        QString("%1 more %2%3 in a taller chart").arg(left_out).arg(plot_.what, left_out == 1 ? "" : "s");
    draw_sentence(painter, {kEdge, area.top() - kTitlesHeight, area.right() - kEdge, kTitlesHeight}, text, theme_.worse,
                  kSmallPixels);
  }

  RowPlot plot_;
  Columns columns_;
  const Theme& theme_;
  Figure& figure_;
  // The chart's.
  QValueAxis* x_ = nullptr;
  QValueAxis* y_ = nullptr;
  QHorizontalStackedBarSeries* bars_ = nullptr;
  std::size_t in_series_ = SIZE_MAX;
};

// Those that some row has, and their place in the legend.
void take_bars(std::vector<RowBars>& bars, std::vector<LegendEntry>& legend) {
  std::erase_if(bars, [](const RowBars& of) {
    return std::ranges::all_of(of.spans, [](const Span& span) { return span.from == span.to; });
  });
  for (const auto& [key, spans] : bars)
    if (std::ranges::find(legend, key.text, &LegendEntry::text) == legend.end()) legend.push_back(key);
}

}  // namespace

double RowCanvas::x(double value) const {
  const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
  return plot.left() + share * plot.width();
}

QRectF RowCanvas::bar(double from, double to) const {
  const double thickness = thickness_of_bars(row.height());
  const double left = x(std::min(from, to));
  return {left, row.center().y() - thickness / 2, x(std::max(from, to)) - left, thickness};
}

QChart* draw_rows(const ChartFigures& figures, const Theme& theme, std::vector<LegendEntry> legend, RowPlot plot) {
  take_bars(plot.bars, legend);
  auto figure = std::make_unique<Figure>(figures, theme, std::move(legend));
  const double least_height = static_cast<double>(plot.rows.size()) * plot.least_row_height;
  const auto rows = std::make_shared<Rows>(std::move(plot), *figure);  // all functions draw with it
  figure->set_plot([rows](double width) { return rows->margins(width); }, least_height);
  figure->paint_under([rows](QPainter& painter, const QRectF& area) { rows->paint_under(painter, area); });
  figure->paint_over([rows](QPainter& painter, const QRectF& area) { rows->paint_over(painter, area); });
  figure->when_resized([rows](const QRectF& area) { rows->show_series(area); });
  return figure.release();
}

}  // namespace underlap::viewer
