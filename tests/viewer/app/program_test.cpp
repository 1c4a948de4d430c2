// SPDX-License-Identifier: Apache-2.0
// underlap-viewer as a program: pictures without a window, and what it says of nonsense.
#include <gmock/gmock.h>

#include <QImage>
#include <QProcess>

#include <algorithm>
#include <initializer_list>

#include "platform/temporary_folder.hpp"
#include "profiler/formats/format.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/viewer/small_runs.hpp"
#include "tests/viewer/small_traces.hpp"
#include "viewer/theme/theme.hpp"

namespace underlap::viewer {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

struct Ended {
  int code = -1;
  std::string said;  // on standard error
};

class Program : public testing::Test {
 protected:
  Program() {
    formats::write_trace(folder.path() / "before.pftrace", two_ranks(0));
    formats::write_trace(folder.path() / "after.pftrace", two_ranks(2'000'000));
  }

  std::string at(const std::string& name) const { return (folder.path() / name).string(); }
  std::string text_of(const std::string& name) const { return underlap::testing_support::read_text(at(name)); }

  void write(const std::string& name, std::string_view text) const {
    underlap::testing_support::write_text(at(name), text);
  }

  // Without a display, with those variables alone.
  Ended run(const QStringList& arguments, const std::map<QString, QString>& variables = {}) const {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"}) environment.remove(name);
    for (const auto& [name, value] : variables) environment.insert(name, value);
    process.setProcessEnvironment(environment);
    process.start(UNDERLAP_VIEWER_PROGRAM, arguments);
    EXPECT_TRUE(process.waitForFinished(60'000));
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            process.readAllStandardError().toStdString()};
  }

  void expect_success(const QStringList& arguments) const {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 0) << arguments.join(" ").toStdString() << ended.said;
  }

  // The exit code of `underlap`, whose output is left in `output`.
  int run_underlap(const QStringList& arguments) {
    QProcess underlap;
    underlap.start(UNDERLAP_PROGRAM, arguments);
    EXPECT_TRUE(underlap.waitForFinished(60'000));
    output = underlap.readAllStandardOutput().toStdString();
    return underlap.exitCode();
  }

  // What it says of arguments that it refuses.
  std::string refused(const QStringList& arguments) const {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 2) << ended.said;
    EXPECT_FALSE(fs::exists(at("out.png")));
    return ended.said;
  }

  QString q(const std::string& name) const { return QString::fromStdString(at(name)); }

  TemporaryFolder folder;
  std::string output;
};

// A run with one cell, whose trace is that file.
void make_run(const fs::path& run, const std::string& trace) {
  fs::create_directories(run / "traces");
  copy_recorded_run(run);
  fs::copy(trace, run / "traces/00-off_grad_reduce_in_fp32=true.pftrace");
}

TEST_F(Program, DrawsATimelineWithoutAWindow) {
  const Ended ended = run({"--render", q("out.png"), q("before.pftrace")});
  EXPECT_EQ(ended.code, 0) << ended.said;
  EXPECT_EQ(ended.said, "");
  const QImage image(q("out.png"));
  EXPECT_EQ(image.width(), 1600);
  expect_success({"--render", q("twice.png"), "--scale", "2", "--size", "800x300", "--dark", q("before.pftrace")});
  const QImage twice(q("twice.png"));
  expect_success({"--render", q("LOUD.PNG"), q("before.pftrace")});
  EXPECT_EQ(QImage(q("LOUD.PNG")), image);
  EXPECT_EQ(twice.size(), QSize(1600, 600));
  EXPECT_EQ(twice.pixel(1000, 540), Theme::dark().background.rgb());
}

TEST_F(Program, DrawsTheWindowWithoutAScreenOrSettings) {
  const std::map<QString, QString> own{{"XDG_CONFIG_HOME", q("settings")}};
  EXPECT_EQ(run({"--render", q("start.png"), "--window"}, own).code, 0);
  EXPECT_EQ(QImage(q("start.png")).size(), QSize(1280, 860));
  const Ended ended =
      run({"--render", q("twice.png"), "--window", "--scale", "2", "--size", "800x600", "--dark", q("before.pftrace")},
          own);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.said, "");
  const QImage dark(q("twice.png"));
  EXPECT_EQ(dark.size(), QSize(1600, 1200));
  EXPECT_EQ(dark.pixel(1000, 20), Theme::dark().surface.rgb());
  EXPECT_FALSE(fs::exists(at("settings")));
  EXPECT_THAT(refused({"--render", q("out.png"), "--window", q("gone.pftrace")}), HasSubstr("gone.pftrace"));
  EXPECT_THAT(refused({"--window", q("before.pftrace")}), HasSubstr("--window needs --render"));
}

TEST_F(Program, DrawsOneStepOrAPartOfTime) {
  expect_success({"--render", q("a.png"), "--range", "step 2", q("before.pftrace")});
  expect_success({"--render", q("b.png"), "--range", "12ms..24ms", q("before.pftrace")});
  EXPECT_EQ(QImage(q("a.png")), QImage(q("b.png")));
  expect_success({"--render", q("c.png"), "--range", "12ms..20ms", q("before.pftrace")});
  EXPECT_NE(QImage(q("a.png")), QImage(q("c.png")));
}

TEST_F(Program, DrawsModesOfAModeMap) {
  write("kernels.json", R"({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 0, "dur": 1000, "args": {"device": 0, "stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic", "pid": 0, "tid": 20, "ts": 500, "dur": 1000,
     "args": {"device": 0, "stream": 20}}]})");
  write("map.yaml", "rules: [{stream: 20, mode: pp}]");
  expect_success({"--render", q("plain.png"), q("kernels.json")});
  const Ended mapped = run({"--render", q("mapped.png"), "--mode-map", q("map.yaml"), q("kernels.json")});
  EXPECT_EQ(mapped.code, 0);
  EXPECT_EQ(mapped.said, "");
  EXPECT_NE(QImage(q("mapped.png")), QImage(q("plain.png")));
  expect_success({"--render", q("window.png"), "--window", q("kernels.json")});
  expect_success({"--render", q("mapped_window.png"), "--window", "--mode-map", q("map.yaml"), q("kernels.json")});
  EXPECT_NE(QImage(q("mapped_window.png")), QImage(q("window.png")));
  EXPECT_THAT(run({"--render", q("own.png"), "--mode-map", q("map.yaml"), q("before.pftrace")}).said,
              HasSubstr("the mode map was not applied"));
  write("map.yaml", "rules: [{stream: 20, mode: none_such}]");
  EXPECT_THAT(refused({"--render", q("out.png"), "--mode-map", q("map.yaml"), q("kernels.json")}),
              HasSubstr("map.yaml:1:"));
}

TEST_F(Program, DrawsTwoTracesWithWhatTheDifferenceIs) {
  expect_success({"--render", q("out.svg"), q("before.pftrace"), q("after.pftrace")});
  const std::string svg = text_of("out.svg");
  for (const char* words : {"candidate", "baseline", "the step takes"}) EXPECT_THAT(svg, HasSubstr(words));
}

// Whatever the folder is called, all of the sentence is on a picture.
TEST_F(Program, PathGivesWayToWhatTheDifferenceIs) {
  const std::string deep = std::string(90, 'd');
  fs::create_directories(folder.path() / deep);
  fs::copy(at("after.pftrace"), folder.path() / deep / "after.pftrace");
  expect_success({"--render", q("short.png"), "--range", "step 2", q("before.pftrace"), q("after.pftrace")});
  expect_success({"--render", q("deep.svg"), "--size", "1000x400", "--range", "step 2", q("before.pftrace"),
                  q(deep + "/after.pftrace")});
  const std::string svg = text_of("deep.svg");
  EXPECT_THAT(svg, HasSubstr(">candidate: the step takes"));
  EXPECT_THAT(svg, testing::ContainsRegex(">candidate: the step takes [^<\u2026]* ms<"));
  EXPECT_THAT(svg, HasSubstr(">0 ms<"));  // both count from the begin of the step
  EXPECT_THAT(svg, testing::Not(HasSubstr(">12 ms<")));
}

TEST_F(Program, DrawsChartsOfRunsTracesAndComparisons) {
  expect_success({"--render", q("matrix.svg"), UNDERLAP_RESULTS_FOLDER "/quick/paced"});
  EXPECT_THAT(text_of("matrix.svg"), HasSubstr("<svg"));
  expect_success({"--render", q("modes.csv"), "--chart", "modes", q("before.pftrace")});
  EXPECT_THAT(text_of("modes.csv"), HasSubstr("dp"));
  expect_success({"--render", q("change.png"), "--chart", "change", q("before.pftrace"), q("after.pftrace")});
  EXPECT_FALSE(QImage(q("change.png")).isNull());
  make_run(folder.path() / "run", at("before.pftrace"));
  expect_success({"--render", q("cell.png"), "--cell", "off grad_reduce_in_fp32=true", q("run")});
  EXPECT_FALSE(QImage(q("cell.png")).isNull());
}

TEST_F(Program, DrawsTheVerdictsOfAGateAndACommentShowsThem) {
  for (const char* side : {"one", "two"})
    ASSERT_EQ(run_underlap({"run", UNDERLAP_ROOT "/tests/gate/modelled.yaml", "-o", q(side)}), 0);
  const QStringList gate{"gate", q("one"), q("two"), "--picture", q("verdicts.svg"), "--markdown", q("comment.md")};
  EXPECT_EQ(run_underlap(gate), 0);
  EXPECT_THAT(text_of("verdicts.svg"), HasSubstr("<svg"));
  EXPECT_THAT(text_of("comment.md"), HasSubstr("](" + at("verdicts.svg") + ")"));
  ASSERT_EQ(run_underlap({"gate", q("one"), q("two"), "--json"}), 0);
  underlap::testing_support::write_text(at("gate.json"), output);
  expect_success({"--render", q("verdicts.csv"), q("gate.json")});
  EXPECT_THAT(text_of("verdicts.csv"), HasSubstr("step"));
  EXPECT_EQ(run_underlap({"gate", q("one"), q("two"), "--picture", q("verdicts.gif")}), 2);
}

TEST_F(Program, IsStartedByUnderlapViewWithAllThatStandsBehindIt) {
  EXPECT_EQ(run_underlap({"view", "--render", q("a.png"), "--range", "step 2", q("before.pftrace")}), 0);
  EXPECT_EQ(run_underlap({"view", q("before.pftrace"), "--dark", "--render", q("b.png")}), 0);
  EXPECT_FALSE(QImage(q("a.png")).isNull());
  EXPECT_FALSE(QImage(q("b.png")).isNull());
  EXPECT_EQ(run_underlap({"view", "--render", q("c.gif"), q("before.pftrace")}), 2);
  EXPECT_EQ(run_underlap({"view", "--help"}), 0);
}

TEST_F(Program, RefusesNonsenseWithThePlaceAndWhatToDo) {
  const QString trace = q("before.pftrace"), out = q("out.png");
  EXPECT_THAT(refused({"--render", q("out.gif"), trace}), HasSubstr("use a .png or .svg file"));
  EXPECT_THAT(refused({"--render", out}), HasSubstr("takes a trace, a run, two traces"));
  EXPECT_THAT(refused({"--render", out, q("gone.pftrace")}), HasSubstr("gone.pftrace"));
  EXPECT_THAT(refused({"--render", out, "--range", "step 9", trace}), HasSubstr("no step 9; it has 1 to 3"));
  EXPECT_THAT(refused({"--render", out, "--range", "soon", trace}), HasSubstr("12ms..18.5ms"));
  EXPECT_THAT(refused({"--render", out, "--range", "9ms..3ms", trace}), HasSubstr("12ms..18.5ms"));
  EXPECT_THAT(refused({"--render", out, "--chart", "cake", trace}), HasSubstr("modes"));
  EXPECT_THAT(refused({"--render", out, "--chart", "matrix", trace}), HasSubstr("run"));
  EXPECT_THAT(refused({"--render", out, "--size", "9x9", trace}), HasSubstr("1600x900"));
  EXPECT_THAT(refused({"--render", out, "--size", "100000x100000", trace}), HasSubstr("at most 20000x20000"));
  EXPECT_THAT(refused({"--render", out, "--cell", "nope", UNDERLAP_RESULTS_FOLDER "/quick/paced"}),
              HasSubstr("available: "));
  EXPECT_THAT(refused({"--render", out, "--scale", "900", trace}), HasSubstr("--scale"));
  EXPECT_THAT(refused({"--chart", "modes", trace}), HasSubstr("--render"));
  EXPECT_THAT(refused({"--compare", trace}), HasSubstr("two traces"));
  EXPECT_THAT(refused({"--nonsense"}), HasSubstr("--nonsense"));
  // What would do nothing.
  EXPECT_THAT(refused({"--render", out, "--range", "50ms..60ms", trace}), HasSubstr("its duration is 35.000 ms"));
  EXPECT_THAT(refused({"--render", out, "--cell", "off", trace}), HasSubstr("--cell"));
  EXPECT_THAT(refused({"--render", out, "--compare", trace}), HasSubstr("two traces"));
  const std::string large = refused({"--render", out, "--size", "20000x20000", "--scale", "8", trace});
  EXPECT_THAT(large, HasSubstr("20000 x 20000"));
  EXPECT_EQ(std::ranges::count(large, '\n'), 1) << large;
}

TEST_F(Program, ComparesACellOfTwoRuns) {
  make_run(folder.path() / "one", at("before.pftrace"));
  make_run(folder.path() / "two", at("after.pftrace"));
  const QString cell = "off grad_reduce_in_fp32=true", out = q("out.png");
  EXPECT_THAT(refused({"--render", out, q("one"), q("two")}), AllOf(HasSubstr("--cell NAME"), HasSubstr("compare")));
  EXPECT_THAT(refused({"--render", out, q("one"), q("before.pftrace")}), HasSubstr("of different kinds"));
  EXPECT_THAT(refused({"--render", out, "--cell", cell, q("before.pftrace"), q("after.pftrace")}), HasSubstr("--cell"));
  expect_success({"--render", q("change.csv"), "--chart", "change", "--cell", cell, q("one"), q("two")});
  expect_success({"--render", q("same.csv"), "--chart", "change", q("before.pftrace"), q("after.pftrace")});
  EXPECT_EQ(text_of("change.csv"), text_of("same.csv"));
  EXPECT_EQ(text_of("same.csv").find("-0\n"), std::string::npos);
  expect_success({"--render", q("rates.csv"), "--chart", "bandwidth", "--cell", cell, q("one")});
  EXPECT_THAT(refused({"--render", out, "--chart", "bandwidth", q("one")}),
              HasSubstr("one/traces/00-off_grad_reduce_in_fp32=true.pftrace"));
  fs::remove_all(folder.path() / "one/traces");
  EXPECT_THAT(refused({"--render", out, "--chart", "bandwidth", q("one")}), HasSubstr("no trace"));
}

TEST_F(Program, DrawsRunsAtSeveralSizes) {
  for (const std::int32_t ranks : {2, 4, 8}) make_sized_run(folder.path() / std::to_string(ranks), ranks);
  expect_success({"--render", q("scaling.csv"), "--chart", "scaling", q("2"), q("4"), q("8")});
  EXPECT_THAT(text_of("scaling.csv"), HasSubstr("exposed dp," + at("8") + ",8,"));
  const QString out = q("out.png");
  expect_success({"--render", q("dark.png"), "--chart", "scaling", "--dark", "--scale", "2", q("2"), q("8")});
  EXPECT_GE(QImage(q("dark.png")).width(), 1600);
  EXPECT_THAT(refused({"--render", out, "--chart", "scaling", q("2")}), HasSubstr("two sizes"));
  EXPECT_THAT(refused({"--render", out, "--chart", "scaling", "--cell", "off", q("2"), q("8")}), HasSubstr("--cell"));
  EXPECT_THAT(refused({"--render", out, "--chart", "scaling", q("2"), q("before.pftrace")}), HasSubstr("not a run"));
  EXPECT_THAT(refused({"--render", out, "--chart", "matrix", q("2"), q("4"), q("8")}), HasSubstr("--chart scaling"));
}

TEST_F(Program, DrawsTheVerdictsOnRuns) {
  for (const char* run : {"before/run-00", "before/run-01", "after"}) make_sized_run(folder.path() / run, 2);
  expect_success({"--render", q("gate.csv"), "--chart", "gate", q("before"), q("after")});
  EXPECT_THAT(text_of("gate.csv"), HasSubstr("off grad_reduce_in_fp32=true"));
  const QString out = q("out.png");
  make_sized_run(folder.path() / "real", 2, "real");
  EXPECT_THAT(refused({"--render", out, "--chart", "gate", q("before"), q("real")}), HasSubstr("--force"));
  expect_success({"--render", q("gate.png"), "--chart", "gate", "--force", q("before"), q("real")});
  EXPECT_THAT(refused({"--render", out, "--chart", "gate", "--cell", "off", q("before"), q("after")}),
              HasSubstr("--cell"));
  // Several runs are nothing that one picture or one tab shows.
  EXPECT_THAT(refused({"--render", out, q("before")}), AllOf(HasSubstr("several runs"), HasSubstr("--compare")));
}

TEST_F(Program, WhatIsNotComparableIsRefusedWithBothFiles) {
  Trace trace = two_ranks(0);
  trace.metadata["backend"] = "sim";
  formats::write_trace(folder.path() / "sim.pftrace", trace);
  EXPECT_THAT(refused({"--render", q("out.png"), q("before.pftrace"), q("sim.pftrace")}),
              AllOf(HasSubstr("before.pftrace"), HasSubstr("sim.pftrace"), HasSubstr("not comparable")));
}

TEST_F(Program, TruncatedTraceIsDrawnAndSaid) {
  const fs::path cut = folder.path() / "cut.pftrace";
  fs::copy(at("before.pftrace"), cut);
  fs::resize_file(cut, fs::file_size(cut) - 5);
  const Ended ended = run({"--render", q("cut.png"), q("cut.pftrace")});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.said, AllOf(HasSubstr("cut.pftrace"), HasSubstr("skipped")));
}

TEST_F(Program, FileThatCannotBeWrittenIsSaid) {
  for (const char* name : {"out.png", "out.svg"}) {
    const Ended ended = run({"--render", QString("/nonexistent/") + name, q("before.pftrace")});
    EXPECT_EQ(ended.code, 3);
    EXPECT_THAT(ended.said, HasSubstr(std::string("/nonexistent/") + name));
    EXPECT_EQ(std::ranges::count(ended.said, '\n'), 1) << ended.said;
  }
}

TEST_F(Program, PictureNeedsNoDisplayWhateverADesktopHasSet) {
  for (const char* platform : {"xcb", "wayland", "nonsense", ""}) {
    const Ended ended =
        run({"--render", q("out.png"), q("before.pftrace")}, {{"QT_QPA_PLATFORM", platform}, {"DISPLAY", ""}});
    EXPECT_EQ(ended.code, 0) << platform << ended.said;
  }
}

TEST_F(Program, WithoutADisplayItSaysSoAndWhatToDoInstead) {
  using Variables = std::map<QString, QString>;
  for (const Variables& variables : std::initializer_list<Variables>{{},
                                                                     {{"QT_QPA_PLATFORM", "xcb"}},
                                                                     {{"QT_QPA_PLATFORM", "xcb"}, {"DISPLAY", ":9999"}},
                                                                     {{"QT_QPA_PLATFORM", "wayland;xcb"}},
                                                                     {{"QT_QPA_PLATFORM", "nonsense"}},
                                                                     {{"QT_QPA_PLATFORM", ""}},
                                                                     {{"DISPLAY", ":9999"}},
                                                                     {{"WAYLAND_DISPLAY", "wayland-9999"}}}) {
    const Ended ended = run({q("before.pftrace")}, variables);
    const std::string which = variables.empty() ? "" : variables.begin()->second.toStdString();
    EXPECT_EQ(ended.code, 2) << which << ended.said;
    EXPECT_THAT(ended.said, AnyOf(HasSubstr("isplay"), HasSubstr("nonsense"), HasSubstr("wayland"))) << which;
    EXPECT_THAT(ended.said, HasSubstr("--render out.png")) << which;
  }
}

}  // namespace
}  // namespace underlap::viewer
