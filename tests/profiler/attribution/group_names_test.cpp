// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/group_names.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace underlap::attribution {
namespace {

TEST(GroupNames, SayTheModeOfWhatFrameworksCallTheirGroups) {
  struct Case {
    std::string_view name;
    Mode mode;
  };
  constexpr Case kCases[] = {
      {"DATA_PARALLEL_GROUP_WITH_CP", Mode::dp},
      {"DATA_PARALLEL_GROUP_GLOO", Mode::dp},
      {"INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", Mode::dp},
      {"EXPERT_DATA_PARALLEL_GROUP", Mode::dp},
      {"TENSOR_MODEL_PARALLEL_GROUP", Mode::tp},
      {"PIPELINE_MODEL_PARALLEL_GROUP", Mode::pp},
      {"EMBEDDING_GROUP", Mode::pp},
      {"CONTEXT_PARALLEL_GROUP", Mode::cp},
      {"HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L1", Mode::cp},
      {"EXPERT_MODEL_PARALLEL_GROUP", Mode::ep},
      {"EXPERT_TENSOR_PARALLEL_GROUP", Mode::tp},
      {"MODEL_PARALLEL_GROUP", Mode::other},
      {"mesh_dp", Mode::dp},
      {"mesh_dp_shard_cp", Mode::fsdp},
      {"mesh_dp_replicate", Mode::dp},
      {"mesh_tp", Mode::tp},
      {"mesh_ep", Mode::ep},
      {"expert_data_parallel_group", Mode::dp},
      {"ep_size_8", Mode::ep},
      {"TP Group 0", Mode::tp},
      {"tp:0", Mode::tp},
      {"dp", Mode::dp},
      {"attn_tp", Mode::tp},
      {"tp_sm16_cga2", Mode::tp},
      {"pp_forward_0_1", Mode::pp},
  };
  for (const Case& c : kCases) {
    const auto meaning = meaning_of_group(c.name);
    ASSERT_TRUE(meaning) << c.name;
    EXPECT_EQ(meaning->mode, c.mode) << c.name;
    EXPECT_GT(meaning->confidence_pct, 0) << c.name;
  }
}

TEST(GroupNames, SayNothingWhereTheNameSaysNothing) {
  for (const std::string_view name : {"", "undefined", "default_pg", "0", "17", "group", "world", "ptp", "tpx"})
    EXPECT_FALSE(meaning_of_group(name)) << name;
}

TEST(GroupNames, TrustMixedGroupsLess) {
  EXPECT_LT(meaning_of_group("MODEL_PARALLEL_GROUP")->confidence_pct,
            meaning_of_group("TENSOR_MODEL_PARALLEL_GROUP")->confidence_pct);
}

}  // namespace
}  // namespace underlap::attribution
