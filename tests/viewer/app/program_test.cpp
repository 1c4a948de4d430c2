// SPDX-License-Identifier: Apache-2.0
// underlap-viewer as a program: pictures without a window, and what it says of nonsense.
#include <gmock/gmock.h>

#include <QImage>
#include <QProcess>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/temporary_folder.hpp"
#include "profiler/formats/format.hpp"
#include "tests/viewer/small_traces.hpp"
#include "viewer/theme/theme.hpp"

namespace underlap::viewer {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Ended {
  int code = -1;
  std::string said;  // on standard error
};

class Program : public testing::Test {
 protected:
  Program() {
    formats::write_trace(folder.path() / "before.pftrace", testing_support::two_ranks(0));
    formats::write_trace(folder.path() / "after.pftrace", testing_support::two_ranks(2'000'000));
  }

  std::string at(const std::string& name) const { return (folder.path() / name).string(); }

  Ended run(const QStringList& arguments, bool has_platform = true) const {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"}) environment.remove(name);
    if (has_platform) environment.insert("QT_QPA_PLATFORM", "offscreen");
    process.setProcessEnvironment(environment);
    process.start(UNDERLAP_VIEWER_PROGRAM, arguments);
    EXPECT_TRUE(process.waitForFinished(60'000));
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            process.readAllStandardError().toStdString()};
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
};

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST_F(Program, DrawsATimelineWithoutAWindow) {
  const Ended ended = run({"--render", q("out.png"), q("before.pftrace")}, false);
  EXPECT_EQ(ended.code, 0) << ended.said;
  EXPECT_EQ(ended.said, "");
  const QImage image(q("out.png"));
  EXPECT_EQ(image.width(), 1600);
  const QImage twice = [&] {
    EXPECT_EQ(
        run({"--render", q("twice.png"), "--scale", "2", "--size", "800x300", "--dark", q("before.pftrace")}).code, 0);
    return QImage(q("twice.png"));
  }();
  EXPECT_EQ(twice.size(), QSize(1600, 600));
  EXPECT_EQ(twice.pixel(1000, 590), Theme::dark().background.rgb());
}

TEST_F(Program, DrawsOneStepOrAPartOfTime) {
  EXPECT_EQ(run({"--render", q("a.png"), "--range", "step 2", q("before.pftrace")}).code, 0);
  EXPECT_EQ(run({"--render", q("b.png"), "--range", "12ms..24ms", q("before.pftrace")}).code, 0);
  EXPECT_EQ(QImage(q("a.png")), QImage(q("b.png")));
  EXPECT_EQ(run({"--render", q("c.png"), "--range", "12ms..20ms", q("before.pftrace")}).code, 0);
  EXPECT_NE(QImage(q("a.png")), QImage(q("c.png")));
}

TEST_F(Program, DrawsTwoTracesWithWhatTheDifferenceIs) {
  const Ended ended = run({"--render", q("out.svg"), q("before.pftrace"), q("after.pftrace")});
  EXPECT_EQ(ended.code, 0) << ended.said;
  const std::string svg = text_of(at("out.svg"));
  EXPECT_THAT(svg, HasSubstr("candidate"));
  EXPECT_THAT(svg, HasSubstr("baseline"));
  EXPECT_THAT(svg, HasSubstr("the step takes"));
}

TEST_F(Program, DrawsChartsOfRunsTracesAndComparisons) {
  EXPECT_EQ(run({"--render", q("matrix.svg"), UNDERLAP_RESULTS_FOLDER "/quick/paced"}).code, 0);
  EXPECT_THAT(text_of(at("matrix.svg")), HasSubstr("<svg"));
  EXPECT_EQ(run({"--render", q("modes.csv"), "--chart", "modes", q("before.pftrace")}).code, 0);
  EXPECT_THAT(text_of(at("modes.csv")), HasSubstr("dp"));
  EXPECT_EQ(run({"--render", q("change.png"), "--chart", "change", q("before.pftrace"), q("after.pftrace")}).code, 0);
  EXPECT_FALSE(QImage(q("change.png")).isNull());
  fs::create_directories(folder.path() / "run/traces");
  fs::copy(UNDERLAP_RESULTS_FOLDER "/quick/paced/results.json", folder.path() / "run");
  fs::copy(at("before.pftrace"), folder.path() / "run/traces/00-off_grad_reduce_in_fp32=true.pftrace");
  EXPECT_EQ(run({"--render", q("cell.png"), "--cell", "off grad_reduce_in_fp32=true", q("run")}).code, 0);
  EXPECT_FALSE(QImage(q("cell.png")).isNull());
}

TEST_F(Program, DrawsTheVerdictsOfAGateAndACommentShowsThem) {
  QProcess underlap;
  const auto ran = [&](const QStringList& arguments) {
    underlap.start(UNDERLAP_PROGRAM, arguments);
    EXPECT_TRUE(underlap.waitForFinished(60'000));
    return underlap.exitCode();
  };
  for (const char* side : {"one", "two"})
    ASSERT_EQ(ran({"run", UNDERLAP_ROOT "/tests/gate/modelled.yaml", "-o", q(side)}), 0)
        << underlap.readAllStandardError().toStdString();
  const QStringList gate{"gate", q("one"), q("two"), "--picture", q("verdicts.svg"), "--markdown", q("comment.md")};
  EXPECT_EQ(ran(gate), 0) << underlap.readAllStandardError().toStdString();
  EXPECT_THAT(text_of(at("verdicts.svg")), HasSubstr("<svg"));
  EXPECT_THAT(text_of(at("comment.md")), HasSubstr("](" + at("verdicts.svg") + ")"));
  ASSERT_EQ(ran({"gate", q("one"), q("two"), "--json"}), 0);
  std::ofstream(at("gate.json")) << underlap.readAllStandardOutput().toStdString();
  EXPECT_EQ(run({"--render", q("verdicts.csv"), q("gate.json")}).code, 0);
  EXPECT_THAT(text_of(at("verdicts.csv")), HasSubstr("step"));
  EXPECT_EQ(ran({"gate", q("one"), q("two"), "--picture", q("verdicts.gif")}), 2);
}

TEST_F(Program, IsStartedByUnderlapViewWithAllThatStandsBehindIt) {
  QProcess underlap;
  const auto ran = [&](const QStringList& arguments) {
    underlap.start(UNDERLAP_PROGRAM, QStringList{"view"} + arguments);
    EXPECT_TRUE(underlap.waitForFinished(60'000));
    return underlap.exitCode();
  };
  EXPECT_EQ(ran({"--render", q("a.png"), "--range", "step 2", q("before.pftrace")}), 0)
      << underlap.readAllStandardError().toStdString();
  EXPECT_EQ(ran({q("before.pftrace"), "--dark", "--render", q("b.png")}), 0);
  EXPECT_FALSE(QImage(q("a.png")).isNull());
  EXPECT_FALSE(QImage(q("b.png")).isNull());
  EXPECT_EQ(ran({"--render", q("c.gif"), q("before.pftrace")}), 2);
  EXPECT_EQ(ran({"--help"}), 0);
}

TEST_F(Program, RefusesNonsenseWithThePlaceAndWhatToDo) {
  const QString trace = q("before.pftrace"), out = q("out.png");
  EXPECT_THAT(refused({"--render", q("out.gif"), trace}), HasSubstr("takes a file of .png or .svg"));
  EXPECT_THAT(refused({"--render", out}), HasSubstr("takes a trace, a run, or two traces"));
  EXPECT_THAT(refused({"--render", out, q("gone.pftrace")}), HasSubstr("gone.pftrace"));
  EXPECT_THAT(refused({"--render", out, "--range", "step 9", trace}), HasSubstr("no step 9; it has 1 to 3"));
  EXPECT_THAT(refused({"--render", out, "--range", "soon", trace}), HasSubstr("12ms..18.5ms"));
  EXPECT_THAT(refused({"--render", out, "--range", "9ms..3ms", trace}), HasSubstr("12ms..18.5ms"));
  EXPECT_THAT(refused({"--render", out, "--chart", "cake", trace}), HasSubstr("modes"));
  EXPECT_THAT(refused({"--render", out, "--chart", "matrix", trace}), HasSubstr("run"));
  EXPECT_THAT(refused({"--render", out, "--size", "9x9", trace}), HasSubstr("1600x900"));
  EXPECT_THAT(refused({"--render", out, "--cell", "nope", UNDERLAP_RESULTS_FOLDER "/quick/paced"}),
              HasSubstr("it has: "));
  EXPECT_THAT(refused({"--render", out, "--scale", "900", trace}), HasSubstr("--scale"));
  EXPECT_THAT(refused({"--chart", "modes", trace}), HasSubstr("--render"));
  EXPECT_THAT(refused({"--compare", trace}), HasSubstr("two traces"));
  EXPECT_THAT(refused({"--nonsense"}), HasSubstr("--nonsense"));
}

TEST_F(Program, FileThatCannotBeWrittenIsSaid) {
  const Ended ended = run({"--render", "/nonexistent/out.png", q("before.pftrace")});
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.said, HasSubstr("/nonexistent/out.png"));
}

TEST_F(Program, WithoutADisplayItSaysSoAndWhatToDoInstead) {
  const Ended ended = run({q("before.pftrace")}, false);
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.said, HasSubstr("no display"));
  EXPECT_THAT(ended.said, HasSubstr("--render out.png"));
}

}  // namespace
}  // namespace underlap::viewer
