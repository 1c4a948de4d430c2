// SPDX-License-Identifier: Apache-2.0
// Names from files are data: whatever a trace, a result, a configuration or a file name holds, no command prints what
// acts on a terminal, in Markdown or in a CI system.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platform/json.hpp"
#include "tests/hostile/hostile_inputs.hpp"

namespace underlap::hostile {
namespace {

using Json = nlohmann::ordered_json;

// What a terminal would act on or not show, and bytes that are not UTF-8.
std::optional<std::size_t> first_raw(const std::string& text) {
  static const std::regex kRaw(
      "[\\x01-\\x08\\x0b-\\x1f\\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|"
      "\xef\xbb\xbf");
  std::smatch found;
  if (!std::regex_search(text, found, kRaw)) return std::nullopt;
  return static_cast<std::size_t>(found.position());
}

void expect_harmless(const std::string& text, const std::string& what) {
  const auto raw = first_raw(text);
  EXPECT_FALSE(raw) << what << " has a raw character at " << *raw << ":\n"
                    << Json(text.substr(*raw - std::min<std::size_t>(*raw, 60), 100))
                           .dump(-1, ' ', true, Json::error_handler_t::replace);
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("##[error]"))) << what;
  EXPECT_FALSE(std::regex_search("\n" + text, std::regex("\n[ \t]*::error::x"))) << what << text;
  EXPECT_TRUE(Json::accept(json_text(Json(text)))) << what;
}

struct NameCase {
  const char* command;
  std::set<int> exit_codes;
};

void PrintTo(const NameCase& tried, std::ostream* out) { *out << tried.command; }

const std::vector<NameCase>& cases() {
  static const std::vector<NameCase> all{
      {"underlap analyze t0.json t1.json", {0}},
      {"underlap analyze --details t0.json t1.json", {0}},
      {"underlap analyze --timeline t0.json t1.json", {0}},
      {"underlap analyze t0.json t1.json --by mode purpose stream rank step kernel", {0}},
      {"underlap analyze t0.json t1.json --csv --by kernel", {0}},
      {"underlap analyze t0.json t1.json --csv --by stream", {0}},
      {"underlap analyze t0.json t1.json --json --details", {0}},
      {"underlap compare 't?.json' 'u?.json'", {0}},
      {"underlap compare --details 't?.json' 'u?.json'", {0}},
      {"underlap compare --json 't?.json' 'u?.json'", {0}},
      {"underlap compare --markdown - 't?.json' 'u?.json'", {0}},
      {"underlap gate 't?.json' 'u?.json'", {0, 1, 4}},
      {"underlap gate --json 't?.json' 'u?.json'", {0, 1, 4}},
      {"underlap gate --markdown - 't?.json' 'u?.json'", {0, 1, 4}},
      {"underlap gate --junit - 't?.json' 'u?.json'", {0, 1, 4}},
      {"GITHUB_ACTIONS=true underlap gate 't?.json' 'u?.json'", {0, 1, 4}},
      {"underlap analyze t0.json t1.json --details --html -", {0}},
      {"underlap analyze right --html -", {0}},
      {"underlap compare 't?.json' 'u?.json' --html -", {0}},
      {"underlap gate 't?.json' 'u?.json' --html -", {0, 1, 4}},
      {"underlap convert t0.json t1.json out.pftrace", {0}},
      {"underlap show spoiled", {0}},
      {"underlap show spoiled --details", {0}},
      {"underlap show spoiled --csv", {0}},
      {"underlap show spoiled --json", {0}},
      {"underlap show spoiled --html -", {0}},
      {"underlap status spoiled", {0}},
      {"underlap status spoiled --json", {0}},
      {"underlap compare spoiled right", {2}},
      {"underlap scaling spoiled right", {2}},
      {"underlap baseline save spoiled -o base.json", {0}},
      {"underlap gate right spoiled", {2}},
      {"underlap run right.yaml -o spoiled --resume", {2}},
      {"underlap plan preset.yaml", {2}},
      {"underlap plan --json preset.yaml", {2}},
      {"underlap plan --github key.yaml", {2}},
      {"underlap plan --sarif key.yaml", {2}},
      {"underlap plan raw.yaml", {2}},
      {"underlap check key.yaml", {2}},
      {"underlap run preset.yaml --dry-run", {2}},
      {"underlap tune key.yaml --gpus 2", {2}},
      {"underlap analyze f*.json", {0}},
      {"underlap analyze f*.txt", {2}},
      {"underlap analyze none\"$NAME\"", {2}},
      {"underlap plan f*.yaml", {2}},
      {"underlap show f*.txt", {2}},
      {"underlap list hardware \"$NAME\"", {2}},
      {"underlap list knobs \"$NAME\"", {2}},
      {"underlap \"$NAME\"", {2}},
      {"underlap plan \"--$NAME\"", {2}},
      {"underlap convert t0.json out\"$FILE\".pftrace", {0}},
  };
  return all;
}

class NamesFromFiles : public testing::TestWithParam<NameCase> {
 public:
  static void SetUpTestSuite() {
    set_names_for_commands();
    inputs_ = std::make_unique<Inputs>();
  }
  static void TearDownTestSuite() { inputs_.reset(); }

 protected:
  static inline std::unique_ptr<Inputs> inputs_;
};
INSTANTIATE_TEST_SUITE_P(Commands, NamesFromFiles, testing::ValuesIn(cases()));

TEST_P(NamesFromFiles, ArePrintedAsData) {
  ASSERT_EQ(inputs_->made().exit_code, 0) << inputs_->made().err;
  const Ended ended = run_in(inputs_->folder(), GetParam().command);
  EXPECT_TRUE(GetParam().exit_codes.contains(ended.exit_code)) << ended.exit_code << ended.err << ended.out;
  expect_harmless(ended.out, "standard output");
  expect_harmless(ended.err, "standard error");
  const std::string_view command = GetParam().command;
  const auto has = [&](std::string_view option) { return command.find(option) != std::string_view::npos; };
  if (has("--markdown") || has("--html") || has("--junit")) {
    EXPECT_FALSE(std::regex_search(ended.out, std::regex("[^\\\\]<img"))) << ended.out;
  }
  if (has("--markdown")) {
    EXPECT_FALSE(std::regex_search(ended.out, std::regex("[^`]@user|[^\\\\]\\]\\(http"))) << ended.out;
  }
}

}  // namespace
}  // namespace underlap::hostile
