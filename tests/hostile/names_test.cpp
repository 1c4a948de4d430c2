// SPDX-License-Identifier: Apache-2.0
// Names from files are data: whatever a trace, a result, a configuration or a file name holds, no command prints what
// acts on a terminal, in Markdown or in a CI system.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platform/json.hpp"
#include "platform/temporary_folder.hpp"
#include "tests/hostile/run_case.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::hostile {
namespace {

namespace fs = std::filesystem;
using testing_support::read_text;
using testing_support::write_text;
using Json = nlohmann::ordered_json;

// A title and a cleared screen, marks that reverse and hide, C1, commands of CI systems, a mention, a link, an image.
const std::string kName =
    "N\033]0;owned\007\033[2J\u202e\u2066\u009b31m\u200b\n::error::x\r\n##[error]y\t@user|[l](http://e.com)<img "
    "src=x>`~~";

const std::string kFileName = "f\033[2J\u202e ##[error]";

Json kernel(int step, int k, int rank) {
  const bool is_transfer = k == 2;
  Json arguments{{"stream", is_transfer ? 20 : 7}, {"device", 0}, {"correlation", 10 * step + k}};
  if (is_transfer)
    arguments.update(Json{{"Collective name", "allreduce" + kName},
                          {"In msg nelems", 1000},
                          {"dtype", "Float" + kName},
                          {"Group size", 2},
                          {"Process Group Name", "pg" + kName},
                          {"Process Group Description", "group" + kName},
                          {"Process Group Ranks", "[0, 1]"}});
  return {{"ph", "X"},
          {"cat", "kernel"},
          {"name", (is_transfer ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL" : "gemm") + kName},
          {"pid", 0},
          {"tid", arguments["stream"]},
          {"ts", 100 * step + 10 + 25 * k},
          {"dur", 20 + rank + k},
          {"args", arguments}};
}

Json annotation(const std::string& category, const std::string& name, int step) {
  return {{"ph", "X"}, {"cat", category}, {"name", name}, {"pid", 1}, {"tid", 1}, {"ts", 100 * step}, {"dur", 95}};
}

Json trace(int rank) {
  Json events = Json::array();
  for (const char* field : {"process_name", "process_labels", "thread_name"})
    events.push_back(
        {{"ph", "M"}, {"name", field}, {"pid", 0}, {"tid", 7}, {"args", {{"name", kName}, {"labels", kName}}}});
  for (int step = 0; step < 4; ++step) {
    events.push_back(annotation("user_annotation", "ProfilerStep#" + std::to_string(step), step));
    events.push_back(annotation("user_annotation", "range" + kName, step));
    for (int k = 0; k < 3; ++k) {
      events.push_back({{"ph", "X"},
                        {"cat", "cuda_runtime"},
                        {"name", "cudaLaunchKernel" + kName},
                        {"pid", 1},
                        {"tid", 1},
                        {"ts", 100 * step + k},
                        {"dur", 1},
                        {"args", {{"correlation", 10 * step + k}}}});
      events.push_back(kernel(step, k, rank));
    }
  }
  return {{"schemaVersion", 1},
          {"deviceProperties", {{{"id", 0}, {"name", kName}}}},
          {"distributedInfo", {{"backend", "nccl" + kName}, {"rank", rank}, {"world_size", 2}}},
          {"traceEvents", events}};
}

// Every text of a result that is not one of a few known words.
void spoil(Json& json, const std::string& key = "") {
  static const std::set<std::string> kWords{"schema", "backend", "label"};
  if (!json.is_structured()) return;
  for (auto& [name, member] : json.items()) {
    const std::string of = json.is_object() ? name : key;
    if (member.is_string() && !kWords.contains(of))
      member = member.get<std::string>() + kName;
    else
      spoil(member, of);
  }
}

constexpr const char* kMatrix =
    "model: {preset: gpt3-20b, num_layers: 2, seq_length: 2048}\n"
    "train: {micro_batch_size: 2, global_batch_size: 8}\n"
    "run: {backend: sim, hardware: h100-sxm}\n"
    "data_parallel_size: 2\n"
    "matrix:\n"
    "  - overlap: [{name: off, comm_overlap.overlap_grad_reduce: false}, {name: on}]\n";

/// The inputs, made once.
class Inputs {
 public:
  Inputs() {
    for (int rank = 0; rank < 2; ++rank) {
      write_text(at("t" + std::to_string(rank) + ".json"), json_text(trace(rank)));
      write_text(at("u" + std::to_string(rank) + ".json"), json_text(trace(1 - rank)));
    }
    write_text(at(kFileName + ".json"), json_text(trace(0)));
    write_text(at(kFileName + ".txt"), "nothing");
    write_text(at("right.yaml"), kMatrix);
    write_text(at("preset.yaml"), "model: {preset: " + json_text(Json(kName)) + "}\n");
    write_text(at("key.yaml"), "model: {preset: tiny, " + json_text(Json(kName)) + ": 1}\n");
    write_text(at("raw.yaml"), "model: {preset: [\n" + kName);
    write_text(at(kFileName + ".yaml"), "model: {preset: x}\n");
    made_ = run_in(folder_.path(), "underlap run right.yaml -o right");
    if (made_.exit_code != 0) return;
    Json results = parse_json(read_text(at("right/results.json")));
    for (Json& cell : results["cells"]) cell["notes"].push_back("note");
    fs::create_directory(at("spoiled"));
    spoil(results);
    write_text(at("spoiled/results.json"), json_text(results));
  }

  fs::path at(const std::string& name) const { return folder_.path() / name; }
  const fs::path& folder() const { return folder_.path(); }
  const Ended& made() const { return made_; }

 private:
  TemporaryFolder folder_;
  Ended made_;
};

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
    ::setenv("PATH", (UNDERLAP_PROGRAM_FOLDER ":" + std::string(std::getenv("PATH"))).c_str(), 1);
    ::setenv("NAME", kName.c_str(), 1);
    ::setenv("FILE", kFileName.c_str(), 1);
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
