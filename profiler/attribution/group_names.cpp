// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/group_names.hpp"

#include <array>
#include <string>

#include "profiler/attribution/name_patterns.hpp"

namespace underlap::attribution {
namespace {

struct GroupRule {
  std::string_view names;  // as matches_any() reads them
  Mode mode;
  std::uint8_t confidence_pct;
  std::string_view maker;
};

// A group that serves one mode.
constexpr std::uint8_t kSure = 99;
// A group whose ranks span several modes: most of its communication is of this mode.
constexpr std::uint8_t kMixed = 70;
// A word with the same meaning in several frameworks.
constexpr std::uint8_t kWord = 90;

// The first that matches counts. Sources: Megatron-LM's parallel_state.py, the communicators that the techniques of
// impl/ declare, PyTorch's DeviceMesh (a dimension's group is called mesh_ and the dimension) with torchtitan's
// dimensions, DeepSpeed's groups.py, vLLM's and SGLang's parallel_state.py. Fails when a program gives such a name to
// other ranks: the mode is then wrong, since names count before ranks.
constexpr std::array kGroupRules{
    GroupRule{"DATA_PARALLEL_GROUP*|INTRA_PARTIAL_DATA_PARALLEL_GROUP*|INTER_PARTIAL_DATA_PARALLEL_GROUP*|"
              "INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP*|INTER_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP*|"
              "EXPERT_DATA_PARALLEL_GROUP*|INTRA_PARTIAL_EXPERT_DATA_PARALLEL_GROUP*|INTRA_EXPERT_DATA_PARALLEL_GROUP*|"
              "INTER_PARTIAL_EXPERT_DATA_PARALLEL_GROUP*|INTER_EXPERT_DATA_PARALLEL_GROUP*",
              Mode::dp, kSure, "Megatron"},
    GroupRule{"HYBRID_DP_CP_GROUP*", Mode::cp, kMixed, "Megatron"},
    GroupRule{"HIERARCHICAL_CONTEXT_PARALLEL_GROUP*|CONTEXT_PARALLEL_GROUP*", Mode::cp, kSure, "Megatron"},
    GroupRule{"TENSOR_MODEL_PARALLEL_GROUP*|EXPERT_TENSOR_PARALLEL_GROUP*", Mode::tp, kSure, "Megatron"},
    GroupRule{"EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP*", Mode::ep, kMixed, "Megatron"},
    GroupRule{"EXPERT_MODEL_PARALLEL_GROUP*", Mode::ep, kSure, "Megatron"},
    // EMBEDDING_GROUP: the tied embedding of the first and last stage alone.
    GroupRule{"PIPELINE_MODEL_PARALLEL_GROUP*|EMBEDDING_GROUP*|POSITION_EMBEDDING_GROUP*", Mode::pp, kSure, "Megatron"},
    GroupRule{"TENSOR_AND_CONTEXT_PARALLEL_GROUP*", Mode::tp, kMixed, "Megatron"},
    GroupRule{"EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP*|TENSOR_AND_DATA_PARALLEL_GROUP*|MODEL_PARALLEL_GROUP*",
              Mode::other, kMixed, "Megatron"},
    GroupRule{"GTP_WEIGHT_REMAT_GROUP*", Mode::fsdp, kMixed, "Megatron"},
    GroupRule{"tp_ring|tp_sm*", Mode::tp, kSure, "Underlap"},
    GroupRule{"pp_forward_*|pp_backward_*|pp_gather|embedding", Mode::pp, kSure, "Underlap"},
    GroupRule{"cp_ring", Mode::cp, kSure, "Underlap"},
    GroupRule{"dp_gather|dp_instances", Mode::dp, kSure, "Underlap"},
    GroupRule{"mesh_dp_shard*|mesh_fsdp*|mesh_shard*|mesh_efsdp*|mesh_hsdp*", Mode::fsdp, kWord, "DeviceMesh"},
    GroupRule{"mesh_dp*|mesh_ddp*|mesh_replicate*|mesh_data*", Mode::dp, kWord, "DeviceMesh"},
    GroupRule{"mesh_tp*|mesh_etp*|mesh_tensor*", Mode::tp, kWord, "DeviceMesh"},
    GroupRule{"mesh_pp*|mesh_pipe*", Mode::pp, kWord, "DeviceMesh"},
    GroupRule{"mesh_cp*|mesh_context*", Mode::cp, kWord, "DeviceMesh"},
    GroupRule{"mesh_sp*", Mode::cp, kMixed, "DeviceMesh"},
    GroupRule{"mesh_ep*|mesh_expert*", Mode::ep, kWord, "DeviceMesh"},
    GroupRule{"mesh_world*", Mode::other, kMixed, "DeviceMesh"},
    GroupRule{"*expert_data_parallel_group*", Mode::dp, kWord, "DeepSpeed"},
    GroupRule{"*expert_parallel_group*|ep_size_*", Mode::ep, kWord, "DeepSpeed"},
    GroupRule{"*sequence_data_parallel_group*", Mode::dp, kWord, "DeepSpeed"},
    GroupRule{"*sequence_parallel_group*", Mode::cp, kWord, "DeepSpeed"},
    GroupRule{"*zero_param_intra_parallel_group*", Mode::fsdp, kWord, "DeepSpeed"},
    GroupRule{"*data_parallel_group*", Mode::dp, kWord, "DeepSpeed"},
    GroupRule{"*tensor_model_parallel_group*", Mode::tp, kWord, "DeepSpeed"},
    GroupRule{"*pipe_parallel_group*", Mode::pp, kWord, "DeepSpeed"},
    GroupRule{"*slice_parallel_group*", Mode::tp, kWord, "DeepSpeed"},
    GroupRule{"*pipeline_parallel_group*", Mode::pp, kWord, "a framework"},
    GroupRule{"*context_parallel_group*", Mode::cp, kWord, "a framework"},
    GroupRule{"*tensor_parallel_group*", Mode::tp, kWord, "a framework"},
};

// "tp", "TP Group 0", "tp:0", "data_parallel".
constexpr std::array kWordRules{
    GroupRule{"dp|ddp|data_parallel", Mode::dp, kWord, "a framework"},
    GroupRule{"tp|tensor_parallel|attn_tp|attention_tp|moe_tp", Mode::tp, kWord, "a framework"},
    GroupRule{"pp|pipeline_parallel", Mode::pp, kWord, "a framework"},
    GroupRule{"cp|context_parallel|sequence_parallel", Mode::cp, kWord, "a framework"},
    GroupRule{"ep|moe_ep|expert_parallel", Mode::ep, kWord, "a framework"},
    GroupRule{"fsdp|hsdp", Mode::fsdp, kWord, "a framework"},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The name in lower case, without "group", a number, and what joins them: "TP Group 0" is "tp".
std::string without_number(std::string_view name) {
  std::string word;
  for (const char c : name) word += c == ' ' || c == '-' ? '_' : lower(c);
  const auto strip = [&](std::string_view end) {
    if (word.ends_with(end)) word.resize(word.size() - end.size());
  };
  while (!word.empty() && ((word.back() >= '0' && word.back() <= '9') || word.back() == ':' || word.back() == '_'))
    word.pop_back();
  strip("_group");
  return word;
}

}  // namespace

std::optional<GroupMeaning> meaning_of_group(std::string_view name) {
  for (const GroupRule& rule : kGroupRules)
    if (matches_any(rule.names, name)) return GroupMeaning{rule.mode, rule.confidence_pct, rule.maker};
  const std::string word = without_number(name);
  for (const GroupRule& rule : kWordRules)
    if (matches_any(rule.names, word)) return GroupMeaning{rule.mode, rule.confidence_pct, rule.maker};
  return std::nullopt;
}

}  // namespace underlap::attribution
