// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto_writer/event_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "profiler/trace/enum_names.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::formats {
namespace {

constexpr EnumNames<Collective, 7> kWordsOfCollectives{
    {"_allgather_base", "_reduce_scatter_base", "allreduce", "all_to_all", "broadcast", "send", "recv"}};
constexpr EnumNames<DataType, 7> kWordsOfTypes{
    {"Float", "BFloat16", "Int", "Byte", "Double", "Float8_e4m3fn", "Float8_e5m2"}};

bool is_mixed(const std::vector<TransferRecord>& transfers) {
  return std::ranges::any_of(transfers, [&](const auto& t) { return t.collective != transfers.front().collective; });
}

// NCCL moves all that is no collective of its own in kernels named SendRecv.
std::string_view nccl_word(const CommunicationRecord& record) {
  if (is_mixed(record.transfers)) return "SendRecv";
  switch (record.transfers.front().collective) {
    case Collective::all_gather: return "AllGather";
    case Collective::reduce_scatter: return "ReduceScatter";
    case Collective::all_reduce: return "AllReduce";
    case Collective::broadcast: return "Broadcast";
    default: return "SendRecv";
  }
}

bool is_memset(std::string_view name) { return name.starts_with("Memset"); }

// "cudaLaunchKernel", "cuLaunchKernel", "hipMemcpyAsync": a prefix, and then a capital letter.
bool is_call_of(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0;
}

std::string_view category_on_stream(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::copy: return is_memset(name) ? "gpu_memset" : "gpu_memcpy";
    case Kind::none: return "cuda_sync";
    default: return "kernel";
  }
}

std::string_view category_on_thread(std::string_view name) {
  if (is_call_of("cuda", name) || is_call_of("hip", name)) return "cuda_runtime";
  return is_call_of("cu", name) ? "cuda_driver" : "cpu_op";
}

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
  return is_mixed(transfers) ? "coalesced" : kineto_word(transfers.front().collective);
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

std::string_view kineto_word(Collective collective) { return kWordsOfCollectives[collective]; }
std::string_view kineto_word(DataType dtype) { return kWordsOfTypes[dtype]; }

std::string_view kineto_category(const Trace& trace, std::size_t i) {
  const Track& track = trace.track_of(i);
  switch (track.kind) {
    case TrackKind::thread: return category_on_thread(name_of(trace.name(i)));
    case TrackKind::range: return track.device >= 0 ? "gpu_user_annotation" : "user_annotation";
    default: return category_on_stream(trace.tag(i).kind, name_of(trace.name(i)));
  }
}

std::string kineto_name(const Trace& trace, std::size_t i) {
  const std::string_view name = name_of(trace.name(i));
  const Kind kind = trace.track_of(i).kind == TrackKind::stream ? trace.tag(i).kind : Kind::none;
  const CommunicationRecord* record = trace.communication(i);
  if (kind == Kind::communication && !name.starts_with("nccl")) {
    if (record == nullptr || record->transfers.empty()) return fmt::format("ncclDevKernel({})", name);
    return fmt::format("ncclDevKernel_{}({})", nccl_word(*record), name);
  }
  if (kind == Kind::copy && !is_memset(name) && !name.starts_with("Memcpy")) return fmt::format("Memcpy ({})", name);
  return std::string(name);
}

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
