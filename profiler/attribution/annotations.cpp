// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/annotations.hpp"

#include <algorithm>

#include "profiler/attribution/kernel_rules.hpp"
#include "profiler/attribution/name_patterns.hpp"

namespace underlap::attribution {
namespace {

struct AnnotationRule {
  std::string_view names;  // as matches_any() reads them
  Mode mode;
  std::uint8_t confidence_pct;
  std::string_view only = {};  // this collective; empty: all
};

constexpr std::uint8_t kSaidByHook = 95;
constexpr std::uint8_t kSaidByMaker = 90;
constexpr std::uint8_t kSaidByPlace = 80;
constexpr std::uint32_t kNone = ~std::uint32_t{0};

// The ranges of PyTorch's FSDP and DDP, of Megatron's timers and of DeepSpeed, and the files of Megatron, Transformer
// Engine and DeepSpeed, as stack frames name them in a profile. A range around a model's whole forward pass does not
// identify its launches. Only the broadcast of buffers is DDP's own. Fails when a framework renames a range or
// file (nothing matches), or launches other communication in it (its mode is wrong).
constexpr std::array kAnnotationRules{
    // FullyShardedDataParallel._*: its hooks; .forward is the model's.
    AnnotationRule{"FSDP::*|HSDP::*|FullyShardedDataParallel._*", Mode::fsdp, kSaidByMaker},
    AnnotationRule{"DistributedDataParallel*", Mode::dp, kSaidByMaker, "broadcast"},
    AnnotationRule{"torch.distributed.ddp.reducer*", Mode::dp, kSaidByMaker},
    AnnotationRule{"*torch/distributed/fsdp/_runtime_utils.py*|*torch/distributed/fsdp/_fully_shard/*|"
                   "*torch/distributed/_composable/fsdp/*",
                   Mode::fsdp, kSaidByPlace},
    AnnotationRule{"*torch/nn/parallel/distributed.py*", Mode::dp, kSaidByPlace, "broadcast"},
    // A gradient is complete: DistributedDataParallel and Megatron-Core reduce it. A reduce-scatter may be FSDP's.
    AnnotationRule{"autograd::engine::evaluate_function: *AccumulateGrad", Mode::dp, kSaidByHook, "all_reduce"},
    // TorchRec exchanges embeddings and their indices by all-to-all, which is none of the named modes.
    AnnotationRule{"## alltoall_*|## all2all_*|All2All_*|## sparse_data_dist ##", Mode::other, kSaidByMaker,
                   "all_to_all"},
    AnnotationRule{"all-grads-sync|grads-reduce-scatter|grads-all-reduce|params-all-gather", Mode::dp, kSaidByMaker},
    AnnotationRule{"layernorm-grads-all-reduce|non-tensor-parallel-grads-all-reduce", Mode::tp, kSaidByMaker},
    AnnotationRule{"embedding-grads-all-reduce|conditional-embedder-grads-all-reduce|forward-recv|forward-send|"
                   "backward-recv|backward-send|forward-send-backward-recv|backward-send-forward-recv|"
                   "forward-backward-send-forward-backward-recv",
                   Mode::pp, kSaidByMaker},
    AnnotationRule{"*megatron/core/pipeline_parallel/p2p_communication*", Mode::pp, kSaidByPlace},
    AnnotationRule{"*megatron/core/tensor_parallel/*", Mode::tp, kSaidByPlace},
    AnnotationRule{"*megatron/core/distributed/fsdp/*", Mode::fsdp, kSaidByPlace},
    AnnotationRule{"*megatron/core/distributed/param_and_grad_buffer*|*megatron/core/optimizer/distrib_optimizer*",
                   Mode::dp, kSaidByPlace},
    AnnotationRule{"*megatron/core/transformer/moe/token_dispatcher*", Mode::ep, kSaidByPlace},
    AnnotationRule{"*context_parallel.py*", Mode::cp, kSaidByPlace},
    AnnotationRule{"*deep_ep/*", Mode::ep, kSaidByPlace},
    AnnotationRule{"*deepspeed/runtime/pipe/p2p*", Mode::pp, kSaidByPlace},
    AnnotationRule{"*deepspeed/runtime/zero/stage3*|*deepspeed/runtime/zero/partition*", Mode::fsdp, kSaidByPlace},
    AnnotationRule{"*deepspeed/runtime/zero/*", Mode::dp, kSaidByPlace},
    AnnotationRule{"*deepspeed/moe/*", Mode::ep, kSaidByPlace, "all_to_all"},
    AnnotationRule{"*deepspeed/sequence/*", Mode::cp, kSaidByPlace, "all_to_all"},
};

}  // namespace

std::optional<AnnotationMeaning> meaning_of_annotation(std::string_view name) {
  for (const AnnotationRule& rule : kAnnotationRules)
    if (matches_any(rule.names, name))
      return AnnotationMeaning{rule.mode, rule.confidence_pct, std::nullopt, rule.only};
  if (const auto collective = collective_of_annotation(name)) return AnnotationMeaning{Mode::none, 0, collective, {}};
  return std::nullopt;
}

Annotations::Annotations(const Trace& trace) : trace_(trace) {
  ByName<std::optional<AnnotationMeaning>> known;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Track& track = trace.track_of(i);
    if (track.kind != TrackKind::thread && track.kind != TrackKind::range) continue;
    const std::optional<AnnotationMeaning>& meaning = known.of(trace.name(i), meaning_of_annotation);
    if (!meaning) continue;
    const bool is_of_device = track.kind == TrackKind::range && track.device >= 0;
    rows_[{track.rank, is_of_device, track.stream}].push_back({trace.start_ns()[i], trace.end_ns(i), i, -1, *meaning});
  }
  for (auto& [row, ranges] : rows_) {
    std::ranges::stable_sort(ranges, [](const Range& a, const Range& b) {
      return std::tie(a.start_ns, b.end_ns) < std::tie(b.start_ns, a.end_ns);
    });
    for (std::size_t r = 1; r < ranges.size(); ++r) {
      auto around = static_cast<std::int64_t>(r) - 1;
      while (around >= 0 && ranges[static_cast<std::size_t>(around)].end_ns < ranges[r].end_ns)
        around = ranges[static_cast<std::size_t>(around)].enclosing;
      ranges[r].enclosing = around;
    }
  }
  if (rows_.empty()) return;
  launched_by_.assign(trace.size(), kNone);
  for (const Flow& flow : trace.flows)
    if (flow.kind == FlowKind::launch && flow.from < trace.size() && flow.to < trace.size())
      launched_by_[flow.to] = flow.from;
}

template <class Wanted>
std::optional<std::size_t> Annotations::find(const Row& row, std::int64_t time_ns, const Wanted& wanted) const {
  const auto found = rows_.find(row);
  if (found == rows_.end()) return std::nullopt;
  const std::vector<Range>& ranges = found->second;
  const auto next = std::ranges::upper_bound(ranges, time_ns, {}, &Range::start_ns);
  for (std::int64_t r = next - ranges.begin() - 1; r >= 0; r = ranges[static_cast<std::size_t>(r)].enclosing) {
    const Range& range = ranges[static_cast<std::size_t>(r)];
    if (range.end_ns >= time_ns && wanted(range.meaning)) return range.slice;
  }
  return std::nullopt;
}

template <class Wanted>
std::optional<std::size_t> Annotations::find(std::size_t slice, const Wanted& wanted) const {
  if (rows_.empty()) return std::nullopt;
  if (const std::uint32_t call = launched_by_[slice]; call != kNone) {
    const Track& thread = trace_.track_of(call);
    if (const auto found = find({thread.rank, false, thread.stream}, trace_.start_ns()[call], wanted)) return found;
  }
  const Track& stream = trace_.track_of(slice);
  return find({stream.rank, true, stream.stream}, trace_.start_ns()[slice], wanted);
}

std::optional<std::size_t> Annotations::with_mode(std::size_t slice) const {
  const std::string_view purpose = name_of(trace_.tag(slice).purpose);
  return find(slice, [&](const AnnotationMeaning& meaning) {
    return meaning.mode != Mode::none && (meaning.only.empty() || meaning.only == purpose);
  });
}

std::optional<std::size_t> Annotations::with_collective(std::size_t slice) const {
  return find(slice, [](const AnnotationMeaning& meaning) { return meaning.collective.has_value(); });
}

}  // namespace underlap::attribution
