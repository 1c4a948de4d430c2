// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/arguments.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

#include "profiler/formats/kineto/collective_arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"

namespace underlap::formats::pftrace {
namespace {

enum class Key : std::uint8_t {
  device,
  stream,
  agent,
  from_agent,
  to_agent,
  correlation,
  external_id,
  bytes,
  grid,
  block,
  grid_threads,
  block_threads,
  awaited_stream,
  record_id,
  begin_ns,
  end_ns,
  nccl_group,
  nccl_ranks,
  nccl_function,
  nccl_type,
  nccl_count,
  nccl_sequence,
  peer,
  collective  // take_collective_argument() knows it
};

// The names of PyTorch's debug annotations, of the extra data of its render stages, and of rocprofv3's annotations.
const std::unordered_map<std::string_view, Key>& keys() {
  static const std::unordered_map<std::string_view, Key> kKeys{{"device", Key::device},
                                                               {"device id", Key::device},
                                                               {"stream", Key::stream},
                                                               {"stream id", Key::stream},
                                                               {"stream_ID", Key::stream},
                                                               {"agent", Key::agent},
                                                               {"src_agent", Key::from_agent},
                                                               {"dst_agent", Key::to_agent},
                                                               {"correlation", Key::correlation},
                                                               {"corr_id", Key::correlation},
                                                               {"External id", Key::external_id},
                                                               {"external id", Key::external_id},
                                                               {"bytes", Key::bytes},
                                                               {"copy_bytes", Key::bytes},
                                                               {"grid", Key::grid},
                                                               {"block", Key::block},
                                                               {"grid_size", Key::grid_threads},
                                                               {"workgroup_size", Key::block_threads},
                                                               {"wait_on_stream", Key::awaited_stream},
                                                               {"wait_on_cuda_event_record_corr_id", Key::record_id},
                                                               {"begin_ns", Key::begin_ns},
                                                               {"end_ns", Key::end_ns},
                                                               {"pg_name", Key::nccl_group},
                                                               {"process_group", Key::nccl_group},
                                                               {"process_group_ranks", Key::nccl_ranks},
                                                               {"func", Key::nccl_function},
                                                               {"datatype", Key::nccl_type},
                                                               {"count", Key::nccl_count},
                                                               {"seq", Key::nccl_sequence},
                                                               {"peer", Key::peer},
                                                               {"dtype", Key::collective},
                                                               {"Collective name", Key::collective},
                                                               {"In msg nelems", Key::collective},
                                                               {"Out msg nelems", Key::collective},
                                                               {"Group size", Key::collective},
                                                               {"Process Group Name", Key::collective},
                                                               {"Process Group Description", Key::collective},
                                                               {"Process Group Ranks", Key::collective},
                                                               {"Global rank start", Key::collective},
                                                               {"Global rank stride", Key::collective},
                                                               {"Seq", Key::collective},
                                                               {"Src Rank", Key::collective},
                                                               {"Dst Rank", Key::collective},
                                                               {"In split size", Key::collective},
                                                               {"Out split size", Key::collective}};
  return kKeys;
}

template <class Number>
Number within(std::string_view text, Number otherwise) {
  using Limits = std::numeric_limits<Number>;
  const auto number = integer_of(text);
  return number && Limits::min() <= *number && *number <= static_cast<std::int64_t>(Limits::max())
             ? static_cast<Number>(*number)
             : otherwise;
}

// The number of "GPU-0"; -1 for another agent.
std::int32_t device_of_agent(std::string_view agent) {
  constexpr std::string_view kGpu = "GPU-";
  return agent.starts_with(kGpu) ? within<std::int32_t>(agent.substr(kGpu.size()), -1) : -1;
}

// The members of "[132, 1, 1]".
std::array<std::uint32_t, 3> three(std::string_view list) {
  constexpr std::string_view kDigits = "0123456789";
  std::array<std::uint32_t, 3> sizes{};
  std::size_t at = list.find_first_of(kDigits);
  for (std::size_t i = 0; i < sizes.size() && at < list.size(); ++i) {
    const std::size_t end = std::min(list.find_first_not_of(kDigits, at), list.size());
    sizes.at(i) = within<std::uint32_t>(list.substr(at, end - at), 0);
    at = list.find_first_of(kDigits, end);
  }
  return sizes;
}

// What PyTorch calls an element type of NCCL; "" for one that it does not have.
std::string_view type_of(std::string_view nccl) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kTypes{{{"ncclFloat32", "Float"},
                                                                                  {"ncclFloat", "Float"},
                                                                                  {"ncclFloat16", "Half"},
                                                                                  {"ncclHalf", "Half"},
                                                                                  {"ncclBfloat16", "BFloat16"},
                                                                                  {"ncclFloat64", "Double"},
                                                                                  {"ncclDouble", "Double"},
                                                                                  {"ncclInt8", "Char"},
                                                                                  {"ncclUint8", "Byte"},
                                                                                  {"ncclInt32", "Int"},
                                                                                  {"ncclInt", "Int"},
                                                                                  {"ncclInt64", "Long"},
                                                                                  {"ncclFloat8e4m3", "Float8_e4m3fn"},
                                                                                  {"ncclFloat8e5m2", "Float8_e5m2"}}};
  const auto found = std::ranges::find(kTypes, nccl, &std::pair<std::string_view, std::string_view>::first);
  return found == kTypes.end() ? std::string_view() : found->second;
}

}  // namespace

bool is_used_argument(std::string_view key) { return keys().contains(key); }

void take_argument(Arguments& arguments, std::string_view key, std::string_view text) {
  const auto found = keys().find(key);
  if (found == keys().end()) return;
  KinetoWork& work = arguments.work;
  KinetoCollective& collective = arguments.collective;
  if (found->second != Key::external_id) arguments.is_empty = false;
  switch (found->second) {
    case Key::device: work.device = within<std::int32_t>(text, -1); break;
    case Key::stream:
      work.stream = within<std::int32_t>(text, -1);
      work.has_stream = work.stream >= 0;
      break;
    case Key::agent: work.device = device_of_agent(text); break;
    case Key::from_agent: arguments.from_device = device_of_agent(text); break;
    case Key::to_agent: arguments.to_device = device_of_agent(text); break;
    case Key::correlation: arguments.correlation = within<std::int64_t>(text, -1); break;
    case Key::external_id: work.external_id = within<std::int64_t>(text, -1); break;
    case Key::bytes: work.shape.bytes = std::max<std::int64_t>(0, within<std::int64_t>(text, 0)); break;
    case Key::grid: work.shape.grid = three(text); break;
    case Key::block: work.shape.block = three(text); break;
    case Key::grid_threads: arguments.grid_threads = within<std::uint32_t>(text, 0); break;
    case Key::block_threads: arguments.block_threads = within<std::uint32_t>(text, 0); break;
    case Key::awaited_stream: work.awaited_stream = within<std::int32_t>(text, -1); break;
    case Key::record_id: work.record_id = within<std::int64_t>(text, -1); break;
    case Key::begin_ns: arguments.begin_ns = within<std::int64_t>(text, -1); break;
    case Key::end_ns: arguments.end_ns = within<std::int64_t>(text, -1); break;
    case Key::nccl_group: collective.group_name = intern(text); break;
    case Key::nccl_ranks: collective.group_ranks = intern(text); break;
    case Key::nccl_function: collective.name = intern(collective_of_function(text)); break;
    case Key::nccl_type: collective.dtype = intern(type_of(text)); break;
    case Key::nccl_count: collective.in_elements = within<std::int64_t>(text, 0); break;
    case Key::nccl_sequence: collective.sequence = within<std::int64_t>(text, -1); break;
    case Key::peer: collective.peer = within<std::int64_t>(text, -1); break;
    case Key::collective:
      take_collective_argument(
          collective, [&](std::string_view name) { return key == name; }, [&] { return text; },
          [](std::string_view value) { return intern(value); });
  }
}

void finish_arguments(Arguments& arguments) {
  KinetoWork& work = arguments.work;
  if (arguments.block_threads > 0) {
    work.shape.grid = {arguments.grid_threads / arguments.block_threads, 1, 1};
    work.shape.block = {arguments.block_threads, 1, 1};
  }
  if (work.device < 0) work.device = arguments.to_device;
  if (work.device < 0) work.device = arguments.from_device;
}

std::string_view collective_of_function(std::string_view function) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kFunctions{
      {{"AllReduce", "allreduce"},
       {"AllGather", "allgather"},
       {"ReduceScatter", "reduce_scatter"},
       {"Broadcast", "broadcast"},
       {"Reduce", "reduce"},
       {"AlltoAll", "all_to_all"},
       {"AllToAll", "all_to_all"},
       {"Send", "send"},
       {"Recv", "recv"}}};
  if (function.starts_with("nccl")) function.remove_prefix(4);
  const auto found = std::ranges::find(kFunctions, function, &std::pair<std::string_view, std::string_view>::first);
  return found == kFunctions.end() ? std::string_view() : found->second;
}

}  // namespace underlap::formats::pftrace
