// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/communication_rules.hpp"

#include <array>

namespace underlap::attribution {
namespace {

// `scopes`: the namespaces of a name; "": none, "*": any. `names`: the rest, as matches() reads it; "name::*" would be
// a nested namespace. Both may have several, with | between them.
struct Rule {
  std::string_view library;
  std::string_view scopes;
  std::string_view names;
  std::string_view purpose = {};
  Mode mode = Mode::none;
};

// The first that matches counts. The names are those of the libraries' kernels, as of late 2026. Fails when a library
// renames a kernel: it then counts only if its stream or an annotation shows that it communicates.
constexpr std::array kRules{
    // NCCL 2.7 to 2.18 ncclKernel_AllReduce_RING_LL_Sum_float, since then ncclDevKernel_AllReduce_Sum_f32_RING_LL; on
    // symmetric memory ncclSymDevKernel_ and ncclSymkDevKernel_; RCCL has the same, and one kernel for all. NCCL before
    // 2.7: ncclAllReduceRingLLKernel_sum_f32.
    Rule{"NCCL", "", "nccl*Kernel_AllReduce*|ncclAllReduce*Kernel_*", "all_reduce"},
    Rule{"NCCL", "", "nccl*Kernel_AllGather*|ncclAllGather*Kernel_*", "all_gather"},
    Rule{"NCCL", "", "nccl*Kernel_ReduceScatter*|ncclReduceScatter*Kernel_*", "reduce_scatter"},
    Rule{"NCCL", "", "nccl*Kernel_AllToAll*", "all_to_all"},
    Rule{"NCCL", "", "nccl*Kernel_Broadcast*|ncclBroadcast*Kernel_*", "broadcast"},
    Rule{"NCCL", "", "nccl*Kernel_Reduce_*|ncclReduce*Kernel_*", "reduce"},
    Rule{"NCCL", "", "nccl*Kernel_SendRecv*|ncclSendRecv*Kernel_*|ncclKernel_*|ncclDevKernel*|ncclSym*DevKernel_*", ""},
    Rule{"NCCL", "nccl|meta::comms", "*", ""},
    Rule{"RCCL", "", "mscclKernel_*|rccl*Kernel*", ""},
    Rule{"MSCCL++", "mscclpp", "*", ""},
    // DeepEP: tokens to the ranks of their experts, and back; notify is the exchange of counts before.
    Rule{"DeepEP", "deep_ep",
         "intranode::*dispatch*|internode::*dispatch*|internode_ll::*dispatch*|hybrid_ep::*dispatch_kernel*",
         "dispatch", Mode::ep},
    Rule{"DeepEP", "deep_ep",
         "intranode::*combine*|internode::*combine*|internode_ll::*combine*|hybrid_ep::*combine_kernel*", "combine",
         Mode::ep},
    Rule{"DeepEP", "deep_ep", "intranode::barrier|internode_ll::clean_low_latency_buffer", "barrier", Mode::ep},
    Rule{"DeepEP", "deep_ep", "internode::cached_notify", "notify", Mode::ep},
    Rule{"DeepEP", "hybrid_ep", "dispatch_kernel*", "dispatch", Mode::ep},
    Rule{"DeepEP", "hybrid_ep", "combine_kernel*", "combine", Mode::ep},
    // Its ancestor in published profiles, and libraries that took it over.
    Rule{"DeepEP", "dpsk::ep", "internode::*dispatch*|intranode::*dispatch*", "dispatch", Mode::ep},
    Rule{"DeepEP", "dpsk::ep", "internode::*combine*|intranode::*combine*", "combine", Mode::ep},
    Rule{"DeepEP", "dpsk::ep", "internode::cached_notify", "notify", Mode::ep},
    Rule{"DeepEP", "primus_turbo::deep_ep", "int*node*::*dispatch*", "dispatch", Mode::ep},
    Rule{"DeepEP", "primus_turbo::deep_ep", "int*node*::*combine*", "combine", Mode::ep},
    Rule{"DeepEP", "primus_turbo::deep_ep", "int*node*::cached_notify", "notify", Mode::ep},
    Rule{"UCCL", "uccl", "int*node*::*dispatch*", "dispatch", Mode::ep},
    Rule{"UCCL", "uccl", "int*node*::*combine*", "combine", Mode::ep},
    Rule{"UCCL", "uccl", "int*node*::cached_notify", "notify", Mode::ep},
    // NVSHMEM: what it launches on a stream.
    Rule{"NVSHMEM", "", "nvshmem*", ""},
    Rule{"NVSHMEM", "", "alltoall_on_stream_kernel*", "all_to_all"},
    Rule{"NVSHMEM", "", "broadcast_on_stream_kernel*", "broadcast"},
    Rule{"NVSHMEM", "", "fcollect_on_stream_kernel*", "all_gather"},
    Rule{"NVSHMEM", "", "rdxn_on_stream_kernel*|reduce_on_stream_kernel*", "all_reduce"},
    Rule{"NVSHMEM", "", "reducescatter_on_stream_kernel*", "reduce_scatter"},
    Rule{"NVSHMEM", "",
         "barrier_on_stream_kernel*|barrier_all_on_stream_kernel*|sync_on_stream_kernel*|sync_all_on_stream_kernel*",
         "barrier"},
    // Symmetric memory and multimem, of PyTorch and of Triton kernels after it.
    Rule{"symmetric memory", "*",
         "multimem_all_reduce_kernel*|_multimem_all_reduce_kernel*|multimem_one_shot_all_reduce_kernel*|"
         "one_shot_all_reduce_kernel*|two_shot_all_reduce_kernel*",
         "all_reduce"},
    Rule{"symmetric memory", "*", "multimem_one_shot_reduce_kernel*", "reduce"},
    Rule{"symmetric memory", "*", "multimem_all_gather_kernel*|_multimem_all_gather_kernel*", "all_gather"},
    Rule{"symmetric memory", "*",
         "multimem_reduce_scatter_kernel*|_multimem_reduce_scatter_kernel*|reduce_scatter_out_kernel*",
         "reduce_scatter"},
    Rule{"symmetric memory", "*", "allToAllV*|exchangeSplitAndOffset*", "all_to_all"},
    Rule{"symmetric memory", "c10d::symmetric_memory", "barrier_kernel", "barrier"},
    Rule{"symmetric memory", "c10d::symmetric_memory", "put_signal_kernel", "send"},
    Rule{"symmetric memory", "c10d::symmetric_memory", "wait_signal_kernel", "receive"},
    // Custom all-reduces of inference engines.
    Rule{"custom all-reduce", "*", "cross_device_reduce_scatter*|reduce_scatter_cross_device_store*", "reduce_scatter"},
    Rule{"custom all-reduce", "*", "cross_device_all_gather*", "all_gather"},
    Rule{"custom all-reduce", "*",
         "cross_device_reduce_*|allreduce_prototype_*|oneShotAllReduceKernel*|twoShotAllReduceKernel*|"
         "oneshotAllreduceKernel*|twoshotAllreduceKernel*|lamportStyleOneShotAllReduceKernel*|"
         "allreduce_fusion_kernel_*shot_lamport*|allreduce_fusion_kernel_*shot_sync*",
         "all_reduce"},
    // Transformer Engine's userbuffers move inputs or results of a concurrent GEMM: tensor parallelism.
    Rule{"userbuffers", "*", "userbuffers_fp16_sum_inplace_gpu_*_rs*", "reduce_scatter", Mode::tp},
    Rule{"userbuffers", "*", "userbuffers_fp16_sum_inplace_gpu_*_ag*", "all_gather", Mode::tp},
    Rule{"userbuffers", "*", "userbuffers_fp16_sum_inplace_gpu_*", "all_reduce", Mode::tp},
    Rule{"userbuffers", "*", "userbuffers_*|kuserbuffers_pushsendrecv*", "", Mode::tp},
    Rule{"userbuffers", "*", "kuserbuffers_pullsend*|kuserbuffers_pushsend*", "send", Mode::tp},
    Rule{"userbuffers", "*", "kuserbuffers_pullrecv*|kuserbuffers_pushrecv*", "receive", Mode::tp},
};

struct ComputeRule {
  std::string_view scopes;
  std::string_view names;
  std::string_view why;
};

constexpr std::string_view kOfThisRank = "counts its own rank's tokens; nothing is transferred";
constexpr std::string_view kNamespaceComputes = "a kernel of a namespace with only compute kernels";

// Names with words of communication that are none of it. Fails when such a namespace gets kernels that communicate:
// they then count as compute.
constexpr std::array kComputeRules{
    ComputeRule{"deep_ep|primus_turbo::deep_ep|uccl", "layout::*", kOfThisRank},
    ComputeRule{"dpsk::ep", "cuda::get_dispatch_layout", kOfThisRank},
    ComputeRule{"*", "get_dispatch_layout*", kOfThisRank},
    ComputeRule{"", "kuserbuffers_inc*", "counts on its own rank; nothing is transferred"},
    ComputeRule{"", "kuserbuffers_dummy*", "does nothing"},
    ComputeRule{"cub|thrust|cutlass|at::native|at::cuda|rocprim", "*", kNamespaceComputes},
};

bool is_ascii_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_ascii_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Lower case without what joins words, so that AllReduce, all_reduce and allReduce are one word.
std::string joined_words(std::string_view name) {
  std::string words;
  for (const char c : name) {
    if (is_ascii_upper(c)) words += static_cast<char>(c - 'A' + 'a');
    if (is_ascii_lower(c) || c == ':') words += c;
  }
  return words;
}

// Fails when compute has such a word, as a "combine" of experts may: then its stream and annotations decide.
bool looks_like_communication(std::string_view qualified) {
  constexpr std::array<std::string_view, 17> kWords{
      "nccl",      "rccl",      "shmem",         "symmem",     "multimem",    "userbuffers",
      "allreduce", "allgather", "reducescatter", "alltoall",   "crossdevice", "sendrecv",
      "dispatch",  "combine",   "p2p",           "peertopeer", "deepep"};
  const std::string words = joined_words(qualified);
  return std::ranges::any_of(kWords, [&](std::string_view word) { return words.find(word) != std::string::npos; });
}

bool is_scope_of(std::string_view scope, std::string_view qualified, std::string_view& rest) {
  if (scope == "*") {
    const std::size_t last = qualified.rfind("::");
    rest = last == std::string_view::npos ? qualified : qualified.substr(last + 2);
    return true;
  }
  if (scope.empty()) {
    rest = qualified;
    return qualified.find("::") == std::string_view::npos;
  }
  if (!qualified.starts_with(scope) || !qualified.substr(scope.size()).starts_with("::")) return false;
  rest = qualified.substr(scope.size() + 2);
  return true;
}

template <class AnyRule>
bool fits(const AnyRule& rule, std::string_view qualified) {
  return any_alternative(rule.scopes, [&](std::string_view scope) {
    std::string_view rest;
    return is_scope_of(scope, qualified, rest) && matches_any(rule.names, rest);
  });
}

}  // namespace

NameMeaning meaning_of_kernel(std::string_view name) {
  using Says = NameMeaning::Says;
  const std::string qualified = qualified_name(name);
  for (const Rule& rule : kRules)
    if (fits(rule, qualified))
      return {.says = Says::communication, .library = rule.library, .purpose = rule.purpose, .mode = rule.mode};
  const bool looks = looks_like_communication(qualified);
  for (const ComputeRule& rule : kComputeRules)
    if (fits(rule, qualified)) return {.says = Says::compute, .why_not = looks ? rule.why : std::string_view{}};
  if (looks) return {.says = Says::looks_like_comm, .why_not = "no rule matches"};
  return {};
}

NameMeaning meaning_of_copy(std::string_view name) {
  constexpr std::string_view kPeer = "Memcpy PtoP*|[CUDA memcpy Peer-to-Peer]*|[CUDA memcpy PtoP]*|CopyPeerToPeer*";
  if (matches_any(kPeer, name)) return {.says = NameMeaning::Says::communication, .library = "copy engine"};
  return {};
}

std::optional<std::string_view> collective_of_annotation(std::string_view annotation) {
  struct Word {
    std::string_view patterns;
    std::string_view collective;
  };
  // PyTorch's process group writes "nccl:all_reduce", "nccl:_all_gather_base", "nccl:send 0->1"; NCCL's own ranges are
  // "ncclAllReduce".
  constexpr std::array kWords{
      Word{"nccl:*all_reduce*|nccl:*allreduce*|ncclAllReduce*", "all_reduce"},
      Word{"nccl:*all_gather*|nccl:*allgather*|ncclAllGather*", "all_gather"},
      Word{"nccl:*reduce_scatter*|ncclReduceScatter*", "reduce_scatter"},
      Word{"nccl:*all_to_all*|nccl:*alltoall*|ncclAllToAll*", "all_to_all"},
      Word{"nccl:*broadcast*|ncclBroadcast*", "broadcast"},
      Word{"nccl:send*|ncclSend*", "send"},
      Word{"nccl:recv*|ncclRecv*", "receive"},
      Word{"nccl:coalesced*", ""},
      Word{"nccl:reduce*|ncclReduce*", "reduce"},
      Word{"nccl:gather*", "gather"},
      Word{"nccl:scatter*", "scatter"},
  };
  for (const Word& word : kWords)
    if (matches_any(word.patterns, annotation)) return word.collective;
  return std::nullopt;
}

}  // namespace underlap::attribution
