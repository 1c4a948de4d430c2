// SPDX-License-Identifier: Apache-2.0
// The pages of all commands in a browser: made from files with hostile names, at the width of a desk and of a phone.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "platform/json.hpp"
#include "tests/hostile/hostile_inputs.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::hostile {
namespace {

using testing_support::read_text, testing_support::write_text;
using Json = nlohmann::ordered_json;

constexpr const char* kPages[]{"analyze", "folder", "compare", "gate", "show"};

// It listens before the frames exist, since a frame does not wait for it.
constexpr const char* kFrames = R"html(<!DOCTYPE html><html><body><pre id="found"></pre><script>
addEventListener("message", (event) => (document.getElementById("found").textContent += event.data + "\n"));
</script>%FRAMES%</body></html>)html";

void add_probe(const std::filesystem::path& page, const std::string& name) {
  std::string text = read_text(page);
  const std::string probe = read_text(UNDERLAP_SOURCE_DIR "/tests/hostile/page_probe.js");
  text.insert(text.rfind("</body>"), "<script>" + probe + "</script>");
  const std::string html = "<html";
  text.insert(text.find(html) + html.size(), " data-page=\"" + name + "\"");
  write_text(page, text);
}

// The text of the element that takes the messages, one object a line.
std::vector<Json> found_in(std::string dom) {
  const std::string begin = "<pre id=\"found\">";
  const std::size_t at = dom.find(begin);
  if (at == std::string::npos) return {};
  dom = dom.substr(at + begin.size(), dom.find("</pre>", at) - at - begin.size());
  for (const auto& [entity, text] : {std::pair{"&lt;", "<"}, std::pair{"&gt;", ">"}, std::pair{"&amp;", "&"}})
    for (std::size_t i = dom.find(entity); i != std::string::npos; i = dom.find(entity, i + 1))
      dom.replace(i, std::string(entity).size(), text);
  std::vector<Json> found;
  for (std::size_t i = 0; i < dom.size(); i = dom.find('\n', i) + 1)
    found.push_back(Json::parse(dom.substr(i, dom.find('\n', i) - i)));
  return found;
}

class Pages : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    set_names_for_commands();
    inputs_ = std::make_unique<Inputs>();
    for (const char* command :
         {"underlap analyze t0.json t1.json --details --html analyze.html", "underlap analyze right --html folder.html",
          "underlap compare 't?.json' 'u?.json' --html compare.html",
          "underlap gate 't?.json' 'u?.json' --html gate.html --inconclusive pass",
          "underlap show spoiled --html show.html"})
      if (const Ended ended = run_in(inputs_->folder(), command); ended.exit_code != 0)
        failed_ += std::string(command) + ": " + ended.err;
    if (failed_.empty()) open_all();
  }
  static void TearDownTestSuite() { inputs_.reset(); }

  void SetUp() override {
    ASSERT_EQ(failed_, "");
    if (!has_browser_) GTEST_SKIP() << "needs chromium";
    ASSERT_THAT(found_, SizeIs(2 * std::size(kPages))) << browser_.err;
  }

  static std::string dom_of(const std::string& page) { return read_text(inputs_->at(page + ".html")); }

  static inline std::unique_ptr<Inputs> inputs_;
  static inline std::string failed_;
  static inline bool has_browser_ = false;
  static inline Ended browser_;
  static inline std::vector<Json> found_;

 private:
  // One browser for all pages and widths, since its start takes longest.
  static void open_all() {
    has_browser_ = run_in(inputs_->folder(), "command -v chromium").exit_code == 0;
    if (!has_browser_) return;
    std::string frames;
    for (const std::string page : kPages) {
      add_probe(inputs_->at(page + ".html"), page);
      for (const char* width : {"1100", "400"})
        frames += "<iframe src=\"" + page + ".html\" style=\"border:0;height:800px;width:" + width + "px\"></iframe>";
    }
    std::string wrapper = kFrames;
    wrapper.replace(wrapper.find("%FRAMES%"), 8, frames);
    write_text(inputs_->at("frames.html"), wrapper);
    browser_ = run_in(inputs_->folder(),
                      "HOME=$PWD chromium --headless=new --no-sandbox --disable-gpu --enable-logging=stderr --v=0 "
                      "--virtual-time-budget=10000 --dump-dom \"file://$PWD/frames.html\"");
    found_ = found_in(browser_.out);
  }
};

TEST_F(Pages, FitTheWidthOfADeskAndOfAPhone) {
  for (const Json& found : found_)
    EXPECT_LE(found.at("scroll").get<int>(), found.at("width").get<int>()) << found.at("page");
}

TEST_F(Pages, LogNothing) { EXPECT_THAT(browser_.err, Not(HasSubstr("CONSOLE"))); }

TEST_F(Pages, ZoomTheirTimelines) {
  for (const Json& found : found_) {
    const std::string page = found.at("page");
    EXPECT_EQ(found.at("timelines").size(), page == "folder" ? 2U : page == "analyze" ? 1U : 0U) << page;
    for (const Json& timeline : found.at("timelines")) {
      EXPECT_EQ(timeline.at("zoomed"), 4);
      EXPECT_EQ(timeline.at("from"), 0);
      EXPECT_EQ(timeline.at("closest"), 50);
      EXPECT_EQ(timeline.at("fit"), true);
      EXPECT_GT(timeline.at("labels"), 3);
    }
  }
}

TEST_F(Pages, CopyAndSaveTablesWithoutFormulas) {
  for (const Json& found : found_) {
    EXPECT_EQ(found.at("csv"), "'=1+1,b\n-5.2,b\n+3.1 %,b\n-,b\n\"'@x,\"\"y\"\"\",b\n'+SUM(A1),b\n");
    EXPECT_EQ(found.at("tab_separated"), "'=1+1\tb\n-5.2\tb\n+3.1 %\tb\n-\tb\n'@x,\"y\"\tb\n'+SUM(A1)\tb\n");
    EXPECT_GT(found.at("tables"), 1);
    EXPECT_EQ(found.at("table_buttons"), 2 * found.at("tables").get<int>());
  }
}

TEST_F(Pages, ShowHostileNamesAsTextAndExplainTheirTerms) {
  for (const Json& found : found_) {
    EXPECT_EQ(found.at("foreign"), 0) << found.at("page");
    EXPECT_EQ(found.at("scripts"), 2) << found.at("page");  // its own and the probe
    EXPECT_GE(found.at("terms"), 8) << found.at("page");
  }
}

TEST_F(Pages, AnswerFirst) {
  for (const auto& [page, answer, after] :
       {std::tuple{"analyze", "<p class=\"found\">A step takes", "<h2>Split of the step by rank</h2>"},
        std::tuple{"compare", "<p class=\"found\">The step takes", "<h2>Where the difference went</h2>"},
        std::tuple{"gate", "<p class=\"kind verdict ", "<h2>All metrics</h2>"}}) {
    const std::string text = dom_of(page);
    EXPECT_LT(text.find(answer), text.find(after)) << page;
    EXPECT_NE(text.find(after), std::string::npos) << page;
  }
}

}  // namespace
}  // namespace underlap::hostile
