// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/arguments.hpp"

#include <algorithm>
#include <utility>

#include "profiler/formats/kineto/collective_arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"

namespace underlap::formats::pftrace {
namespace {

// The number of "GPU-0"; -1 for another agent.
std::int32_t device_of_agent(std::string_view agent) {
  constexpr std::string_view kGpu = "GPU-";
  return agent.starts_with(kGpu) ? integer_within<std::int32_t>(agent.substr(kGpu.size()), -1) : -1;
}

// The members of "[132, 1, 1]".
std::array<std::uint32_t, 3> three(std::string_view list) {
  const std::vector<std::string_view> numbers = numbers_in(list);
  std::array<std::uint32_t, 3> sizes{};
  for (std::size_t i = 0; i < std::min(sizes.size(), numbers.size()); ++i)
    sizes.at(i) = integer_within<std::uint32_t>(numbers[i], 0);
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

std::int32_t small_number(std::string_view text) { return integer_within<std::int32_t>(text, -1); }
std::int64_t large_number(std::string_view text) { return integer_of(text).value_or(-1); }
std::uint32_t whole_number(std::string_view text) { return integer_within<std::uint32_t>(text, 0); }

void take_device(Arguments& to, std::string_view text) { to.work.device = small_number(text); }
void take_stream(Arguments& to, std::string_view text) {
  to.work.stream = small_number(text);
  to.work.has_stream = to.work.stream >= 0;
}
void take_correlation(Arguments& to, std::string_view text) { to.correlation = large_number(text); }
void take_external_id(Arguments& to, std::string_view text) { to.work.external_id = large_number(text); }
void take_bytes(Arguments& to, std::string_view text) {
  to.work.shape.bytes = std::max<std::int64_t>(0, large_number(text));
}
void take_group(Arguments& to, std::string_view text) { to.collective.group_name = intern(text); }

using Take = void (*)(Arguments&, std::string_view text);

// By the names of PyTorch's debug annotations, of the extra data of its render stages, and of rocprofv3's annotations.
const std::unordered_map<std::string_view, Take>& takers() {
  using Text = std::string_view;
  static const std::unordered_map<std::string_view, Take> kTakers{
      {"device", take_device},
      {"device id", take_device},
      {"stream", take_stream},
      {"stream id", take_stream},
      {"stream_ID", take_stream},
      {"agent", [](Arguments& to, Text text) { to.work.device = device_of_agent(text); }},
      {"src_agent", [](Arguments& to, Text text) { to.from_device = device_of_agent(text); }},
      {"dst_agent", [](Arguments& to, Text text) { to.to_device = device_of_agent(text); }},
      {"correlation", take_correlation},
      {"corr_id", take_correlation},
      {"External id", take_external_id},
      {"external id", take_external_id},
      {"bytes", take_bytes},
      {"copy_bytes", take_bytes},
      {"grid", [](Arguments& to, Text text) { to.work.shape.grid = three(text); }},
      {"block", [](Arguments& to, Text text) { to.work.shape.block = three(text); }},
      {"grid_size", [](Arguments& to, Text text) { to.grid_threads = whole_number(text); }},
      {"workgroup_size", [](Arguments& to, Text text) { to.block_threads = whole_number(text); }},
      {"wait_on_stream", [](Arguments& to, Text text) { to.work.awaited_stream = small_number(text); }},
      {"wait_on_cuda_event_record_corr_id", [](Arguments& to, Text text) { to.work.record_id = large_number(text); }},
      {"begin_ns", [](Arguments& to, Text text) { to.begin_ns = large_number(text); }},
      {"end_ns", [](Arguments& to, Text text) { to.end_ns = large_number(text); }},
      {"pg_name", take_group},
      {"process_group", take_group},
      {"process_group_ranks", [](Arguments& to, Text text) { to.collective.group_ranks = intern(text); }},
      {"func", [](Arguments& to, Text text) { to.collective.name = intern(collective_of_function(text)); }},
      {"datatype", [](Arguments& to, Text text) { to.collective.dtype = intern(type_of(text)); }},
      {"count", [](Arguments& to, Text text) { to.collective.in_elements = integer_of(text).value_or(0); }},
      {"seq", [](Arguments& to, Text text) { to.collective.sequence = large_number(text); }},
      {"peer", [](Arguments& to, Text text) { to.collective.peer = large_number(text); }}};
  return kTakers;
}

bool take_of_collective(KinetoCollective& collective, std::string_view key, std::string_view text) {
  return take_collective_argument(
      collective, [&](std::string_view name) { return key == name; }, [&] { return text; }, intern);
}

}  // namespace

bool is_used_argument(std::string_view key) {
  KinetoCollective ignored;
  return takers().contains(key) || take_of_collective(ignored, key, {});
}

void take_argument(Arguments& arguments, std::string_view key, std::string_view text) {
  const auto found = takers().find(key);
  if (found == takers().end() && !take_of_collective(arguments.collective, key, text)) return;
  if (found != takers().end()) found->second(arguments, text);
  if (found == takers().end() || found->second != take_external_id) arguments.is_empty = false;
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
