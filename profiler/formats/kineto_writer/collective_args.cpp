// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto_writer/collective_args.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "profiler/formats/kineto_writer/words.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::formats {
namespace {

struct Elements {
  std::int64_t in = 0, out = 0;
};

// Bytes of a record are those of the whole buffer, which only some collectives take in or give out.
Elements elements_of(const TransferRecord& transfer, std::size_t group_size) {
  const std::int64_t whole = transfer.bytes / size_of(transfer.dtype);
  const std::int64_t part = whole / std::max<std::int64_t>(1, static_cast<std::int64_t>(group_size));
  if (transfer.collective == Collective::all_gather) return {part, whole};
  if (transfer.collective == Collective::reduce_scatter) return {whole, part};
  return {whole, whole};
}

std::string_view collective_name(const std::vector<TransferRecord>& transfers) {
  const Collective first = transfers.front().collective;
  const bool is_mixed = std::ranges::any_of(transfers, [&](const auto& t) { return t.collective != first; });
  return is_mixed ? "coalesced" : kineto_word(first);
}

std::string group_name(const Trace& trace, std::size_t group) {
  const NameId name = trace.groups[group].name;
  return name == kNoName ? std::to_string(group) : std::string(name_of(name));
}

std::string_view group_description(const GroupRecord& group) {
  if (group.description != kNoName) return name_of(group.description);
  return group.purpose != kNoName ? name_of(group.purpose) : "undefined";
}

// Peers are written as ranks of the job if the trace knows those, else as ranks of the group.
void add_peer(JsonObject& args, const GroupRecord& group, const TransferRecord& transfer, std::int32_t rank) {
  if (transfer.peer < 0) return;
  const auto peer = static_cast<std::size_t>(transfer.peer);
  const std::int32_t other = peer < group.ranks.size() ? group.ranks[peer] : transfer.peer;
  const bool sends = transfer.collective == Collective::send;
  args.add("Src Rank", sends ? rank : other);
  args.add("Dst Rank", sends ? other : rank);
}

void add_transfers(JsonObject& args, const GroupRecord& group, const std::vector<TransferRecord>& transfers,
                   std::int32_t rank) {
  Elements sum;
  for (const TransferRecord& transfer : transfers) {
    const Elements elements = elements_of(transfer, group.size());
    sum.in = saturating_add(sum.in, elements.in);
    sum.out = saturating_add(sum.out, elements.out);
  }
  args.add("Collective name", collective_name(transfers));
  args.add("In msg nelems", sum.in);
  args.add("Out msg nelems", sum.out);
  args.add("dtype", kineto_word(transfers.front().dtype));
  args.add("In split size", "[]");
  args.add("Out split size", "[]");
  if (transfers.size() == 1) add_peer(args, group, transfers.front(), rank);
}

}  // namespace

void add_collective(JsonObject& args, const Trace& trace, const CommunicationRecord& record, std::int32_t rank) {
  const GroupRecord& group = trace.groups[record.group];
  if (!record.transfers.empty()) add_transfers(args, group, record.transfers, rank);
  args.add("Group size", group.size());
  args.add("Process Group Name", group_name(trace, record.group));
  args.add("Process Group Description", group_description(group));
  args.add("Process Group Ranks", fmt::format("[{}]", fmt::join(group.ranks, ", ")));
  args.add("Seq", record.sequence);
}

void append_process_groups(std::string& out, const Trace& trace, std::int32_t rank) {
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < trace.groups.size(); ++i) {
    const auto& ranks = trace.groups[i].ranks;
    if (ranks.empty() || std::ranges::find(ranks, rank) != ranks.end()) own.push_back(i);
  }
  append_json_array(out, own, [&](std::string& to, std::size_t i) {
    const GroupRecord& group = trace.groups[i];
    JsonObject object(to);
    object.add("pg_name", group_name(trace, i));
    object.add("pg_desc", group_description(group));
    object.add("backend_config", "cuda:nccl");
    object.add("pg_size", group.size());
    append_json_array(object.member("ranks"), group.ranks);
  });
}

}  // namespace underlap::formats
