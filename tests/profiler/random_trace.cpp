// SPDX-License-Identifier: Apache-2.0
#include "tests/profiler/random_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace underlap::testing_support {
namespace {

std::int64_t between(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

Tag random_tag(std::mt19937& random) {
  const auto small = [&] { return static_cast<std::int32_t>(between(random, -1, 3)); };
  return {.kind = static_cast<Kind>(between(random, 0, 2)),
          .mode = static_cast<Mode>(between(random, 0, 7)),
          .direction = static_cast<Direction>(between(random, 0, 3)),
          .purpose = between(random, 0, 3) == 0 ? kNoName : intern(fmt::format("purpose {}", small())),
          .layer = small(),
          .microbatch = small(),
          .bucket = small(),
          .chunk = small(),
          .step = between(random, 0, 9) == 0 ? std::numeric_limits<std::int32_t>::min() : small()};
}

CommunicationRecord random_record(std::mt19937& random, const Slice& slice, std::size_t num_groups) {
  CommunicationRecord record;
  record.group = static_cast<std::uint32_t>(between(random, 0, static_cast<std::int64_t>(num_groups) - 1));
  record.sequence = static_cast<std::uint64_t>(between(random, -1, 1'000'000));  // -1: the largest of all
  if (between(random, 0, 2) > 0)
    record.last_arrival_ns = between(random, slice.start_ns - 9, slice.start_ns + slice.duration_ns + 9);
  if (between(random, 0, 1) > 0) record.cpu_ns = between(random, 0, 1000);
  for (std::int64_t n = between(random, 0, 3); n > 0; --n)
    record.transfers.push_back({.collective = static_cast<Collective>(between(random, 0, 6)),
                                .dtype = static_cast<DataType>(between(random, 0, 6)),
                                .peer = static_cast<std::int32_t>(between(random, -1, 7)),
                                .bytes = between(random, 0, std::numeric_limits<std::int64_t>::max()),
                                .bytes_on_wire = between(random, 0, 1 << 20)});
  return record;
}

void make_foreign(std::mt19937& random, Slice& slice) {
  slice.tag.kind = static_cast<Kind>(between(random, 0, 3));
  slice.attribution = {.source = static_cast<AttributionSource>(between(random, 0, 9)),
                       .confidence_pct = static_cast<std::uint8_t>(between(random, 0, 4) * 25),
                       .reason = between(random, 0, 1) == 0 ? kNoName : intern("called \"dp\"")};
  const auto size = [&] { return static_cast<std::uint32_t>(between(random, 0, 2) * 2'000'000'000); };
  if (between(random, 0, 1) == 0) slice.shape = {.grid = {size(), 1, 1}, .block = {0, size(), 0}, .bytes = 0};
  if (between(random, 0, 3) == 0) slice.shape.bytes = between(random, 0, std::numeric_limits<std::int64_t>::max());
}

void add_foreign(std::mt19937& random, const RandomTraceShape& shape, Trace& trace) {
  trace.add_group({kNoName, {}, intern("7"), intern("TENSOR_MODEL_PARALLEL_GROUP"), 8});
  for (std::int32_t rank = 0; rank < shape.num_ranks; ++rank) {
    trace.add_track({rank, 0, "compute", TrackKind::stream, 0});
    trace.add_track({rank, 4711, "main", TrackKind::thread, -1});
    trace.add_track({rank, 4711, "main", TrackKind::range, -1});
    trace.add_track({rank, 0, "compute", TrackKind::range, 3});
    const std::uint32_t counter = trace.add_track({rank, 0, "power in W", TrackKind::counter, 3});
    for (const double value : {0.1, -1e300, 312.5})
      trace.counters.push_back({counter, between(random, shape.begin_ns, shape.end_ns), value});
  }
}

void add_flows(std::mt19937& random, Trace& trace) {
  const auto any = [&] { return static_cast<std::uint32_t>(between(random, 0, std::int64_t(trace.size()) - 1)); };
  for (std::size_t i = 0; i < trace.size() / 2; ++i)
    trace.flows.push_back({any(), any(), static_cast<FlowKind>(between(random, 0, 3))});
}

void add_slices(std::mt19937& random, const RandomTraceShape& shape, Trace& trace) {
  for (std::int32_t i = 0; i < shape.num_slices; ++i) {
    Slice slice{.track = static_cast<std::uint32_t>(between(random, 0, std::int64_t(trace.tracks.size()) - 1)),
                .start_ns = between(random, shape.begin_ns, shape.end_ns),
                .duration_ns = between(random, 0, 3) == 0 ? 0 : between(random, 0, shape.longest_ns),
                .name = between(random, 0, 9) == 0 ? kNoName : intern(fmt::format("op {}", between(random, 0, 9))),
                .operation = static_cast<std::uint32_t>(between(random, 0, 5) * 1'000'000'000),
                .tag = random_tag(random)};
    if (shape.is_foreign) make_foreign(random, slice);
    if (between(random, 0, 1) == 0) {
      trace.add(slice);
      continue;
    }
    CommunicationRecord record = random_record(random, slice, trace.groups.size());
    record.is_part = shape.is_foreign && between(random, 0, 3) == 0;
    trace.add(slice, std::move(record));
  }
}

void add_marks(std::mt19937& random, const RandomTraceShape& shape, Trace& trace) {
  for (std::int32_t rank = 0; rank < shape.num_ranks; ++rank) {
    std::int64_t time = shape.begin_ns;
    for (std::int32_t step = 0; step < shape.num_steps; ++step) {
      time += between(random, 0, (shape.end_ns - shape.begin_ns) / (shape.num_steps + 1));
      trace.marks.push_back({.rank = rank, .block = 0, .step = step, .time_ns = time});
    }
  }
}

}  // namespace

Trace random_trace(std::mt19937& random, const RandomTraceShape& shape) {
  Trace trace;
  for (std::int32_t rank = 0; rank < shape.num_ranks; ++rank)
    for (std::int32_t stream = 0; stream < shape.num_streams; ++stream)
      trace.add_track({rank, stream, stream == 0 ? "compute" : "dp"});
  trace.add_group({intern("param_all_gather"), {0, 1}});
  trace.add_group({intern("grad_reduce_scatter"), {1, 0, -3}});
  trace.add_group({kNoName, {}});
  if (shape.is_foreign) add_foreign(random, shape, trace);
  add_slices(random, shape, trace);
  if (shape.is_foreign) add_flows(random, trace);
  add_marks(random, shape, trace);
  for (std::int32_t rank = 0; rank < shape.num_ranks; ++rank)
    trace.clocks.push_back({rank, between(random, -1000, 1000), 1'700'000'000'000'000'000 + rank});
  trace.metadata = {{"backend", "host"}, {"link", "paced to 4 Gbit/s"}, {"odd \xFF key", std::string("a\0b\n", 4)}};
  return trace;
}

std::string everything(const Trace& trace) {
  std::string text;
  const auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text += '\n';
  };
  for (const Track& t : trace.tracks)
    line("track {} {} {} {} {}", t.rank, t.stream, t.name, to_string(t.kind), t.device);
  for (const GroupRecord& g : trace.groups)
    line("group {} [{}] '{}' '{}' {}", name_of(g.purpose), fmt::join(g.ranks, " "), name_of(g.name),
         name_of(g.description), g.num_ranks);
  for (const Mark& m : trace.marks) line("mark {} {} {} {}", m.rank, m.block, m.step, m.time_ns);
  for (const ClockSnapshot& c : trace.clocks) line("clock {} {} {}", c.rank, c.device_ns, c.unix_ns);
  for (const CounterSample& c : trace.counters) line("counter {} {} {}", c.track, c.time_ns, c.value);
  for (const Flow& f : trace.flows) line("flow {} {} {}", f.from, f.to, to_string(f.kind));
  for (const auto& [key, value] : trace.metadata) line("metadata {} = {}", key, value);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Slice s = trace.slice(i);
    const Tag& t = s.tag;
    line("slice {} {}+{} '{}' op {} {} {} {} '{}' {} {} {} {} {}", s.track, s.start_ns, s.duration_ns, name_of(s.name),
         s.operation, to_string(t.kind), to_string(t.mode), to_string(t.direction), name_of(t.purpose), t.layer,
         t.microbatch, t.bucket, t.chunk, t.step);
    line("  {} {} '{}' [{}] [{}] {}", to_string(s.attribution.source), s.attribution.confidence_pct,
         name_of(s.attribution.reason), fmt::join(s.shape.grid, " "), fmt::join(s.shape.block, " "), s.shape.bytes);
    const CommunicationRecord* r = trace.communication(i);
    if (r == nullptr) continue;
    line("  group {} sequence {} arrival {} cpu {}{}", r->group, r->sequence, r->last_arrival_ns, r->cpu_ns,
         r->is_part ? " part" : "");
    for (const TransferRecord& x : r->transfers)
      line("  {} {} {} {} {}", to_string(x.collective), to_string(x.dtype), x.peer, x.bytes, x.bytes_on_wire);
  }
  return text;
}

bool is_sound(const Trace& trace) {
  bool is_so = true;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const CommunicationRecord* record = trace.communication(i);
    is_so &= trace.track(i) < trace.tracks.size() && trace.duration_ns()[i] >= 0 &&
             (record == nullptr || record->group < trace.groups.size());
  }
  for (const Flow& flow : trace.flows) is_so &= std::max(flow.from, flow.to) < trace.size();
  for (const CounterSample& sample : trace.counters) is_so &= sample.track < trace.tracks.size();
  return is_so;
}

}  // namespace underlap::testing_support
