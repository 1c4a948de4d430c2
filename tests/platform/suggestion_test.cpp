// SPDX-License-Identifier: Apache-2.0
#include "platform/suggestion.hpp"

#include <gmock/gmock.h>

namespace underlap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Names = std::vector<std::string>;

struct Case {
  std::string word;
  Names names;
  Names meant;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.word; }

class Suggestions : public testing::TestWithParam<Case> {};

TEST_P(Suggestions, AreWhatAPersonMeant) {
  const auto found = suggestions(GetParam().word, GetParam().names);
  EXPECT_EQ(Names(found.begin(), found.end()), GetParam().meant);
}

const Names kHardware{"a100-sxm", "b200", "gb200", "h100-sxm", "h200-sxm", "l20"};
const Names kPresets{"gpt3-175b", "gpt3-20b", "llama3-70b", "llama3-8b", "llama3.1-405b", "nemotron4-15b", "tiny"};
const Names kSizes{"context_parallel_size", "data_parallel_size", "pipeline_model_parallel_size",
                   "tensor_model_parallel_size", "virtual_pipeline_model_parallel_size"};
const Names kFlags{"--backend", "--blocks", "--hardware", "--link", "--link-gbps", "--steps"};

INSTANTIATE_TEST_SUITE_P(
    Words, Suggestions,
    testing::Values(Case{"h100", kHardware, {"h100-sxm"}}, Case{"H100_SXM", kHardware, {"h100-sxm"}},
                    Case{"h10", kHardware, {"h100-sxm"}}, Case{"sxm", kHardware, {"a100-sxm", "h100-sxm", "h200-sxm"}},
                    Case{"b20", kHardware, {"b200", "l20"}}, Case{"tpu-v5", kHardware, {}},
                    Case{"llama3", kPresets, {"llama3-70b", "llama3-8b"}},
                    Case{"llama3.1", kPresets, {"llama3.1-405b"}},
                    Case{"llama", kPresets, {"llama3-70b", "llama3-8b", "llama3.1-405b"}},
                    Case{"lama3-8b", kPresets, {"llama3-8b"}}, Case{"tiney", kPresets, {"tiny"}},
                    Case{"tniy", kPresets, {"tiny"}}, Case{"data_parallel", kSizes, {"data_parallel_size"}},
                    Case{"tensor_parallel_size", kSizes, {"tensor_model_parallel_size"}},
                    Case{"pipeline_parallel", kSizes, {"pipeline_model_parallel_size"}},
                    Case{"--bloks", kFlags, {"--blocks"}}, Case{"--setps", kFlags, {"--steps"}},
                    Case{"--gbps", kFlags, {"--link-gbps"}}, Case{"--links", kFlags, {"--link"}},
                    Case{"analyze", {"analyze", "plan"}, {"analyze"}}, Case{"", kPresets, {}},
                    Case{std::string(100, 'a'), kPresets, {}}));

TEST(Suggestions, AreAtMostFour) {
  EXPECT_THAT(suggestions("cell", Names{"cell_1", "cell_2", "cell_3", "cell_4", "cell_5"}), testing::SizeIs(4));
}

TEST(Suggestions, AreWrittenAsAQuestion) {
  EXPECT_EQ(did_you_mean("llama3", kPresets), "; did you mean llama3-70b or llama3-8b?");
  EXPECT_EQ(did_you_mean("setps", Names{"steps"}, "run."), "; did you mean run.steps?");
  EXPECT_EQ(did_you_mean("zzzzzz", kPresets), "");
}

}  // namespace
}  // namespace underlap
