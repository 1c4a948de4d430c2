// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "profiler/analysis/details/trace_details.hpp"
#include "viewer/charts/drawing/figure.hpp"
#include "viewer/charts/drawing/painting.hpp"

// Bus bandwidth by message size, as nccl-tests defines it: whether messages are large enough for the link, and what
// waiting for peers costs. A color for each collective and group size.
namespace underlap::viewer {
namespace {

using analysis::FigureRow;
using analysis::FigureTable;
using analysis::FigureUnit;

enum Name : std::size_t { kCollective, kRanks };
enum Column : std::size_t { kBytes, kCount, kBusbw, kTransferBusbw };

FigureTable table_of(const analysis::BandwidthReport& report) {
  FigureTable table{{{"collective", "collective"}, {"ranks", "ranks"}},
                    {{"median MB", "median", FigureUnit::megabytes},
                     {"count", "count", FigureUnit::number},
                     {"busbw GB/s", "busbw_gb_per_s", FigureUnit::number},
                     {"transfer only", "transfer_busbw_gb_per_s", FigureUnit::number}},
                    {}};
  for (const analysis::BandwidthRow& row : report.rows)
    table.rows.push_back({{std::string(to_string(row.collective)), std::to_string(row.num_ranks)},
                          {row.median_bytes, static_cast<double>(row.count), row.whole.busbw_gb_per_s,
                           row.transfer ? std::optional(row.transfer->busbw_gb_per_s) : std::nullopt}});
  return table;
}

// What has no place in the picture is counted below it.
std::string note_of(const analysis::BandwidthReport& report) {
  std::string note = "1 GB/s = 1e9 B/s; medians of slices grouped by size, in powers of two.";
  if (report.without_bytes > 0) note += fmt::format(" {} slices have no known bytes.", report.without_bytes);
  if (report.of_several > 0) note += fmt::format(" {} contain transfers of several kinds.", report.of_several);
  return note;
}

ChartFigures figures(const ChartInput& input) {
  const analysis::BandwidthReport report = analysis::find_bandwidths(*input.trace);
  ChartFigures of = headed("Bus bandwidth by message size", input);
  of.table = table_of(report);
  of.note = note_of(report);
  return of;
}

/// The points of one collective and group size: megabytes, GB/s.
struct Rates {
  QString name;
  std::size_t collective = 0;  ///< which of those that the trace has
  std::size_t group_size = 0;
  QList<QPointF> transfer;  ///< from the last arrival on
  QList<QPointF> whole;     ///< waits for peers included
};

void take(QList<QPointF>& points, const FigureRow& row, Column column) {
  const double bytes = row.figures[kBytes].value_or(0), rate = row.figures[column].value_or(0);
  if (bytes > 0 && rate > 0) points.append({bytes / 1e6, rate});  // a logarithm takes nothing else
}

std::vector<Rates> rates_of(const FigureTable& table) {
  std::vector<Rates> rates;
  std::vector<std::string> collectives, group_sizes;
  for (const FigureRow& row : table.rows) {
    const std::string &collective = row.names[kCollective], &ranks = row.names[kRanks];
    const QString name = QString::fromStdString(fmt::format("{}, {} ranks", collective, ranks));
    if (rates.empty() || rates.back().name != name)
      rates.push_back({name, place_of(collectives, collective), place_of(group_sizes, ranks), {}, {}});
    take(rates.back().transfer, row, kTransferBusbw);
    take(rates.back().whole, row, kBusbw);
  }
  std::erase_if(rates, [](const Rates& of) { return of.transfer.isEmpty() && of.whole.isEmpty(); });
  return rates;
}

// A quarter of a decade around all points, and a decade in all at least.
Range with_room(const Range& range) {
  const double room = std::pow(10, std::max(0.15, 0.5 * (1 - std::log10(range.high / range.low))));
  return {range.low / room, range.high * room};
}

// What waits for peers is hollow and dashed.
void add_series(Figure& figure, const Rates& of) {
  const QColor color = figure.theme().series(of.collective);
  const QScatterSeries::MarkerShape shape = point_shape(of.group_size).shape;
  add_line(figure, of.whole, QPen(color, 1.2, Qt::DashLine), of.name + ", with waits");
  add_marks(figure, of.whole, {shape, 7, figure.theme().background, color});
  add_line(figure, of.transfer, QPen(color, 2), of.name);
  add_marks(figure, of.transfer, {shape, 9, color, color});
}

std::vector<LegendEntry> legend_of(const std::vector<Rates>& rates, const Theme& theme) {
  using Mark = LegendEntry::Mark;
  std::vector<LegendEntry> legend;
  for (const Rates& of : rates)
    legend.push_back({point_shape(of.group_size).mark, theme.series(of.collective), of.name});
  const auto has = [&](auto points) {
    return std::ranges::any_of(rates, [&](const Rates& of) { return !(of.*points).isEmpty(); });
  };
  if (has(&Rates::transfer)) legend.push_back({Mark::line, theme.dim_text, "from the last arrival"});
  if (has(&Rates::whole)) legend.push_back({Mark::dashed, theme.dim_text, "including the wait for peers"});
  return legend;
}

QChart* draw_bandwidth(const ChartFigures& of, const Theme& theme) {
  const std::vector<Rates> rates = rates_of(of.table);
  auto figure = std::make_unique<Figure>(of, theme, legend_of(rates, theme));
  figure->set_plot([](double) { return QMarginsF(72, 8, 24, 44); }, 260);
  Range sizes, speeds;
  for (const Rates& one : rates) {
    for (const QList<QPointF>* points : {&one.transfer, &one.whole})
      for (const QPointF& point : *points) {
        sizes.take(point.x());
        speeds.take(point.y());
      }
    add_series(*figure, one);
  }
  if (rates.empty()) {
    figure->paint_under([&theme](QPainter& painter, const QRectF& plot) {
      draw_text(painter, plot, Qt::AlignCenter, "no communication with known bytes", theme.dim_text, kTitlePixels);
    });
  } else {
    figure->add_log_axis(*figure, Qt::AlignBottom, with_room(sizes), "message size, MB");
    figure->add_log_axis(*figure, Qt::AlignLeft, with_room(speeds), "bus bandwidth, GB/s");
  }
  return figure.release();
}

}  // namespace

ChartKind bandwidth_chart() {
  return {.name = "bandwidth",
          .title = "Bandwidth by message size",
          .needs = {ChartSource::trace},
          .figures = figures,
          .draw = draw_bandwidth};
}

}  // namespace underlap::viewer
