// SPDX-License-Identifier: Apache-2.0
// Who asks where the difference went: of runs, of two cells of one, of traces.
#include <cstdlib>
#include <filesystem>

#include "platform/json.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::read_text;
using testing_support::write_text;

/// Runs of two ranks in virtual time, each of a cell with overlap off and one with it on; "wide" has smaller buckets,
/// "other" another model, "host" was measured.
class Compare : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing_support::TemporaryFolder;
    make("plain", "sim", 20000, 2);
    make("wide", "sim", 5000, 2);
    make("other", "sim", 20000, 3);
    make("host", "host", 20000, 2);
  }
  static void TearDownTestSuite() { delete folder_; }

  static void make(const std::string& name, const std::string& backend, int bucket_size, int layers) {
    const std::string config = *folder_ / (name + ".yaml");
    write_text(config, "model: {num_layers: " + std::to_string(layers) +
                           ", hidden_size: 64, ffn_hidden_size: 128, num_attention_heads: 2, num_query_groups: 2, "
                           "vocab_size: 256, seq_length: 32}\ndata_parallel_size: 2\nrun: {backend: " +
                           backend + ", steps: 2, blocks: 1, warmup: 1}\ncomm_overlap: {bucket_size: " +
                           std::to_string(bucket_size) +
                           "}\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n");
    const Outcome ran = underlap_program({"run", config, "-o", path(name)});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
  }

  static std::string path(const std::string& name) { return *folder_ / name; }

  static std::vector<std::string> traces_of(const std::string& name) {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path(name) + "/traces")) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }

  static Outcome compare(std::vector<std::string> words) {
    words.insert(words.begin(), "compare");
    return underlap_program(words);
  }

  static inline testing_support::TemporaryFolder* folder_ = nullptr;
};

void expect_sums(const nlohmann::ordered_json& change) {
  const std::int64_t delta = change["window"]["delta_ns"];
  std::int64_t operations = 0;
  for (const auto& operation : change["operations"]) operations += operation["step"]["delta_ns"].get<std::int64_t>();
  EXPECT_EQ(operations, delta);
  for (const char* by : {"by_stream", "by_purpose"}) {
    std::int64_t sum = 0;
    for (const auto& [name, part] : change[by].items()) sum += part["delta_ns"].get<std::int64_t>();
    EXPECT_EQ(sum, delta) << by;
  }
  std::int64_t modes = 0;
  for (const auto& [mode, part] : change["exposed_by_modes"].items()) modes += part["delta_ns"].get<std::int64_t>();
  EXPECT_EQ(change["contention_ns"].get<std::int64_t>() + change["decomposition_ns"].get<std::int64_t>() -
                change["concurrency_ns"].get<std::int64_t>() + modes +
                change["copy_only"]["delta_ns"].get<std::int64_t>() + change["idle"]["delta_ns"].get<std::int64_t>(),
            delta);
}

TEST_F(Compare, OfTwoRunsSaysWhatDiffersAndWhatCostMost) {
  const Outcome outcome = compare({path("plain"), path("wide")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("differs "));
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("comm_overlap.bucket_size"), HasSubstr("% longer, "), HasSubstr("grad_reduce_scatter"),
                    HasSubstr("kernels that both have (contention)"), HasSubstr("operations are matched by their tags"),
                    Not(HasSubstr("grad_reduce_scatter (added)"))));
}

TEST_F(Compare, SumsToTheNanosecond) {
  const auto json = parse_json(compare({path("plain"), path("wide"), "--json"}).out);
  EXPECT_EQ(json["schema"], "underlap.compare/1");
  ASSERT_EQ(json["comparisons"].size(), 2U);
  for (const auto& comparison : json["comparisons"]) expect_sums(comparison["change"]);
}

TEST_F(Compare, OfTwoCellsOfARun) {
  const std::string off = "overlap_grad_reduce=false", on = "overlap_grad_reduce=true";
  const Outcome outcome = compare({path("plain"), "--cells", off, on});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(off + " -> " + on + ": the step takes"));
  EXPECT_THAT(compare({path("plain"), "--cells", off, off}).out, HasSubstr("the step takes the same time"));
  EXPECT_THAT(compare({path("plain"), "--cells", off, "of"}), fails_with(2, "has no cell \"of\"; it has: " + off));
  EXPECT_THAT(compare({path("plain"), path("wide"), "--cells", off, on}), fails_with(2, "are of one run"));
}

TEST_F(Compare, OfTwoTracesAndInMarkdown) {
  const std::vector<std::string> files = traces_of("plain");
  const std::string file = *folder_ / "compare.md";
  const Outcome outcome = compare({files.at(0), files.at(1), "--markdown", file});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("differs "), HasSubstr("comm_overlap.overlap_grad_reduce  false"),
                                 HasSubstr("\nthe step takes "), Not(HasSubstr("cannot be told"))));
  EXPECT_THAT(read_text(file), AllOf(StartsWith("### "), HasSubstr("<details>"), HasSubstr("| idle |")));
}

TEST_F(Compare, RefusesOtherWorkUnlessItIsForced) {
  EXPECT_THAT(compare({path("plain"), path("other")}), fails_with(2, "model.num_layers is 2 in the baseline and 3"));
  EXPECT_THAT(compare({path("plain"), path("host")}), fails_with(2, "backend is sim in the baseline and host"));
  EXPECT_THAT(compare({traces_of("plain").at(0), traces_of("other").at(0)}),
              fails_with(2, "model.num_layers is 2 in the baseline and 3"));
  const Outcome forced = compare({path("plain"), path("host"), "--force"});
  EXPECT_EQ(forced.exit_code, 0) << forced.err;
  EXPECT_THAT(forced.out, AllOf(StartsWith("not comparable, forced: backend is sim"), Not(HasSubstr("[forced]"))));
}

TEST_F(Compare, NamesPlaceAndReasonOfBadInput) {
  fs::create_directories(path("empty"));
  EXPECT_THAT(compare({path("plain"), path("plain")}).out, HasSubstr("the step takes the same time"));
  EXPECT_THAT(compare({path("plain"), path("empty")}), fails_with(2, "is a run and"));
  EXPECT_THAT(compare({path("empty"), path("plain") + "/traces"}), fails_with(2, "/empty: is empty"));
  EXPECT_THAT(compare({path("plain.yaml"), path("wide.yaml")}), fails_with(2, "plain.yaml"));
  EXPECT_THAT(compare({path("absent"), path("absent2")}), fails_with(2, "/absent"));
  fs::create_directories(path("series"));
  fs::copy(path("plain"), path("series") + "/run-00", fs::copy_options::recursive);
  EXPECT_THAT(compare({path("plain"), path("series")}), fails_with(2, "holds several runs"));
  EXPECT_THAT(compare({path("plain"), path("wide"), "--json", "--markdown", "-"}), fails_with(2, "different outputs"));
  EXPECT_THAT(compare({path("plain")}), fails_with(2, "B is required"));
  EXPECT_THAT(compare({path("empty"), "--cells", "a", "b"}), fails_with(2, "no results.json"));
}

TEST(CompareRealTraces, OfTwoMachinesSumToTheNanosecond) {
  const char* folder = std::getenv("UNDERLAP_REAL_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_REAL_TRACES is not set";
  const std::string pair = std::string(folder) + "/pair_a100_v100/";
  const std::vector<std::string> words{"compare", pair + "control.json.gz", pair + "test.json.gz", "--json"};
  EXPECT_THAT(underlap_program(words), fails_with(2, "ranks is 8 in the baseline and 2 in the candidate"));
  std::vector<std::string> forced = words;
  forced.push_back("--force");
  const Outcome outcome = underlap_program(forced);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = parse_json(outcome.out);
  EXPECT_THAT(json["notes"].dump(), HasSubstr("cannot be told"));
  const auto& change = json["comparisons"][0]["change"];
  EXPECT_GT(change["window"]["delta_ns"].get<std::int64_t>(), 0);  // the V100 is slower
  EXPECT_EQ(change["matched_by"], "order");
  expect_sums(change);
  std::int64_t all_to_all = 0;
  for (const auto& operation : change["operations"])
    if (operation["name"] == "all_to_all" && operation["match"] == "both")
      all_to_all += operation["count"]["from"].get<std::int64_t>();
  EXPECT_GE(all_to_all, 34);  // of 35 in the baseline's steps, on other streams and beside other compute
}

}  // namespace
}  // namespace underlap::bench
