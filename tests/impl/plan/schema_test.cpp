// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "impl/plan/schema/schema.hpp"

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

TEST(Schema, NoPathIsWrittenTwice) {
  std::set<std::string_view> seen;
  for (const std::string_view path : all_paths()) EXPECT_TRUE(seen.insert(path).second) << path;
}

TEST(Schema, EveryRowSaysWhatItDoesAndWhatHoldsWithoutIt) {
  for (const Row& row : rows()) {
    EXPECT_FALSE(row.about.empty()) << row.path;
    EXPECT_FALSE(row.rule.empty()) << row.path;
    EXPECT_TRUE(row.field.store != nullptr || !row.fallback.empty()) << row.path;
    EXPECT_EQ(row.field.store == nullptr, row.field.read == nullptr) << row.path;
  }
}

TEST(Schema, WhatARowFallsBackToIsReadAsAUserWouldWriteIt) {
  const auto of = [](std::string_view path) { return fallback(find_row(path).value()); };
  EXPECT_EQ(of("model.batch_p2p_sync"), Value(true));
  EXPECT_EQ(of("comm_overlap.wgrad_deferral_limit"), Value(-1));
  EXPECT_EQ(of("comm_overlap.tp_comm_bootstrap_backend"), Value("nccl"));
  EXPECT_EQ(of("model.recompute_modules"), Value(ValueList{"core_attn"}));
  EXPECT_EQ(of("ddp.num_buckets"), Value());
}

TEST(Schema, AKeyThatIsKnownByNameAloneSetsNoField) {
  EXPECT_GE(std::ranges::count(rows(), Status::known, &Row::status), 60);
  for (const Row& row : rows()) EXPECT_FALSE(row.status == Status::known && row.field.store != nullptr) << row.path;
}

/// A value that the row accepts and that differs from most defaults.
std::string example(const Row& row) {
  switch (row.type) {
    case Type::boolean: return "true";
    case Type::integer:
    case Type::number: return row.path == "model.vocab_size" ? "256" : row.range.most <= 1 ? "0.5" : "2";
    case Type::text: return row.choices.empty() ? "words" : std::string(split_words(row.choices).back());
    case Type::any: return "[1, {a: b}]";
  }
  return "";
}

TEST(Schema, AFieldOfConfigHoldsWhatItsKeyTakes) {
  for (const Row& row : rows()) {
    if (row.field.store == nullptr) continue;
    const Value value = row.type == Type::boolean   ? Value(true)
                        : row.type == Type::integer ? Value(std::int64_t{2})
                        : row.type == Type::number  ? Value(0.5)
                                                    : Value(example(row));
    Config config;
    row.field.store(config, value);
    EXPECT_EQ(row.field.read(config), value) << row.path;
  }
}

TEST(Schema, EveryKeyIsReadUnderEverySpellingAndReported) {
  for (const std::string_view path : all_paths()) {
    const Row& row = rows()[find_row(path).value()];
    const auto dot = path.find('.');
    const std::string key = dot == path.npos ? std::string(path) : std::string(path.substr(0, dot));
    const std::string value =
        dot == path.npos ? example(row) : "{" + std::string(path.substr(dot + 1)) + ": " + example(row) + "}";
    const Plan plan = parse(key + ": " + value, "f").cells.at(0).plan;
    for (const Message& error : plan.errors) EXPECT_THAT(error.message, Not(HasSubstr("unknown key"))) << path;
    EXPECT_NE(knob_of(plan, std::string(row.path)).requested, Value()) << path;
  }
}

TEST(Schema, KnowsEveryFieldOfBridgesCommOverlapConfig) {
  for (const char* field :
       {"tp_comm_overlap", "tp_comm_overlap_cfg", "tp_comm_bootstrap_backend", "overlap_p2p_comm", "batch_p2p_comm",
        "overlap_grad_reduce", "overlap_param_gather", "overlap_param_gather_with_optimizer_step", "align_param_gather",
        "bucket_size", "defer_embedding_wgrad_compute", "wgrad_deferral_limit", "data_parallel_size",
        "overlap_moe_expert_parallel_comm", "delay_wgrad_compute"})
    EXPECT_TRUE(find_row(std::string("comm_overlap.") + field)) << field;
}

/// The fields of one dataclass of Megatron, and the section they stand in.
struct FieldList {
  std::string section;
  std::string fields;
};

class KnownFields : public testing::TestWithParam<FieldList> {};

TEST_P(KnownFields, AreAllKeys) {
  for (const std::string_view field : split_words(GetParam().fields))
    EXPECT_TRUE(find_row(GetParam().section + "." + std::string(field))) << GetParam().section << "." << field;
}

INSTANTIATE_TEST_SUITE_P(
    OfMegatron, KnownFields,
    testing::Values(
        FieldList{"model",
                  "tp_comm_overlap tp_comm_bulk_dgrad tp_comm_bulk_wgrad tp_comm_overlap_ag tp_comm_overlap_rs "
                  "tp_comm_overlap_rs_dgrad tp_comm_overlap_disable_qkv tp_comm_overlap_disable_fc1 tp_comm_split_ag "
                  "tp_comm_split_rs tp_comm_atomic_ag tp_comm_atomic_rs tp_comm_bootstrap_backend tp_comm_overlap_cfg "
                  "overlap_p2p_comm batch_p2p_comm batch_p2p_sync overlap_p2p_comm_warmup_flush "
                  "use_ring_exchange_p2p variable_seq_lengths deallocate_pipeline_outputs "
                  "microbatch_group_size_per_vp_stage defer_embedding_wgrad_compute wgrad_deferral_limit "
                  "overlap_moe_expert_parallel_comm delay_wgrad_compute "
                  "overlap_dispatch_backward_with_experts_wgrad ep_overlap_early_attn_memory_release "
                  "high_priority_a2a_comm_stream moe_shared_expert_overlap cp_comm_type "
                  "hierarchical_context_parallel_sizes gradient_accumulation_fusion no_sync_func grad_sync_func "
                  "param_sync_func finalize_model_grads_func barrier_with_L1_time high_priority_stream_groups"},
        FieldList{"model.tp_comm_overlap_cfg",
                  "qkv_fprop qkv_dgrad qkv_wgrad proj_fprop proj_dgrad proj_wgrad fc1_fprop fc1_dgrad fc1_wgrad "
                  "fc2_fprop fc2_dgrad fc2_wgrad"},
        FieldList{"ddp",
                  "grad_reduce_in_fp32 overlap_grad_reduce overlap_param_gather align_param_gather align_grad_reduce "
                  "use_distributed_optimizer num_distributed_optimizer_instances bucket_size num_buckets "
                  "pad_buckets_for_high_nccl_busbw average_in_collective reduce_scatter_with_fp32_accumulation "
                  "param_name_patterns_for_fp32_local_accumulation check_for_nan_in_grad check_for_large_grads "
                  "fp8_param_gather fp4_param_gather reuse_grad_buf_for_mxfp8_param_ag nccl_ub "
                  "disable_symmetric_registration fsdp_manual_registration fsdp_double_buffer delay_wgrad_compute "
                  "use_megatron_fsdp data_parallel_sharding_strategy suggested_communication_unit_size "
                  "fsdp_all_gather_in_start_param_sync megatron_fsdp_main_params_dtype "
                  "megatron_fsdp_main_grads_dtype megatron_fsdp_grad_comm_dtype"},
        FieldList{"optimizer",
                  "use_distributed_optimizer overlap_param_gather overlap_param_gather_with_optimizer_step "
                  "reuse_grad_buf_for_mxfp8_param_ag"},
        FieldList{"mixed_precision",
                  "bf16 fp16 fp8 fp8_recipe fp4 fp4_recipe fp8_param fp8_param_gather fp4_param_gather "
                  "grad_reduce_in_fp32 first_last_layers_bf16 num_layers_at_start_in_bf16 num_layers_at_end_in_bf16 "
                  "reuse_grad_buf_for_mxfp8_param_ag"}),
    [](const auto& list) {
      std::string name = list.param.section;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST(Schema, KnobsOfPipelinesAndContextsAreHonoured) {
  for (const char* name :
       {"model.cp_comm_type", "model.hierarchical_context_parallel_sizes", "model.batch_p2p_sync",
        "model.overlap_p2p_comm_warmup_flush", "model.deallocate_pipeline_outputs",
        "model.microbatch_group_size_per_vp_stage", "comm_overlap.overlap_p2p_comm", "comm_overlap.batch_p2p_comm",
        "comm_overlap.defer_embedding_wgrad_compute", "comm_overlap.wgrad_deferral_limit",
        "comm_overlap.align_param_gather", "comm_overlap.overlap_param_gather_with_optimizer_step",
        "ddp.align_grad_reduce", "ddp.num_distributed_optimizer_instances", "extensions.bucket_every_stage",
        "extensions.overlap_without_virtual_stages", "extensions.release_by_event",
        "extensions.scatter_gather_tensors_in_pipeline", "extensions.cp_overlap"})
    EXPECT_EQ(rows()[find_row(name).value()].status, Status::honoured) << name;
}

TEST(Schema, KnownKnobsListEveryRow) {
  const auto knobs = known_knobs();
  ASSERT_EQ(knobs.size(), rows().size());
  const auto steps = std::ranges::find_if(knobs, [](const KnobInfo& k) { return k.name == "run.steps"; });
  ASSERT_NE(steps, knobs.end());
  EXPECT_EQ(steps->status, "honoured");
  EXPECT_EQ(steps->type, "a whole number from 1 to 4095");
  EXPECT_EQ(steps->default_rule, std::to_string(RunConfig{}.steps) + "; 1 with backend sim");
}

TEST(Schema, AKeyWhoseEffectIsNotPlannedSaysWhatIsLacking) {
  int num = 0;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Row& row = rows()[i];
    if (row.lacks.empty()) continue;
    ++num;
    const std::string value = row.type == Type::boolean ? "true" : row.type == Type::integer ? "2" : "other";
    const auto notices = [&](const std::string& written) {
      return plan_of(fmt::format("model: {{preset: tiny}}\n{}: {}\n", row.path, written)).notices;
    };
    const auto is_told = Contains(testing::Field(&Message::message, HasSubstr(std::string(row.lacks))));
    EXPECT_THAT(notices(value), is_told) << row.path;
    EXPECT_THAT(notices(std::string(row.fallback)), Not(is_told)) << row.path;
  }
  EXPECT_GE(num, 15);
}

}  // namespace
}  // namespace underlap::plan
