// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/drawing/figure.hpp"

#include <QAbstractAxis>
#include <QAreaSeries>
#include <QFontMetricsF>
#include <QGraphicsItem>
#include <QGraphicsLayout>
#include <QGraphicsSceneResizeEvent>
#include <QLegend>
#include <QLineSeries>
#include <QLogValueAxis>
#include <QValueAxis>

#include "viewer/charts/drawing/painting.hpp"

namespace underlap::viewer {
namespace {

constexpr double kEdge = 14;  ///< around the whole
constexpr double kTitleHeight = 24;
constexpr double kSubtitleHeight = 18;
constexpr double kLegendLine = 20;
constexpr double kSwatch = 20;
constexpr double kSwatchGap = 6;
constexpr double kEntryGap = 18;
constexpr double kHeadingGap = 6;  ///< between the heading and the content above the plot
// Qt draws grid and axes at 2 and 3, series from 4 on.
constexpr double kBelowSeries = 2.5;
constexpr double kAboveAll = 100;
constexpr double kTickRoom = 58;    ///< for a label of an axis
constexpr double kMostWidth = 500;  ///< of a plot whose width is not known yet

double width_of(const LegendEntry& entry) { return kSwatch + kSwatchGap + text_width(entry.text, kTextPixels); }

// The position of each entry, from the legend's top left; the last one determines the number of lines.
std::vector<QPointF> places_of(const std::vector<LegendEntry>& legend, double width) {
  std::vector<QPointF> places;
  double x = 0, y = 0;
  for (const LegendEntry& entry : legend) {
    if (x > 0 && x + width_of(entry) > width) {
      x = 0;
      y += kLegendLine;
    }
    places.emplace_back(x, y);
    x += width_of(entry) + kEntryGap;
  }
  return places;
}

double legend_height(const std::vector<LegendEntry>& legend, double width) {
  return legend.empty() ? 0 : places_of(legend, width).back().y() + kLegendLine;
}

void draw_shape(QPainter& painter, const QColor& color, const QPolygonF& shape, const QPointF& at) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  painter.drawPolygon(shape.translated(at));
}

const QPolygonF kTriangle({{0, -5}, {-5, 4}, {5, 4}});
const QPolygonF kDiamond({{0, -5.5}, {-5.5, 0}, {0, 5.5}, {5.5, 0}});

void draw_swatch(QPainter& painter, const QRectF& box, const LegendEntry& entry, const QColor& background) {
  using Mark = LegendEntry::Mark;
  const QPointF middle = box.center();
  switch (entry.mark) {
    case Mark::box: return painter.fillRect(box, entry.color);
    case Mark::hatched: painter.fillRect(box, entry.color); return draw_hatching(painter, box, entry.stripe);
    case Mark::dotted: painter.fillRect(box, entry.color); return draw_dots(painter, box, entry.stripe);
    case Mark::line: return draw_line(painter, {box.left(), middle.y()}, {box.right(), middle.y()}, entry.color, 2.5);
    case Mark::thin: return draw_line(painter, {box.left(), middle.y()}, {box.right(), middle.y()}, entry.color, 0.8);
    case Mark::dashed:
      painter.setPen(QPen(entry.color, 1.5, Qt::DashLine, Qt::FlatCap));
      return painter.drawLine(QPointF(box.left(), middle.y()), QPointF(box.right(), middle.y()));
    case Mark::dot:
    case Mark::ring:
      painter.setPen(QPen(entry.color, 1.8));
      painter.setBrush(entry.mark == Mark::dot ? entry.color : background);
      return painter.drawEllipse(middle, 4, 4);
    case Mark::square: return painter.fillRect(QRectF(middle.x() - 4, middle.y() - 4, 8, 8), entry.color);
    case Mark::diamond: return draw_shape(painter, entry.color, kDiamond, middle);
    case Mark::triangle: return draw_shape(painter, entry.color, kTriangle, middle);
    case Mark::interval:
      draw_line(painter, {box.left(), middle.y()}, {box.right(), middle.y()}, entry.color, 1.5);
      for (const double x : {box.left(), box.right()})
        draw_line(painter, {x, middle.y() - 4}, {x, middle.y() + 4}, entry.color, 1.5);
      return;
  }
}

// Without what Qt puts around a plot.
void make_bare(QChart& chart) {
  chart.setAnimationOptions(QChart::NoAnimation);
  chart.setBackgroundBrush(Qt::NoBrush);
  chart.setBackgroundPen(Qt::NoPen);
  chart.setBackgroundRoundness(0);
  chart.legend()->hide();
  chart.layout()->setContentsMargins(0, 0, 0, 0);  // otherwise a frame of the widget below shows around it
}

// Qt lays a chart out from the outside, and setPlotArea() leaves the axes where they were: so the margins are those
// that bring the plot where it is to be.
void place_plot(QChart& chart, const QRectF& plot) {
  chart.setMargins(QMargins(0, 0, 0, 0));
  chart.layout()->activate();
  const QRectF free = chart.plotArea();
  const auto whole = [](double distance) { return std::max(0, static_cast<int>(std::lround(distance))); };
  chart.setMargins({whole(plot.left() - free.left()), whole(plot.top() - free.top()),
                    whole(free.right() - plot.right()), whole(free.bottom() - plot.bottom())});
  chart.layout()->activate();
}

}  // namespace

// What is drawn by ourselves, above or below Qt's series.
class Figure::Layer : public QGraphicsItem {
 public:
  using Painting = void (Figure::*)(QPainter&) const;

  Layer(Figure& figure, double z, Painting painting) : QGraphicsItem(&figure), figure_(figure), painting_(painting) {
    setZValue(z);
  }
  QRectF boundingRect() const override { return {{0, 0}, size_}; }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) override { (figure_.*painting_)(*painter); }
  void resize(const QSizeF& size) {
    prepareGeometryChange();
    size_ = size;
  }

 private:
  Figure& figure_;
  Painting painting_;
  QSizeF size_;
};

Figure::Figure(const ChartFigures& figures, const Theme& theme, std::vector<LegendEntry> legend)
    : theme_(theme),
      title_(QString::fromStdString(figures.title)),
      subtitle_(QString::fromStdString(figures.subtitle)),
      note_(QString::fromStdString(figures.note)),
      legend_(std::move(legend)),
      margins_([](double) { return QMarginsF(60, 0, 20, 50); }),
      below_(new Layer(*this, kBelowSeries, &Figure::paint_below)),
      above_(new Layer(*this, kAboveAll, &Figure::paint_above)) {
  make_bare(*this);
  setBackgroundBrush(theme.background);
}

void Figure::set_plot(Margins margins, double least_height) {
  margins_ = std::move(margins);
  least_plot_height_ = least_height;
}

QValueAxis* Figure::add_value_axis(double low, double high, const QString& title, double least_tick) {
  least_tick_ = least_tick;
  axis_ = new QValueAxis;
  axis_->setRange(low, high);
  axis_->setTickType(QValueAxis::TicksDynamic);
  axis_->setTickAnchor(0);
  axis_->setTitleText(title);
  dress(*axis_);
  set_ticks(kMostWidth);
  addAxis(axis_, Qt::AlignBottom);
  return axis_;
}

void Figure::add_log_axis(QChart& chart, Qt::Alignment side, const Range& range, const QString& title) const {
  constexpr double kFewDecades = 2.5;  // which have too few powers of ten
  auto* axis = new QLogValueAxis;
  axis->setBase(std::log10(range.high / range.low) < kFewDecades ? 2 : 10);
  axis->setRange(range.low, range.high);
  axis->setLabelFormat("%g");
  axis->setTitleText(title);
  add_axis(chart, side, axis);
}

void Figure::add_axis(QChart& chart, Qt::Alignment side, QAbstractAxis* axis) const {
  dress(*axis);
  chart.addAxis(axis, side);
  for (QAbstractSeries* series : chart.series()) series->attachAxis(axis);
}

QChart& Figure::add_plot(double share) {
  plots_.push_back({new QChart(this), share});
  make_bare(*plots_.back().chart);
  return *plots_.back().chart;
}

void Figure::set_ticks(double width) const {
  const double distance =
      std::max(least_tick_, tick_distance(axis_->min(), axis_->max(), static_cast<int>(width / kTickRoom)));
  axis_->setTickInterval(distance);
  axis_->setLabelFormat(QString("%.%1f").arg(std::max(0, static_cast<int>(std::ceil(-std::log10(distance) - 1e-9)))));
}

void Figure::dress(QAbstractAxis& axis) const {
  axis.setLabelsFont(chart_font(kSmallPixels));
  axis.setTitleFont(chart_font(kSmallPixels));
  axis.setLabelsBrush(theme_.dim_text);
  axis.setTitleBrush(theme_.dim_text);
  axis.setGridLinePen(QPen(theme_.grid, 1));
  axis.setLinePen(QPen(theme_.grid, 1));
}

double Figure::heading_height(double width) const {
  return kEdge / 2 + kTitleHeight + kSubtitleHeight + 4 + legend_height(legend_, width - 2 * kEdge) + kHeadingGap;
}

double Figure::note_height(double width) const {
  if (note_.isEmpty()) return kEdge / 2;
  const QRectF wrapped = QFontMetricsF(chart_font(kSmallPixels))
                             .boundingRect(QRectF(0, 0, width - 2 * kEdge, 1000), Qt::TextWordWrap, note_);
  return std::ceil(wrapped.height()) + kEdge / 2;
}

void Figure::resizeEvent(QGraphicsSceneResizeEvent* event) {
  QChart::resizeEvent(event);
  const QSizeF size = event->newSize();
  const QMarginsF margins = margins_(size.width());
  const double above = heading_height(size.width()) + margins.top();
  const double below = note_height(size.width()) + margins.bottom();
  // Room for a plot is left however small the whole is.
  const QRectF plot(margins.left(), above, std::max(20.0, size.width() - margins.left() - margins.right()),
                    std::max(20.0, size.height() - above - below));
  place_plots(plot);
  setPreferredHeight(above + least_plot_height_ + below + 2);  // margins are whole numbers
  if (when_resized_) when_resized_(plotArea());
  for (Layer* layer : {below_, above_}) layer->resize(size);
}

void Figure::place_plots(const QRectF& area) {
  if (axis_ != nullptr) set_ticks(area.width());
  place_plot(*this, area);
  double shares = 0, top = area.top();
  for (const Plot& plot : plots_) shares += plot.share;
  for (const auto& [plot, share] : plots_) {
    const double height = share / shares * (area.height() - kPlotGap * static_cast<double>(plots_.size() - 1));
    plot->setGeometry({{0, 0}, size()});
    place_plot(*plot, {area.left(), top, area.width(), std::max(1.0, height)});
    top += height + kPlotGap;
  }
}

void Figure::paint_below(QPainter& painter) const {
  painter.setRenderHint(QPainter::Antialiasing);
  if (paint_under_) paint_under_(painter, plotArea());
}

void Figure::paint_above(QPainter& painter) const {
  painter.setRenderHint(QPainter::Antialiasing);
  paint_heading(painter);
  if (paint_over_) paint_over_(painter, plotArea());
  paint_note(painter);
}

void Figure::paint_heading(QPainter& painter) const {
  const double width = size().width() - 2 * kEdge;
  draw_sentence(painter, {kEdge, kEdge / 2, width, kTitleHeight}, title_, theme_.text, kTitlePixels, true);
  draw_sentence(painter, {kEdge, kEdge / 2 + kTitleHeight, width, kSubtitleHeight}, subtitle_, theme_.dim_text);
  const QPointF origin(kEdge, kEdge / 2 + kTitleHeight + kSubtitleHeight + 4);
  const std::vector<QPointF> places = places_of(legend_, width);
  for (std::size_t i = 0; i < legend_.size(); ++i) {
    const QPointF at = origin + places[i];
    draw_swatch(painter, {at.x(), at.y() + 4, kSwatch, 12}, legend_[i], theme_.background);
    draw_text(painter, {at.x() + kSwatch + kSwatchGap, at.y(), width - kSwatch, kLegendLine},
              Qt::AlignLeft | Qt::AlignVCenter, legend_[i].text, theme_.text);
  }
}

void Figure::paint_note(QPainter& painter) const {
  if (note_.isEmpty()) return;
  const double height = note_height(size().width());
  painter.setFont(chart_font(kSmallPixels));
  painter.setPen(theme_.dim_text);
  painter.drawText(QRectF(kEdge, size().height() - height, size().width() - 2 * kEdge, height),
                   Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, note_);
}

double tick_distance(double low, double high, int most) {
  const double least = (high - low) / std::max(1, most);
  if (!(least > 0) || !std::isfinite(least)) return 1;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::size_t place_of(std::vector<std::string>& known, const std::string& name) {
  const auto found = std::ranges::find(known, name);
  const auto place = static_cast<std::size_t>(found - known.begin());
  if (found == known.end()) known.push_back(name);
  return place;
}

PointShape point_shape(std::size_t index) {
  using Mark = LegendEntry::Mark;
  constexpr std::array kShapes{PointShape{QScatterSeries::MarkerShapeCircle, Mark::dot},
                               PointShape{QScatterSeries::MarkerShapeRectangle, Mark::square},
                               PointShape{QScatterSeries::MarkerShapeRotatedRectangle, Mark::diamond},
                               PointShape{QScatterSeries::MarkerShapeTriangle, Mark::triangle}};
  return kShapes.at(index % kShapes.size());
}

void add_line(QChart& chart, const QList<QPointF>& points, const QPen& pen, const QString& name) {
  if (points.isEmpty()) return;
  auto* line = new QLineSeries;
  line->setName(name);
  line->setPen(pen);
  line->append(points);
  chart.addSeries(line);
}

void add_marks(QChart& chart, const QList<QPointF>& points, const MarkStyle& style) {
  if (points.isEmpty()) return;
  auto* marks = new QScatterSeries;
  marks->setMarkerShape(style.shape);
  marks->setMarkerSize(style.size);
  marks->setColor(style.inner);
  marks->setPen(style.border == style.inner ? Qt::NoPen : QPen(style.border, 1.8));
  marks->append(points);
  chart.addSeries(marks);
}

void add_band(QChart& chart, const QPointF& corner, const QPointF& opposite, const QColor& color) {
  auto* area = new QAreaSeries;
  const auto edge = [&](double y) {
    auto* line = new QLineSeries(area);
    line->append({{corner.x(), y}, {opposite.x(), y}});
    return line;
  };
  area->setUpperSeries(edge(corner.y()));
  area->setLowerSeries(edge(opposite.y()));
  area->setBrush(color);
  area->setPen(Qt::NoPen);
  chart.addSeries(area);
}

}  // namespace underlap::viewer
