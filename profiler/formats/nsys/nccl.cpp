// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "profiler/trace/wire_bytes.hpp"

namespace underlap::formats::nsys {
namespace {

// What a range of time on one thread launches: the calls of a group at its end, or one call by itself.
struct Window {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<const NcclCall*> calls;
  std::vector<std::uint32_t> kernels;  ///< slices, in the order of their launch
};
using Windows = std::map<std::int64_t, std::vector<Window>>;  ///< of threads, by start

Windows windows_of(std::vector<NcclCall>& calls) {
  // Of two that begin at once the longer is around the other.
  std::ranges::stable_sort(calls, [](const NcclCall& a, const NcclCall& b) {
    return std::tuple(a.global_tid, a.start_ns, -a.end_ns) < std::tuple(b.global_tid, b.start_ns, -b.end_ns);
  });
  Windows windows;
  std::int64_t depth = 0;
  std::vector<const NcclCall*> waiting;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const NcclCall& call = calls[i];
    if (i == 0 || calls[i - 1].global_tid != call.global_tid) {
      depth = 0;
      waiting.clear();
    }
    using What = NcclCall::What;
    if (call.what == What::group_start) ++depth;
    if (call.what == What::collective && depth > 0) waiting.push_back(&call);
    if (call.what == What::collective && depth == 0)
      windows[call.global_tid].push_back({call.start_ns, call.end_ns, {&call}, {}});
    // The capture may have begun inside a group.
    if (call.what == What::group_end && depth > 0 && --depth == 0 && !waiting.empty())
      windows[call.global_tid].push_back({call.start_ns, call.end_ns, std::exchange(waiting, {}), {}});
  }
  return windows;
}

bool is_nccl_kernel(std::string_view name) {
  constexpr std::string_view kVoid = "void ";
  if (name.starts_with(kVoid)) name.remove_prefix(kVoid.size());
  return name.starts_with("ncclDevKernel") || name.starts_with("ncclKernel") || name.starts_with("ncclSymDevKernel") ||
         name.starts_with("ncclSymkDevKernel");
}

struct KernelWord {
  std::string_view word;
  std::array<std::optional<Collective>, 2> collectives;
};
constexpr std::array kKernelWords{
    KernelWord{"AllGather", {Collective::all_gather}}, KernelWord{"AllReduce", {Collective::all_reduce}},
    KernelWord{"ReduceScatter", {Collective::reduce_scatter}}, KernelWord{"Broadcast", {Collective::broadcast}},
    KernelWord{"SendRecv", {Collective::send, Collective::receive}}};

// Whether the kernel, by its name, may carry that call. Generic kernels carry any.
bool may_carry(std::string_view kernel, Collective collective) {
  for (const KernelWord& each : kKernelWords)
    if (kernel.find(each.word) != std::string_view::npos)
      return std::ranges::find(each.collectives, std::optional(collective)) != each.collectives.end() ||
             collective == Collective::all_to_all;
  return true;
}

DataType dtype_in(std::string_view kernel) {
  for (const auto& [word, dtype] : {std::pair("_f32", DataType::f32), std::pair("_bf16", DataType::bf16),
                                    std::pair("_f64", DataType::f64), std::pair("_i32", DataType::i32),
                                    std::pair("_f8e4m3", DataType::f8e4m3), std::pair("_f8e5m2", DataType::f8e5m2)})
    if (kernel.find(word) != std::string_view::npos) return dtype;
  return DataType::u8;
}

// More is no size of a message, and would overflow where it is multiplied by ranks.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 42;

// NCCL counts what one rank gives to a gather and gets from a scatter; nccl-tests the whole buffer.
TransferRecord transfer_of(const NcclCall& call, std::int64_t num_ranks, std::string_view kernel) {
  const NcclPayload& payload = *call.payload;
  const std::int64_t n = std::max<std::int64_t>(num_ranks, 0);
  TransferRecord transfer{.collective = call.collective, .dtype = dtype_in(kernel)};
  if (payload.bytes > 0 && payload.bytes < kMostBytes) transfer.bytes = payload.bytes;
  switch (call.collective) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: transfer.bytes *= n; break;
    case Collective::send:
    case Collective::receive:
      transfer.peer = payload.peer >= 0 && payload.peer < (1 << 20) ? static_cast<std::int32_t>(payload.peer) : -1;
      break;
    case Collective::all_reduce:
    case Collective::broadcast: break;
  }
  transfer.bytes_on_wire = bytes_sent(transfer.collective, transfer.bytes, n);
  return transfer;
}

class CommunicationAdder {
 public:
  CommunicationAdder(Import& import, const Communicators& communicators, const Ranks& ranks)
      : import_(import), communicators_(communicators), ranks_(ranks) {}

  void add(const Window& window) {
    if (window.kernels.empty()) return;
    if (std::ranges::any_of(window.calls, [](const NcclCall* call) { return !call->payload; }))
      return import_.skip("NCCL kernel whose calls have no payload (kept)", std::ssize(window.kernels));
    for (const std::uint32_t kernel : window.kernels) {
      const std::vector<const NcclCall*> carried = carried_by(kernel, window);
      if (carried.empty())
        import_.skip("NCCL kernel launched with others, so its operation is unknown (kept)");
      else
        record(kernel, carried);
    }
  }

 private:
  std::string_view name(std::uint32_t slice) const { return name_of(import_.trace.name(slice)); }

  // All calls that it may carry, where no other kernel may; one call where there are as many kernels as calls; else
  // nothing. Fails when NCCL launches the kernels of a group in another order than its calls: they then swap calls.
  std::vector<const NcclCall*> carried_by(std::uint32_t kernel, const Window& window) const {
    std::vector<const NcclCall*> calls;
    for (const NcclCall* call : window.calls)
      if (may_carry(name(kernel), call->collective)) calls.push_back(call);
    std::vector<std::uint32_t> alike;
    for (const std::uint32_t other : window.kernels)
      if (std::ranges::any_of(calls, [&](const NcclCall* call) { return may_carry(name(other), call->collective); }))
        alike.push_back(other);
    const auto is_of_first = [&](const NcclCall* call) {
      return call->payload->communicator == calls.front()->payload->communicator;
    };
    if (calls.empty() || !std::ranges::all_of(calls, is_of_first)) return {};
    if (alike.size() == 1) return calls;
    if (alike.size() != calls.size()) return {};
    return {calls[static_cast<std::size_t>(std::ranges::find(alike, kernel) - alike.begin())]};
  }

  void record(std::uint32_t kernel, const std::vector<const NcclCall*>& calls) {
    const std::uint64_t id = calls.front()->payload->communicator;
    const auto known = communicators_.find(id);
    const std::int64_t num_ranks = known == communicators_.end() ? 0 : known->second.num_ranks;
    CommunicationRecord record{.group = group_of(id), .transfers = {}};
    for (const NcclCall* call : calls) record.transfers.push_back(transfer_of(*call, num_ranks, name(kernel)));
    const auto owner = static_cast<std::uint32_t>(import_.trace.track_of(kernel).rank);
    record.sequence = sequences_[{id, owner}]++;
    Tag tag = import_.trace.tag(kernel);
    const auto is_first = [&](const TransferRecord& each) {
      return each.collective == record.transfers.front().collective;
    };
    if (std::ranges::all_of(record.transfers, is_first))
      tag.purpose = intern(to_string(record.transfers.front().collective));
    import_.trace.set_tag(kernel, tag, import_.trace.attribution(kernel));
    import_.trace.set_communication(kernel, std::move(record));
  }

  std::uint32_t group_of(std::uint64_t id) {
    const auto [found, is_new] = groups_.try_emplace(id, static_cast<std::uint32_t>(import_.trace.groups.size()));
    if (!is_new) return found->second;
    GroupRecord group;
    group.name = intern(fmt::format("{:#018x}", id));
    if (const auto known = communicators_.find(id); known != communicators_.end()) {
      group.num_ranks = static_cast<std::int32_t>(known->second.num_ranks);
      group.ranks = ranks_.members_of(known->second);
    }
    import_.trace.groups.push_back(std::move(group));
    return found->second;
  }

  Import& import_;
  const Communicators& communicators_;
  const Ranks& ranks_;
  std::map<std::uint64_t, std::uint32_t> groups_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> sequences_;  ///< by communicator and owner
};

}  // namespace

void add_communication(Import& import, std::vector<NcclCall> calls, const std::vector<std::uint32_t>& call_of_work,
                       const Communicators& communicators, const Ranks& ranks) {
  if (std::ranges::none_of(calls, [](const NcclCall& call) { return call.payload.has_value(); })) return;
  Windows windows = windows_of(calls);
  const Trace& trace = import.trace;
  struct Launch {
    std::uint32_t call = 0;
    std::uint32_t kernel = 0;
    Process process = 0;
  };
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < call_of_work.size(); ++i)
    if (call_of_work[i] != kNoSlice && is_nccl_kernel(name_of(trace.name(import.device_work[i].slice))))
      launches.push_back({call_of_work[i], import.device_work[i].slice, import.device_work[i].process});
  std::ranges::sort(launches, {},
                    [&](const Launch& each) { return std::pair(trace.start_ns()[each.call], each.call); });
  for (const Launch& launch : launches) {
    const Track& thread = trace.track_of(launch.call);
    const Process process = import.owners[static_cast<std::size_t>(thread.rank)].process;
    const auto found = windows.find((process << 24) | thread.stream);
    if (found == windows.end()) continue;
    const std::int64_t at_ns = trace.start_ns()[launch.call];
    const auto after = std::ranges::upper_bound(found->second, at_ns, {}, &Window::start_ns);
    if (after != found->second.begin() && std::prev(after)->end_ns >= at_ns)
      std::prev(after)->kernels.push_back(launch.kernel);
  }
  // In the order of time on each device, in which members of a communicator count alike.
  std::vector<const Window*> in_order;
  for (const auto& [thread, of_thread] : windows)
    for (const Window& window : of_thread) in_order.push_back(&window);
  std::ranges::stable_sort(in_order, {}, [](const Window* window) { return window->start_ns; });
  CommunicationAdder adder(import, communicators, ranks);
  for (const Window* window : in_order) adder.add(*window);
}

}  // namespace underlap::formats::nsys
