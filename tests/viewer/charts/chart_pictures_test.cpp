// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QAbstractAxis>
#include <QAbstractBarSeries>
#include <QBarSet>
#include <QChart>
#include <QGraphicsLayout>
#include <QLineSeries>
#include <QPainter>
#include <QSvgRenderer>
#include <QValueAxis>

#include <cmath>

#include "tests/profiler/temporary_folder.hpp"
#include "tests/viewer/charts/chart_inputs.hpp"
#include "viewer/charts/write_chart.hpp"

namespace underlap::viewer {
namespace {

using testing::HasSubstr;
using namespace testing_support;  // NOLINT

// A chart as it is laid out and painted, both at the same size.
struct Picture {
  Picture(const Chart& chart, const Theme& theme, QSize size = kChartSize)
      : drawn(draw(chart, theme)), image(chart_image(chart, theme, size)) {
    drawn->resize(size);
    drawn->layout()->activate();
    plot = drawn->plotArea();
  }

  const QValueAxis& axis() const { return *qobject_cast<QValueAxis*>(drawn->axes(Qt::Horizontal).front()); }
  double x(double value) const {
    return plot.left() + (value - axis().min()) / (axis().max() - axis().min()) * plot.width();
  }
  // A row's middle.
  double y(std::size_t row, std::size_t rows) const {
    return plot.top() + plot.height() * (static_cast<double>(row) + 0.5) / static_cast<double>(rows);
  }
  QColor at(double px, double py) const { return image.pixelColor(static_cast<int>(px), static_cast<int>(py)); }
  // Whether the color is in an area.
  bool has_in(const QColor& color, const QRectF& area) const {
    for (double px = area.left(); px < area.right(); ++px)
      for (double py = area.top(); py < area.bottom(); ++py)
        if (at(px, py) == color) return true;
    return false;
  }
  // Whether the color is at most `reach` units from there.
  bool has_near(const QColor& color, double px, double py, int reach = 3) const {
    return has_in(color, {px - reach, py - reach, 2. * reach + 1, 2. * reach + 1});
  }

  std::unique_ptr<QChart> drawn;
  QImage image;
  QRectF plot;
};

class EveryChart : public testing::TestWithParam<std::string> {
 protected:
  const ChartKind& kind() const { return chart_kind(GetParam()); }
  Chart chart() const { return make_chart(GetParam(), fitting_input(kind())); }
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const ChartKind& one : chart_kinds()) all.emplace_back(one.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryChart, testing::ValuesIn(names()), [](const auto& kind) { return kind.param; });

TEST_P(EveryChart, IsDrawnInBothThemesOnTheirGround) {
  for (const Theme* theme : {&Theme::light(), &Theme::dark()}) {
    const QImage image = chart_image(chart(), *theme, kChartSize);
    EXPECT_EQ(image.pixelColor(2, 2), theme->background);
    EXPECT_EQ(image.pixelColor(kChartSize.width() - 3, kChartSize.height() - 3), theme->background);
    std::set<QRgb> colors;
    for (int y = 0; y < image.height(); y += 2)
      for (int x = 0; x < image.width(); x += 2) colors.insert(image.pixel(x, y));
    EXPECT_GT(colors.size(), 10u);
  }
}

TEST_P(EveryChart, IsDrawnAtAnySizeAndSharpAtTwice) {
  for (const QSize size : {QSize(1, 1), QSize(60, 40), QSize(320, 240), QSize(2400, 300), QSize(300, 2400)})
    EXPECT_EQ(chart_image(chart(), Theme::light(), size).size(), size);
  EXPECT_EQ(chart_image(chart(), Theme::light(), kChartSize, 2).size(), 2 * kChartSize);
}

TEST_P(EveryChart, IsWrittenAsSvgThatQtReadsAndThatHasItsTitle) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "chart.svg";
  write_chart(path, chart(), Theme::dark(), {640, 400});
  QSvgRenderer renderer(QString::fromStdString(path.string()));
  ASSERT_TRUE(renderer.isValid());
  EXPECT_EQ(renderer.viewBox(), QRect(0, 0, 640, 400));
  QImage image(640, 400, QImage::Format_RGB32);
  image.fill(Qt::magenta);
  QPainter painter(&image);
  renderer.render(&painter);
  painter.end();
  for (const QPoint corner : {QPoint(0, 0), QPoint(639, 0), QPoint(0, 399), QPoint(639, 399)})
    EXPECT_EQ(image.pixelColor(corner), Theme::dark().background) << corner.x() << ", " << corner.y();
  const std::string title = QString::fromStdString(chart().figures.title).toHtmlEscaped().toStdString();
  EXPECT_THAT(read_text(path), HasSubstr(", sans-serif\""));
  EXPECT_THAT(read_text(path), HasSubstr(title.substr(0, title.find('&'))));
}

TEST_P(EveryChart, IsWrittenAsCsvOfItsFiguresAndAsPngOfItsPicture) {
  const TemporaryFolder folder;
  const std::filesystem::path csv = folder / "chart.csv", png = folder / "chart.png";
  write_chart(csv, chart(), Theme::light());
  EXPECT_EQ(read_text(csv), analysis::csv(chart().figures.table));
  write_chart(png, chart(), Theme::light(), kChartSize, 1.5);
  const QImage read(QString::fromStdString(png.string()));
  EXPECT_EQ(read.size(), QSize(1200, 750));
  EXPECT_EQ(read.convertToFormat(QImage::Format_RGB32).pixelColor(3, 3), Theme::light().background);
}

TEST(ChartPictures, RefuseAnExtensionAndASizeThatTheyCannotHave) {
  const Chart chart = make_chart("matrix", paced().input());
  EXPECT_THROW(write_chart("chart.pdf", chart, Theme::light()), std::invalid_argument);
  EXPECT_THROW(chart_image(chart, Theme::light(), {0, 10}), std::invalid_argument);
  EXPECT_THROW(chart_image(chart, Theme::light(), {800, 500}, 1e9), std::invalid_argument);
  EXPECT_THROW(chart_image(chart, Theme::light(), {800, 500}, std::nan("")), std::invalid_argument);
}

TEST(ModesPicture, BarsEndWhereTheirFiguresAre) {
  for (const Theme* theme : {&Theme::light(), &Theme::dark()}) {
    const Chart chart = make_chart("modes", paced().input());
    const Picture picture(chart, *theme);
    const auto& rows = chart.figures.table.rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double hidden = *rows[i].figures[1] / 1e6, end = hidden + *rows[i].figures[2] / 1e6;
      const double y = picture.y(i, rows.size());
      if (hidden > 0) {
        EXPECT_EQ(picture.at(picture.x(hidden) - 2, y), theme->hidden(Mode::dp)) << i;
      }
      EXPECT_EQ(picture.at(picture.x(end) - 2, y), theme->exposed(Mode::dp)) << i;
      EXPECT_EQ(picture.at(picture.x(end) + 2, y), theme->background) << i;
    }
  }
}

// A title that has no room is cut at its end.
TEST(ModesPicture, AxisSaysItsUnitFirst) {
  const Picture picture(make_chart("modes", paced().input()), Theme::light());
  EXPECT_TRUE(picture.axis().titleText().startsWith("ms ")) << picture.axis().titleText().toStdString();
}

TEST(ModesPicture, AWaitIsHatchedAndATransferIsNot) {
  const OneCell cell("pp", {.comm_ms = 10, .exposed_ms = 8, .exposed_wait_ms = 4, .exposed_transfer_ms = 4});
  const Picture picture(make_chart("modes", cell.input()), Theme::light());
  const auto colors_between = [&](double from, double to) {
    std::set<QRgb> colors;
    for (double x = picture.x(from) + 3; x < picture.x(to) - 3; ++x)
      colors.insert(picture.at(x, picture.y(0, 1)).rgb());
    return colors.size();
  };
  EXPECT_EQ(colors_between(0, 2), 1u);
  EXPECT_GT(colors_between(2, 6), 2u);
  EXPECT_EQ(colors_between(6, 10), 1u);
}

TEST(ModesPicture, SaysThatThereIsNoCommunication) {
  const Picture picture(make_chart("modes", OneCell().input()), Theme::light());
  EXPECT_TRUE(picture.has_near(Theme::light().dim_text, picture.plot.center().x(), picture.plot.center().y(), 40));
}

// Neither its name nor its color is in any folder of the project.
TEST(ModesPicture, ShowsAModeThatNobodyRegistered) {
  const char* seventh = "seventh";
  ASSERT_FALSE(mode_from(seventh));
  const OneCell cell(seventh, {.comm_ms = 10, .exposed_ms = 6, .exposed_transfer_ms = 6});
  for (const Theme* theme : {&Theme::light(), &Theme::dark()}) {
    const Picture picture(make_chart("modes", cell.input()), *theme);
    for (const auto& [color, ms] : {std::pair(theme->hidden(std::string_view(seventh)), 2),
                                    std::pair(theme->exposed(std::string_view(seventh)), 8)}) {
      EXPECT_EQ(picture.at(picture.x(ms), picture.y(0, 1)), color);
      EXPECT_TRUE(picture.has_in(color, {0, picture.plot.top() - 32, 1. * kChartSize.width(), 1})) << ms;  // the legend
    }
  }
}

TEST(StepsPicture, MedianAndIntervalGoThroughTheRowAndEachStepHasADot) {
  const RecordedRun& run = modes();
  const Chart chart = make_chart("steps", run.input());
  const QSize size = fitting_size(chart, Theme::light());
  const Picture picture(chart, Theme::light(), size);
  const std::size_t rows = run.results.cells.size();
  EXPECT_EQ(picture.axis().max(), 15.5);
  const auto is_bluish = [](const QColor& color) { return color.blue() > color.red() + 100; };
  for (std::size_t row = 0; row < rows; ++row) {
    const double x = picture.x(0.6), y = picture.y(row, rows);
    EXPECT_TRUE(is_bluish(picture.at(x, y)) || is_bluish(picture.at(x, y - 1))) << row;
  }
  const auto dots_above = [&](double step) {
    const double height = picture.plot.height() / static_cast<double>(rows);
    return picture.has_in(Theme::light().text, {picture.x(step), picture.plot.top(), 1, height});
  };
  EXPECT_TRUE(dots_above(1));
  EXPECT_FALSE(dots_above(1.5));
}

TEST(ChangePicture, APartThatMakesTheStepShorterIsOfTheBetterColor) {
  for (const Theme* theme : {&Theme::light(), &Theme::dark()}) {
    const Chart chart = make_chart("change", paced().input());
    const Picture picture(chart, *theme);
    const auto& rows = chart.figures.table.rows;  // compute, exposed dp, copies, idle, step
    const double start = (*rows.back().figures[0] + *rows[0].figures[2]) / 1e6;
    const double middle = start + *rows[1].figures[2] / 2e6;
    EXPECT_EQ(picture.at(picture.x(middle), picture.y(2, rows.size() + 1)), theme->better);
    EXPECT_EQ(picture.at(picture.x(start) + 3, picture.y(2, rows.size() + 1)), theme->background);
    EXPECT_EQ(picture.at(picture.x(*rows.back().figures[1] / 1e6) - 3, picture.y(rows.size(), rows.size() + 1)),
              theme->compute);
  }
}

// Kernels that ran side by side and are gone may take more than the step.
TEST(ChangePicture, ABarMayLieOnBothSidesOfZero) {
  Chart chart = make_chart("change", paced().input());
  chart.figures.table.rows = {{{"compute: contention", "compute", ""}, {{}, {}, -15e6}},
                              {{"compute: concurrency", "compute", ""}, {{}, {}, 20e6}},
                              {{"step", "step", ""}, {10e6, 15e6, 5e6}}};
  const Theme& theme = Theme::light();
  const Picture picture(chart, theme);
  for (const double ms : {-4.0, 1.0, 9.0}) {
    EXPECT_EQ(picture.at(picture.x(ms), picture.y(1, 4) - 5), theme.better) << ms;
    EXPECT_EQ(picture.at(picture.x(ms), picture.y(2, 4) - 5), theme.worse) << ms;
  }
  EXPECT_EQ(picture.at(picture.x(12), picture.y(1, 4) - 5), theme.background);
  EXPECT_EQ(picture.at(picture.x(-2), picture.y(3, 4) - 5), theme.background);
  EXPECT_EQ(picture.at(picture.x(2), picture.y(3, 4) - 5), theme.compute);
}

TEST(MatrixPicture, OnlyACellWhoseIntervalDoesNotHoldOneIsColored) {
  const Chart chart = make_chart("matrix", paced().input());
  const Picture picture(chart, Theme::light());  // 5 overlaps by 2 values
  const auto tile = [&](std::size_t row) { return picture.at(picture.plot.left() + 12, picture.y(row, 5)); };
  EXPECT_EQ(tile(0), Theme::light().surface);  // off
  EXPECT_EQ(tile(2), Theme::light().surface);  // params: [0.86, 1.02]
  const QColor both = tile(3);
  EXPECT_GT(both.green(), both.red());
  EXPECT_NE(tile(1), both);  // grads changed less
}

TEST(MatrixPicture, OfOneAxisHasARowACell) {
  RecordedRun one = paced();
  std::erase_if(one.results.cells, [](const report::CellResult& cell) { return cell.values[1].second == "false"; });
  for (report::CellResult& cell : one.results.cells) cell.values.pop_back();
  one.summaries = report::summarize(one.results);
  const Picture picture(make_chart("matrix", one.input()), Theme::light());
  const double ratio_column = picture.plot.left() + 0.22 * picture.plot.width();
  const double height = std::min(60.0, picture.plot.height() / 5);
  const QColor both = picture.at(ratio_column, picture.plot.top() + 3.5 * height);
  EXPECT_GT(both.green(), both.red());
  EXPECT_EQ(picture.at(ratio_column, picture.plot.top() + 0.5 * height), Theme::light().background);  // off has none
}

TEST(BandwidthPicture, SeriesHoldTheFiguresAndAxesHoldTheSeries) {
  const Chart chart = make_chart("bandwidth", trace_both().input());
  const Picture picture(chart, Theme::light());
  QList<QPointF> points;
  for (QAbstractSeries* series : picture.drawn->series())
    if (const auto* line = qobject_cast<QLineSeries*>(series); line != nullptr && !line->name().endsWith("waits"))
      points += line->points();
  ASSERT_EQ(points.size(), static_cast<qsizetype>(chart.figures.table.rows.size()));
  for (const auto& row : chart.figures.table.rows) {
    const QPointF point(*row.figures[0] / 1e6, *row.figures[3]);
    EXPECT_TRUE(points.contains(point));
    const QPointF at = picture.drawn->mapToPosition(point, picture.drawn->series().front());
    EXPECT_TRUE(picture.plot.contains(at));
    EXPECT_NE(picture.at(at.x(), at.y()), Theme::light().background);
  }
}

// A color for each collective; of several group sizes they have it in common, and differ in shape.
TEST(BandwidthPicture, LegendHasTheColorsOfTheSeries) {
  Chart chart = make_chart("bandwidth", trace_both().input());
  auto& rows = chart.figures.table.rows;
  rows = {{{"all_reduce", "8"}, {1e6, 1.0, 10.0, 11.0}},
          {{"all_reduce", "64"}, {1e6, 1.0, 4.0, 5.0}},
          {{"send", "2"}, {1e6, 1.0, 1.0, std::nullopt}}};
  const Picture picture(chart, Theme::light());
  std::vector<QColor> colors;
  for (QAbstractSeries* series : picture.drawn->series())
    if (const auto* line = qobject_cast<QLineSeries*>(series); line != nullptr) colors.push_back(line->color());
  ASSERT_EQ(colors.size(), 5u);  // with waits and without, and of the last with them alone
  EXPECT_EQ(colors[0], colors[2]);
  EXPECT_NE(colors[0], colors[4]);
  const QRectF legend(QPointF(0, 50), QPointF(kChartSize.width(), picture.plot.top() - 22));
  for (const QColor& color : {colors[0], colors[4]}) EXPECT_TRUE(picture.has_in(color, legend));
}

TEST(GatePicture, MarksStandAtTheirChangesInTheColorOfTheirVerdicts) {
  const gate::GateReport report = made_up_gate();
  for (const Theme* theme : {&Theme::light(), &Theme::dark()}) {
    const Picture picture(make_chart("gate", {.gate = &report}), *theme);
    const std::size_t rows = report.rows.size();
    EXPECT_EQ(picture.at(picture.x(8.5), picture.y(0, rows)), theme->worse);
    EXPECT_EQ(picture.at(picture.x(3), picture.y(2, rows)), theme->background);  // a ring
    EXPECT_TRUE(picture.has_near(theme->dim_text, picture.x(3), picture.y(2, rows), 5));
    EXPECT_EQ(picture.at(picture.x(-1), picture.y(3, rows)), theme->better);
    EXPECT_TRUE(picture.has_near(theme->better, picture.x(-3), picture.y(3, rows), 2));  // its lower limit
    EXPECT_NE(picture.at(picture.x(9.5), picture.y(3, rows)), theme->background);        // beyond the tolerance
  }
}

/// Where a value of the step's plot stands, which is the first of those in the chart.
struct StepsOverRanks {
  explicit StepsOverRanks(const Picture& of) : picture(of) {
    for (QGraphicsItem* item : of.drawn->childItems())
      if (plot == nullptr) plot = dynamic_cast<QChart*>(item);
  }

  QPointF at(double ranks, double ms) const {
    return plot->mapToPosition({std::log2(ranks), ms}, plot->series().front());
  }
  bool is_free(double px, double py) const { return picture.at(px, py) == Theme::light().background; }

  const Picture& picture;
  QChart* plot = nullptr;
};

TEST(ScalingPicture, MeasuredPointsAreFilledAndModelledOnesHollow) {
  const Picture picture(make_chart("scaling", {.scaling = &made_up_scaling()}), Theme::light());
  const StepsOverRanks steps(picture);
  const QPointF measured = steps.at(8, 108), modelled = steps.at(64, 144), limit = steps.at(64, 1.1 * 144);
  EXPECT_EQ(picture.at(measured.x(), measured.y()), Theme::light().accent);
  EXPECT_TRUE(picture.has_near(Theme::light().accent, modelled.x(), modelled.y() + 4, 2));
  EXPECT_TRUE(steps.is_free(modelled.x() - 2, modelled.y()));
  EXPECT_FALSE(steps.is_free(limit.x(), limit.y() + 3));  // its interval
}

TEST(ScalingPicture, TheIdealIsAThinLineFromTheSmallestSizeOn) {
  const Picture picture(make_chart("scaling", {.scaling = &made_up_scaling()}), Theme::light());
  const StepsOverRanks steps(picture);
  const auto [x, y] = steps.at(32, 66);  // of "on", modelled: 66 ms with 2 ranks, 97 with 64
  EXPECT_FALSE(steps.is_free(x, y) && steps.is_free(x, y - 1) && steps.is_free(x, y + 1));
  EXPECT_TRUE(steps.is_free(x, y - 3));
  EXPECT_TRUE(steps.is_free(x, y + 3));
}

// Steps that fall to a fiftieth would be one line with the axis.
TEST(ScalingPicture, WidelyDifferentStepsAreDrawnByTheirLogarithm) {
  Chart chart = make_chart("scaling", {.scaling = &made_up_scaling()});
  auto& rows = chart.figures.table.rows;
  const auto row = [](double ranks, double ms) {
    return analysis::FigureRow{{"off", "measured", "step", "run"}, {ranks, 1e6 * ms, {}, {}, {}}};
  };
  rows = {row(2, 10000), row(8, 1000), row(32, 100)};
  const Picture picture(chart, Theme::light());
  EXPECT_TRUE(picture.has_near(Theme::light().accent, picture.plot.center().x(), picture.plot.center().y(), 1));
}

TEST(ScalingPicture, SaysThatThereIsNothing) {
  Chart chart = make_chart("scaling", {.scaling = &made_up_scaling()});
  chart.figures.table.rows.clear();
  const Picture picture(chart, Theme::light());
  EXPECT_TRUE(picture.has_near(Theme::light().dim_text, picture.plot.center().x(), picture.plot.center().y(), 40));
}

TEST(ChartPictures, LongNamesLeaveThePlotItsRoom) {
  RecordedRun run = paced();
  for (report::CellResult& cell : run.results.cells) cell.name = std::string(300, 'x') + cell.name;
  run.summaries = report::summarize(run.results);
  for (const char* name : {"modes", "steps", "matrix"}) {
    const Picture picture(make_chart(name, run.input()), Theme::light());
    EXPECT_GT(picture.plot.width(), 0.3 * kChartSize.width()) << name;
  }
  const gate::GateReport report = made_up_gate();  // with a long name of its own, and long figures
  EXPECT_GT(Picture(make_chart("gate", {.gate = &report}), Theme::light()).plot.width(), 0.3 * kChartSize.width());
}

// A file of SVG would show the others below the plot.
TEST(ChartPictures, HaveSeriesOfThoseRowsThatHaveRoom) {
  const Chart chart = make_chart("modes", modes().input());
  const std::unique_ptr<QChart> drawn = draw(chart, Theme::light());
  const auto rows_at = [&](QSize size) {
    drawn->resize(size);
    return qobject_cast<QAbstractBarSeries*>(drawn->series().front())->barSets().front()->count();
  };
  const auto all = static_cast<int>(chart.figures.table.rows.size());
  EXPECT_LT(rows_at({800, 300}), all);
  EXPECT_EQ(rows_at(fitting_size(chart, Theme::light())), all);
}

TEST(ChartPictures, FittingSizeHasRoomForTheLastRow) {
  const Chart chart = make_chart("modes", modes().input());
  const QSize size = fitting_size(chart, Theme::light());
  EXPECT_GT(size.height(), kChartSize.height());
  const Picture picture(chart, Theme::light(), size);
  const auto& rows = chart.figures.table.rows;
  const auto& last = rows.back();
  const QColor color = Theme::light().exposed(std::string_view(last.names[1]));
  const double middle = (*last.figures[1] + 0.9 * *last.figures[2]) / 1e6;
  EXPECT_TRUE(picture.has_near(color, picture.x(middle), picture.y(rows.size() - 1, rows.size()), 2));
}

}  // namespace
}  // namespace underlap::viewer
