// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/attribution/hidden_tags.hpp"

#include <fmt/format.h>

namespace underlap::testing_support {
namespace {

std::string_view nccl_word(const CommunicationRecord* record) {
  if (record == nullptr || record->transfers.empty()) return "Generic";
  switch (record->transfers.front().collective) {
    case Collective::all_gather: return "AllGather_RING_LL";
    case Collective::reduce_scatter: return "ReduceScatter_Sum_bf16_RING_LL";
    case Collective::all_reduce: return "AllReduce_Sum_f32_RING_LL";
    case Collective::broadcast: return "Broadcast_RING_LL";
    case Collective::all_to_all:
    case Collective::send:
    case Collective::receive: break;
  }
  return "SendRecv";
}

std::string_view megatron_name(Mode mode, std::string_view purpose) {
  if (purpose == "embedding_grad_all_reduce") return "EMBEDDING_GROUP";
  switch (mode) {
    case Mode::dp: return "DATA_PARALLEL_GROUP_WITH_CP";
    case Mode::tp: return "TENSOR_MODEL_PARALLEL_GROUP";
    case Mode::pp: return "PIPELINE_MODEL_PARALLEL_GROUP";
    case Mode::cp: return "CONTEXT_PARALLEL_GROUP";
    default: return "MODEL_PARALLEL_GROUP";
  }
}

void hide_groups(const Trace& ours, const HiddenTags& how, Trace& hidden) {
  hidden.groups = ours.groups;
  for (std::size_t g = 0; g < hidden.groups.size(); ++g) {
    GroupRecord& group = hidden.groups[g];
    group.description = how.groups == HiddenTags::Groups::exported ? group.purpose : intern("undefined");
    group.purpose = kNoName;
    group.name = intern(std::to_string(g));
    group.num_ranks = static_cast<std::int32_t>(group.ranks.size());
    if (!how.has_ranks) group.ranks.clear();
  }
  if (how.groups != HiddenTags::Groups::named) return;
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (const CommunicationRecord* record = ours.communication(i))
      hidden.groups[record->group].description = intern(megatron_name(ours.tag(i).mode, name_of(ours.tag(i).purpose)));
}

}  // namespace

Trace hide_tags(const Trace& ours, const HiddenTags& how) {
  Trace hidden;
  hidden.metadata["format"] = "kineto";
  hidden.reserve(ours.size());
  for (Track track : ours.tracks) {
    track.name = fmt::format("stream {}", track.stream);
    hidden.tracks.push_back(track);
  }
  if (how.groups != HiddenTags::Groups::unknown) hide_groups(ours, how, hidden);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    Slice slice = ours.slice(i);
    const CommunicationRecord* record = ours.communication(i);
    const bool communicates = slice.tag.kind == Kind::communication;
    if (communicates)
      slice.name = intern(fmt::format("ncclDevKernel_{}(ncclDevKernelArgsStorage<4096ul>)", nccl_word(record)));
    slice.tag = {.kind = communicates ? Kind::compute : slice.tag.kind};
    slice.attribution = kNotAttributed;
    slice.operation = 0;
    if (communicates && record != nullptr && how.groups != HiddenTags::Groups::unknown)
      hidden.add(slice, {.group = record->group, .transfers = record->transfers});
    else
      hidden.add(slice);
  }
  return hidden;
}

}  // namespace underlap::testing_support
