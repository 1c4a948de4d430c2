// SPDX-License-Identifier: Apache-2.0
// Who ran one matrix over more and more ranks, and asks what became of the step.
#include <filesystem>

#include "platform/json.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Modelled runs of one matrix over 2 and 8 ranks, and of another model over 4.
class ScalingCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing_support::TemporaryFolder;
    make("two", 2, 1);
    make("eight", 8, 1);
    make("other", 4, 2);
  }
  static void TearDownTestSuite() { delete folder_; }

  static void make(const std::string& name, int ranks, int layers) {
    const std::string config = *folder_ / (name + ".yaml");
    testing_support::write_text(config, "model: {num_layers: " + std::to_string(layers) +
                                            ", hidden_size: 64, ffn_hidden_size: 128, num_attention_heads: 2, "
                                            "num_query_groups: 2, vocab_size: 256, seq_length: 32}\n"
                                            "train: {micro_batch_size: 1, num_microbatches: 1}\n"
                                            "run: {backend: sim}\ndata_parallel_size: " +
                                            std::to_string(ranks) +
                                            "\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n");
    const Outcome ran = underlap_program({"run", config, "-o", path(name)});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
  }

  static std::string path(const std::string& name) { return *folder_ / name; }

  static Outcome scaling(std::vector<std::string> words) {
    words.insert(words.begin(), "scaling");
    return underlap_program(words);
  }

  static inline testing_support::TemporaryFolder* folder_ = nullptr;
};

TEST_F(ScalingCommand, SaysWhatBecameOfTheStep) {
  const Outcome outcome = scaling({path("eight"), path("two") + "/results.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("overlap_grad_reduce=false, modelled, 2 to 8 ranks (weak scaling): the step"),
                    HasSubstr("of communication is exposed after"), HasSubstr("\ncell ")));
  const Outcome detailed = scaling({path("two"), path("eight"), "--details"});
  EXPECT_THAT(detailed.out, HasSubstr("Communication by mode"));
}

TEST_F(ScalingCommand, FiguresAreThoseOfTheRuns) {
  const auto json = parse_json(scaling({path("two"), path("eight"), "--json"}).out);
  ASSERT_EQ(json["cells"].size(), 2U);
  const auto& points = json["cells"][1]["points"];
  for (const std::size_t i : {0U, 1U}) {
    const report::RunResults results = report::read_results(path(i == 0 ? "two" : "eight"));
    EXPECT_EQ(points[i]["ranks"], results.cells[1].num_ranks);
    EXPECT_DOUBLE_EQ(points[i]["step_ms"]["value"].get<double>(),
                     static_cast<double>(results.cells[1].samples.front().step_ns) / 1e6);
  }
  EXPECT_THAT(scaling({path("two"), path("eight"), "--csv"}).out, HasSubstr("overlap_grad_reduce=true," + path("two")));
}

TEST_F(ScalingCommand, TakesASeriesForOneRun) {
  std::filesystem::create_directories(path("series"));
  for (const char* run : {"run-00", "run-01"})
    std::filesystem::copy(path("two"), path("series") + "/" + run, std::filesystem::copy_options::recursive);
  const auto json = parse_json(scaling({path("series"), path("eight"), "--json"}).out);
  EXPECT_EQ(json["cells"][0]["points"][0]["runs"], 2);
}

TEST_F(ScalingCommand, NamesPlaceAndReasonOfBadInput) {
  EXPECT_THAT(scaling({path("two")}), fails_with(2, "no cell is at two sizes"));
  EXPECT_THAT(scaling({path("two"), path("two")}), fails_with(2, "/two: is named twice"));
  EXPECT_THAT(scaling({path("two"), path("other")}), fails_with(2, "model.num_layers is 1 in "));
  EXPECT_THAT(scaling({path("two"), path("absent")}), fails_with(2, "/absent: no run"));
  EXPECT_THAT(scaling({path("two"), path("eight"), "--csv", "--json"}), fails_with(2, "different outputs"));
  EXPECT_THAT(scaling({}), fails_with(2, "RUN is required"));
  EXPECT_EQ(scaling({path("two"), path("other"), "--force"}).exit_code, 0);
}

}  // namespace
}  // namespace underlap::bench
