// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

const std::string kTwoTensorRanks = "tensor_model_parallel_size: 2";
const std::string kCp2 = "context_parallel_size: 2";
const std::string kTwoStages = "pipeline_model_parallel_size: 2";

Plan plan_with(const std::string& model, const std::string& environment, const std::string& dp = "1") {
  return plan_of("model: {preset: tiny, num_layers: 8, " + model + "}\ntrain: {num_microbatches: 8}\n" +
                 "data_parallel_size: " + dp + "\nenvironment: {" + environment + "}\n");
}

/// The value of a variable of the launch environment; nullopt where it is not set.
std::optional<std::string> variable(const Plan& plan, const std::string& name) {
  for (const EnvironmentVariable& v : plan.environment)
    if (v.name == name) return v.value;
  return std::nullopt;
}

struct Connections {
  std::string arch;
  std::string model;
  std::string dp;
  std::string extra;
  int expected;
};

class ConnectionsRule : public testing::TestWithParam<Connections> {};

TEST_P(ConnectionsRule, FollowsThePluginsTable) {
  const auto& [arch, model, dp, extra, expected] = GetParam();
  const Plan plan = plan_with(model, "gpu_arch: " + arch + extra, dp);
  EXPECT_EQ(variable(plan, "CUDA_DEVICE_MAX_CONNECTIONS"), std::to_string(expected));
  EXPECT_EQ(plan.config.environment.cuda_device_max_connections, expected);
  EXPECT_EQ(plan.config.environment.gpu_arch, arch);
}

const std::string kDeepEp = ", moe_flex_dispatcher_backend: deepep";
const std::string kHybridEp = ", moe_flex_dispatcher_backend: hybridep";
const std::string kAllToAll = ", a2a_overlap: true";

INSTANTIATE_TEST_SUITE_P(
    Environment, ConnectionsRule,
    testing::Values(
        Connections{"h100", "", "2", "", 8}, Connections{"a100", kTwoStages, "2", "", 8},
        Connections{"h100", kTwoTensorRanks, "1", "", 1}, Connections{"h100", kTwoTensorRanks, "2", "", 1},
        Connections{"h200", kCp2, "1", "", 1}, Connections{"h100", kCp2 + ", " + kTwoStages, "2", "", 1},
        Connections{"h100", kTwoStages, "1", "", 8}, Connections{"b200", kCp2, "1", "", 8},
        Connections{"h100", kTwoTensorRanks, "2", kAllToAll, 8}, Connections{"h100", "", "2", kDeepEp, 32},
        Connections{"h100", kTwoTensorRanks, "2", kDeepEp, 1},
        Connections{"h100", kCp2, "2", kHybridEp + kAllToAll, 32}, Connections{"b200", "", "1", "", 8},
        Connections{"b300", kTwoStages, "2", "", 8}, Connections{"b200", kTwoTensorRanks, "1", "", 8},
        Connections{"b200", kTwoTensorRanks, "2", "", 32}, Connections{"gb200", kCp2 + ", " + kTwoStages, "1", "", 32},
        Connections{"b200", "", "2", kAllToAll, 8}, Connections{"b200", kTwoTensorRanks, "2", kAllToAll, 32},
        Connections{"b200", "", "2", kHybridEp, 32}, Connections{"gb300", kTwoTensorRanks, "1", kDeepEp, 32}));

struct Margin {
  std::string environment;
  int expected;
};

class MarginRule : public testing::TestWithParam<Margin> {};

TEST_P(MarginRule, IsWrittenForBothDirectionsAndInConfig) {
  const Plan plan = plan_with("", GetParam().environment);
  const auto expected = GetParam().expected > 0 ? std::optional(std::to_string(GetParam().expected)) : std::nullopt;
  EXPECT_EQ(variable(plan, "NVTE_FWD_LAYERNORM_SM_MARGIN"), expected);
  EXPECT_EQ(variable(plan, "NVTE_BWD_LAYERNORM_SM_MARGIN"), expected);
  EXPECT_EQ(plan.config.environment.layernorm_sm_margin, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Environment, MarginRule,
                         testing::Values(Margin{"", 16}, Margin{"layernorm_sm_margin: 10", 10},
                                         Margin{"moe_flex_dispatcher_backend: deepep", 16},
                                         Margin{"moe_flex_dispatcher_backend: hybridep", 16},
                                         Margin{"moe_flex_dispatcher_backend: deepep, layernorm_sm_margin: 12", 12},
                                         Margin{"enable_layernorm_sm_margin: false", 0},
                                         Margin{"enable_layernorm_sm_margin: false, layernorm_sm_margin: 20", 0}));

TEST(Environment, AMarginThatIsSwitchedOffIsShownAsGated) {
  const Plan plan = plan_with("", "enable_layernorm_sm_margin: false, layernorm_sm_margin: 20");
  EXPECT_EQ(outcome(plan, "environment.layernorm_sm_margin"), "0 gate");
}

TEST(Environment, TheUserOverridesTheRule) {
  const Plan plan = plan_with(kTwoTensorRanks, "cuda_device_max_connections: 16");
  EXPECT_EQ(plan.environment.at(0).value, "16");
  EXPECT_THAT(plan.environment.at(0).reason, HasSubstr("the rule gives 1"));
  EXPECT_EQ(plan.config.environment.cuda_device_max_connections, 16);
}

TEST(Environment, ChunkSizeIsForPipelinesThatAskForIt) {
  const Plan plan = plan_with(kTwoStages, "nccl_pp_comm_chunksize: 2097152");
  EXPECT_EQ(variable(plan, "NCCL_P2P_NET_CHUNKSIZE"), "2097152");
  EXPECT_EQ(plan.config.environment.nccl_pp_comm_chunksize, 2097152);
  const Plan without_pipeline = plan_with("", "nccl_pp_comm_chunksize: 2097152");
  EXPECT_EQ(variable(without_pipeline, "NCCL_P2P_NET_CHUNKSIZE"), std::nullopt);
  EXPECT_EQ(without_pipeline.config.environment.nccl_pp_comm_chunksize, std::nullopt);
  EXPECT_EQ(variable(plan_with(kTwoStages, ""), "NCCL_P2P_NET_CHUNKSIZE"), std::nullopt);
}

TEST(Environment, CommunicationGoesFirstWhereTheRuleGivesManyQueues) {
  const Plan many = plan_with(kTwoTensorRanks, "gpu_arch: b200", "2");
  EXPECT_EQ(variable(many, "CUDA_DEVICE_MAX_CONNECTIONS"), "32");
  EXPECT_EQ(variable(many, "TORCH_NCCL_HIGH_PRIORITY"), "1");
  EXPECT_TRUE(many.config.environment.torch_nccl_high_priority);
  EXPECT_EQ(outcome(many, "environment.torch_nccl_high_priority"), "true auto");
  const Plan refused = plan_with(kTwoTensorRanks, "gpu_arch: b200, torch_nccl_high_priority: false", "2");
  EXPECT_FALSE(refused.config.environment.torch_nccl_high_priority);
  EXPECT_EQ(variable(refused, "TORCH_NCCL_HIGH_PRIORITY"), std::nullopt);
  EXPECT_FALSE(plan_with("", "gpu_arch: b200", "2").config.environment.torch_nccl_high_priority) << "8 queues";
  EXPECT_FALSE(plan_with(kTwoTensorRanks, "", "2").config.environment.torch_nccl_high_priority) << "one queue";
}

TEST(Environment, PriorityOfCommunicationIsOffUntilAskedFor) {
  EXPECT_FALSE(plan_with("", "").config.environment.torch_nccl_high_priority);
  EXPECT_EQ(variable(plan_with("", ""), "TORCH_NCCL_HIGH_PRIORITY"), std::nullopt);
  const Plan plan = plan_with("", "torch_nccl_high_priority: true");
  EXPECT_TRUE(plan.config.environment.torch_nccl_high_priority);
  EXPECT_EQ(variable(plan, "TORCH_NCCL_HIGH_PRIORITY"), "1");
}

TEST(Environment, VboostIsPlannedAndRefused) {
  const Plan plan = plan_with("", "enable_vboost: true");
  EXPECT_THAT(lines_of(plan.not_run), Only("environment.enable_vboost is recognized"));
}

TEST(Environment, ManualCollectionIsAcceptedAndChangesNothing) {
  const Plan plan = plan_with("", "enable_manual_gc: false, manual_gc_interval: 7");
  EXPECT_TRUE(plan.not_run.empty());
  EXPECT_EQ(plan.environment.size(), 3U);
}

TEST(Environment, UserBuffersAskNcclForFewSms) {
  const auto with = [](const std::string& ddp, const std::string& ranks) {
    return plan_of("model: {preset: tiny}\nrun: {backend: cuda}\ndata_parallel_size: " + ranks + "\nddp: {" + ddp +
                   "}\n");
  };
  for (const char* name : {"NCCL_NVLS_ENABLE", "NCCL_CTA_POLICY"}) {
    EXPECT_EQ(variable(with("nccl_ub: true", "2"), name), "1");
    EXPECT_EQ(variable(with("nccl_ub: false", "2"), name), std::nullopt);
    EXPECT_EQ(variable(with("nccl_ub: true", "1"), name), std::nullopt) << "no gradients to reduce";
  }
}

}  // namespace
}  // namespace underlap::plan
