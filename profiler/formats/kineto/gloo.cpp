// SPDX-License-Identifier: Apache-2.0
// The work of a PyTorch job on CPUs, whose communication gloo runs on threads of its own:
//
//   main thread  | aten::addmm | c10d::allreduce_ |   aten::mm   |       | aten::sqrt |
//   gloo thread                      |        gloo:all_reduce        |
//
// A span starts when a thread of the group takes the operation from the group's queue, so the k-th operator of a group
// is the k-th span of its threads. Neither names the group.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profiler/formats/kineto/elements.hpp"
#include "profiler/formats/kineto/parts.hpp"
#include "profiler/trace/wire_bytes.hpp"

namespace underlap::formats {
namespace {

// An operator of torch.distributed, and the span of gloo that runs it.
struct GlooOperator {
  std::string_view op;
  std::string_view span;
  std::string_view purpose;
  std::optional<Collective> collective = std::nullopt;
};
constexpr std::array kGlooOperators{
    GlooOperator{"c10d::allreduce_", "all_reduce", "all_reduce", Collective::all_reduce},
    GlooOperator{"c10d::allreduce_coalesced_", "all_reduce", "all_reduce", Collective::all_reduce},
    GlooOperator{"c10d::_allgather_base_", "all_gather", "all_gather", Collective::all_gather},
    GlooOperator{"c10d::allgather_", "all_gather", "all_gather", Collective::all_gather},
    GlooOperator{"c10d::allgather_coalesced_", "all_gather", "all_gather", Collective::all_gather},
    GlooOperator{"c10d::allgather_into_tensor_coalesced_", "all_gather", "all_gather", Collective::all_gather},
    // Gloo has no reduce-scatter: it reduces all of the tensor on every rank.
    GlooOperator{"c10d::_reduce_scatter_base_", "all_reduce", "reduce_scatter", Collective::reduce_scatter},
    GlooOperator{"c10d::reduce_scatter_", "all_reduce", "reduce_scatter", Collective::reduce_scatter},
    GlooOperator{"c10d::reduce_scatter_tensor_coalesced_", "all_reduce", "reduce_scatter", Collective::reduce_scatter},
    GlooOperator{"c10d::alltoall_base_", "all_to_all", "all_to_all", Collective::all_to_all},
    GlooOperator{"c10d::alltoall_", "all_to_all", "all_to_all", Collective::all_to_all},
    GlooOperator{"c10d::broadcast_", "broadcast", "broadcast", Collective::broadcast},
    GlooOperator{"c10d::reduce_", "reduce", "reduce"},
    GlooOperator{"c10d::gather_", "gather", "gather"},
    GlooOperator{"c10d::scatter_", "scatter", "scatter"},
    GlooOperator{"c10d::barrier", "barrier", "barrier"},
    GlooOperator{"c10d::send", "send", "send", Collective::send},
    GlooOperator{"c10d::recv_", "recv", "receive", Collective::receive},
};

using GlooSlices = std::vector<std::uint32_t>;
// The threads of each group, as sets of their numbers.
using GlooPools = std::vector<std::set<std::int32_t>>;

struct GlooSpan {
  const KinetoStated* stated = nullptr;
  const GlooOperator* word = nullptr;  // of its operator; null: none was found
  std::uint32_t op = 0;
  std::size_t pool = 0;
};

// Spans by start, each with its operator, if the threads of groups are `pools`.
struct GlooJoin {
  std::size_t num_pools = 0;
  std::vector<GlooSpan> spans = {};

  std::size_t unjoined() const { return static_cast<std::size_t>(std::ranges::count(spans, nullptr, &GlooSpan::word)); }
};

class GlooWork {
 public:
  GlooWork(KinetoParts& parts, const KinetoHeader& header) : parts_(parts), trace_(parts.trace), header_(header) {}

  void add() {
    const auto backend = header_.metadata.find("distributed_backend");
    const bool uses_gloo = backend != header_.metadata.end() && backend->second.find("gloo") != std::string::npos;
    if (parts_.gloo.empty() && !uses_gloo) return;
    sort_out();
    if (operators_.empty() && parts_.gloo.empty() && aten_.empty()) return;
    trace_.metadata["work_runs_on"] = "host";
    add_compute();
    add_communication();
    add_clock();
  }

 private:
  std::int32_t thread_of(std::uint32_t slice) const { return trace_.track_of(slice).stream; }

  // Classifies rows by name. Threads that run gloo's spans do not compute: their operators copy data for gloo.
  void sort_out() {
    std::set<std::int32_t> of_gloo;
    for (const KinetoStated& span : parts_.gloo)
      if (!is_of_caller(span)) of_gloo.insert(thread_of(span.slice));
    for (std::uint32_t i = 0; i < trace_.size(); ++i) {
      const TrackKind kind = trace_.track_of(i).kind;
      if (kind != TrackKind::thread && kind != TrackKind::range) continue;
      const std::string_view name = name_of(trace_.name(i));
      const std::int32_t thread = thread_of(i);
      if (of_gloo.contains(thread)) continue;
      if (name.starts_with("ProfilerStep#") || name.starts_with("autograd::engine::")) computing_.insert(thread);
      if (name.starts_with("aten::")) aten_[thread].push_back(i);
      if (name.ends_with("c10d_functional::wait_tensor")) waits_[thread].push_back(i);
      if (const auto word = std::ranges::find(kGlooOperators, name, &GlooOperator::op); word != kGlooOperators.end()) {
        operators_.emplace_back(i, word);
        computing_.insert(thread);
      }
    }
    const auto start = [&](const auto& op) { return trace_.start_ns()[op.first]; };
    std::ranges::stable_sort(operators_, {}, start);
  }

  // Sends and receives run on the thread that calls them.
  static bool is_of_caller(const KinetoStated& span) {
    return name_of(span.collective.name) == "send" || name_of(span.collective.name) == "recv";
  }

  // The outermost operators of a thread that computes, without the waits inside them.
  void add_compute() {
    for (auto& [thread, rows] : aten_) {
      if (!computing_.contains(thread)) continue;
      GlooSlices& waits = waits_[thread];
      const auto by_start = [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(trace_.start_ns()[a], -trace_.end_ns(a)) < std::pair(trace_.start_ns()[b], -trace_.end_ns(b));
      };
      std::ranges::sort(rows, by_start);
      std::ranges::sort(waits, by_start);
      const std::uint32_t track = add_stream(rows.front(), thread, "compute");
      std::int64_t end = INT64_MIN;
      auto wait = waits.begin();
      for (const std::uint32_t row : rows) {
        if (trace_.start_ns()[row] < end) continue;
        std::int64_t start = trace_.start_ns()[row];
        end = trace_.end_ns(row);
        for (; wait != waits.end() && trace_.start_ns()[*wait] < end; ++wait) {
          if (trace_.end_ns(*wait) <= start) continue;
          add_piece(track, row, start, trace_.start_ns()[*wait]);
          start = trace_.end_ns(*wait);
        }
        add_piece(track, row, start, end);
      }
    }
  }

  void add_piece(std::uint32_t track, std::uint32_t row, std::int64_t start_ns, std::int64_t end_ns) {
    if (end_ns <= start_ns) return;
    trace_.add({.track = track,
                .start_ns = start_ns,
                .duration_ns = end_ns - start_ns,
                .name = trace_.name(row),
                .tag = {.kind = Kind::compute},
                .attribution = kNotAttributed});
  }

  std::uint32_t add_stream(std::uint32_t like, std::int32_t thread, const std::string& name) {
    return trace_.add_track({.rank = trace_.track_of(like).rank, .stream = thread, .name = name});
  }

  void add_communication() {
    if (parts_.gloo.empty()) return add_operators();
    GlooJoin best = joined(pools_of_pairs());
    for (const GlooPools& other : {pools_of_signatures(), GlooPools{workers()}})
      if (best.unjoined() > 0) {
        GlooJoin join = joined(other);
        if (join.unjoined() < best.unjoined()) best = std::move(join);
      }
    std::map<std::uint32_t, std::uint64_t> next;
    for (const GlooSpan& span : best.spans) add_span(span, best.num_pools, next);
    if (const std::size_t without = best.unjoined(); without > 0)
      trace_.import.skipped["gloo span without its operator: its group is unknown"] +=
          static_cast<std::int64_t>(without);
  }

  // Without spans, an operator is the part of its communication that is known.
  void add_operators() {
    if (operators_.empty()) return;
    const std::uint32_t unnamed = trace_.add_group({});
    for (const auto& [op, word] : operators_) {
      const auto slice = static_cast<std::uint32_t>(trace_.size());
      CommunicationRecord record{.group = unnamed, .sequence = op, .transfers = {}};
      if (word->collective) record.transfers.push_back({.collective = *word->collective});
      Slice added{.track = add_stream(op, thread_of(op), "gloo"),
                  .start_ns = trace_.start_ns()[op],
                  .duration_ns = trace_.duration_ns()[op],
                  .name = trace_.name(op),
                  .tag = {.kind = Kind::communication, .purpose = intern(word->purpose)},
                  .attribution = kNotAttributed};
      trace_.add(added, std::move(record));
      trace_.flows.push_back({op, slice, FlowKind::launch});
    }
  }

  std::set<std::int32_t> workers() const {
    std::set<std::int32_t> threads;
    for (const KinetoStated& span : parts_.gloo)
      if (!is_of_caller(span)) threads.insert(thread_of(span.slice));
    return threads;
  }

  // A group starts two threads, one right after the other. Fails when one of them ran nothing while it was recorded,
  // or when groups use several network devices.
  GlooPools pools_of_pairs() const {
    GlooPools pools;
    if (header_.groups.size() <= 1) return {workers()};
    for (const std::int32_t thread : workers()) {
      if (pools.empty() || pools.back().size() == 2) pools.emplace_back();
      pools.back().insert(thread);
    }
    return pools;
  }

  // Threads that run equal operations belong to one group. Fails when several groups run equal operations.
  GlooPools pools_of_signatures() const {
    std::map<std::tuple<std::string_view, std::int64_t, std::string_view>, std::set<std::int32_t>> same;
    for (const KinetoStated& span : parts_.gloo)
      if (!is_of_caller(span))
        same[{name_of(span.collective.name), span.collective.in_elements, name_of(span.collective.dtype)}].insert(
            thread_of(span.slice));
    GlooPools pools;
    for (const auto& [signature, threads] : same) {
      std::set<std::int32_t> merged = threads;
      std::erase_if(pools, [&](const std::set<std::int32_t>& pool) {
        const bool meets = std::ranges::any_of(pool, [&](std::int32_t thread) { return merged.contains(thread); });
        if (meets) merged.insert(pool.begin(), pool.end());
        return meets;
      });
      pools.push_back(std::move(merged));
    }
    std::ranges::sort(pools);
    return pools;
  }

  // Each operator, in turn, goes to the pool whose next span has its name and starts first after it. A span that
  // starts before the operator belongs to an earlier one, which was not recorded.
  GlooJoin joined(const GlooPools& pools) const {
    GlooJoin join{.num_pools = pools.size()};
    std::vector<GlooSpan>& spans = join.spans;
    for (const KinetoStated& stated : parts_.gloo) spans.push_back({.stated = &stated});
    std::ranges::stable_sort(spans, {}, [&](const GlooSpan& s) { return start_of(s); });
    std::map<std::int32_t, std::size_t> pool_of;  // by thread
    for (std::size_t p = 0; p < pools.size(); ++p)
      for (const std::int32_t thread : pools[p]) pool_of.emplace(thread, p);
    std::map<NameId, bool> has_operator;                           // by name of spans
    std::vector<std::vector<GlooSpan*>> queues(pools.size() + 2);  // the last two: sends, receives
    for (GlooSpan& span : spans) {
      const NameId name = span.stated->collective.name;
      span.pool = pools.size() + (name_of(name) == "send" ? 0 : 1);
      if (!is_of_caller(*span.stated)) span.pool = pool_of.at(thread_of(span.stated->slice));
      const auto [runs, is_new] = has_operator.try_emplace(name);
      if (is_new)
        runs->second =
            std::ranges::any_of(operators_, [&](const auto& op) { return is_run_by(*op.second, *span.stated); });
      if (runs->second) queues[span.pool].push_back(&span);
    }
    std::vector<std::size_t> next(queues.size());
    for (const auto& [op, word] : operators_) {
      GlooSpan* best = nullptr;
      for (std::size_t q = 0; q < queues.size(); ++q) {
        while (next[q] < queues[q].size() && start_of(*queues[q][next[q]]) < trace_.start_ns()[op]) ++next[q];
        if (next[q] == queues[q].size()) continue;
        GlooSpan* const span = queues[q][next[q]];
        if (!is_run_by(*word, *span->stated)) continue;
        if (best == nullptr || start_of(*span) < start_of(*best)) best = span;
      }
      if (best == nullptr) continue;
      best->word = word;
      best->op = op;
      ++next[best->pool];
    }
    return join;
  }

  std::int64_t start_of(const GlooSpan& span) const { return trace_.start_ns()[span.stated->slice]; }

  static bool is_run_by(const GlooOperator& word, const KinetoStated& span) {
    const std::string_view name = name_of(span.collective.name);
    return name == word.span || name == word.purpose;
  }

  // Groups start their threads when they are created; an unused group has no rows. If meshes have groups
  // of their own, the unused one is the default group. Otherwise, groups are known only if all have threads.
  std::optional<std::size_t> group_of(std::size_t pool, std::size_t num_pools) const {
    if (pool >= num_pools) return header_.groups.size() == 1 ? std::optional<std::size_t>(0) : std::nullopt;
    if (header_.groups.size() == num_pools) return pool;
    const bool without_default = !header_.groups.empty() && header_.groups.front().description == "default_pg" &&
                                 header_.groups.size() == num_pools + 1;
    return without_default ? std::optional(pool + 1) : std::nullopt;
  }

  void add_span(const GlooSpan& span, std::size_t num_pools, std::map<std::uint32_t, std::uint64_t>& next) {
    const std::uint32_t row = span.stated->slice;
    const auto known = group_of(span.pool, num_pools);
    GroupRecord group;
    if (known) {
      const KinetoProcessGroup& of = header_.groups[*known];
      group = {.ranks = of.ranks, .name = intern(of.name), .description = intern(of.description), .num_ranks = of.size};
    }
    const std::uint32_t index = trace_.add_group(group);
    CommunicationRecord record{.group = index, .sequence = next[index]++, .transfers = {}};
    if (span.word != nullptr && span.word->collective)
      record.transfers.push_back(transfer_of(span, static_cast<std::int64_t>(group.size())));
    const std::string name = known ? "gloo " + header_.groups[*known].description : "gloo";
    const auto slice = static_cast<std::uint32_t>(trace_.size());
    Slice added{.track = add_stream(row, thread_of(row), name),
                .start_ns = trace_.start_ns()[row],
                .duration_ns = trace_.duration_ns()[row],
                .name = trace_.name(row),
                .tag = {.kind = Kind::communication},
                .attribution = kNotAttributed};
    added.tag.purpose = span.word == nullptr ? span.stated->collective.name : intern(span.word->purpose);
    trace_.add(added, std::move(record));
    if (span.word != nullptr) trace_.flows.push_back({span.op, slice, FlowKind::launch});
  }

  // The span has the shape of this rank's input: its part for an all-gather, otherwise the whole buffer.
  static TransferRecord transfer_of(const GlooSpan& span, std::int64_t num_ranks) {
    const KinetoCollective& c = span.stated->collective;
    TransferRecord transfer{.collective = *span.word->collective};
    if (const KinetoElement* const element = kineto_element(name_of(c.dtype))) {
      const std::int64_t parts =
          transfer.collective == Collective::all_gather ? std::max<std::int64_t>(num_ranks, 1) : 1;
      transfer.dtype = element->dtype;
      if (__builtin_mul_overflow(parts, kineto_bytes(*element, c.in_elements), &transfer.bytes)) transfer.bytes = 0;
    }
    const bool reduces_all = name_of(c.name) == "all_reduce";
    transfer.bytes_on_wire =
        bytes_sent(reduces_all ? Collective::all_reduce : transfer.collective, transfer.bytes, num_ranks);
    return transfer;
  }

  // The times are those of the host's clock, which processes of one host share.
  void add_clock() {
    if (!header_.metadata.contains("host_name")) return;
    const std::int64_t first = trace_.first_ns();
    std::set<std::int32_t> ranks;
    for (const Track& track : trace_.tracks) ranks.insert(track.rank);
    for (const std::int32_t rank : ranks) trace_.clocks.push_back({rank, first, first + header_.base_ns});
  }

  KinetoParts& parts_;
  Trace& trace_;
  const KinetoHeader& header_;
  std::set<std::int32_t> computing_;
  std::map<std::int32_t, GlooSlices> aten_, waits_;  // by thread
  std::vector<std::pair<std::uint32_t, const GlooOperator*>> operators_;
};

}  // namespace

void add_gloo_work(KinetoParts& parts, const KinetoHeader& header) {
  for (std::size_t i = 0; i < parts.trace.size(); ++i)
    if (parts.trace.is_work(i)) return;
  GlooWork(parts, header).add();
}

}  // namespace underlap::formats
