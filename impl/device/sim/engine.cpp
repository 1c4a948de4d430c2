// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "impl/device/recording_device.hpp"
#include "impl/device/sim/engine_state.hpp"

namespace underlap::sim {
namespace {

constexpr std::string_view kEndOfTimeInWords = "2^53 ns (104 days)";
constexpr std::string_view kFasterMachine =
    "check run.hardware for a rate that is too low, or simulate fewer steps or a smaller model";

}  // namespace

Engine::Engine(const TimeModel& time, const EngineOptions& options, std::vector<RankQueues::Source> sources)
    : time_(time), options_(options), host_(time.host()), rendezvous_(options.simulated) {
  if (options.simulated.empty())
    for (std::size_t r = 0; r < sources.size(); ++r) options_.simulated.push_back(static_cast<std::int32_t>(r));
  else if (options.simulated.size() != sources.size())
    throw std::invalid_argument(
        fmt::format("{} ranks are simulated, but {} have programs", options.simulated.size(), sources.size()));
  if (options.memory != nullptr && std::cmp_not_equal(options_.simulated.back() + 1, sources.size()))
    throw std::invalid_argument("values are computed only if all ranks are simulated");
  for (std::size_t r = 0; r < sources.size(); ++r) {
    const std::int32_t rank = options_.simulated[r];
    auto on_mark = [this, rank, r](const ProgramCommand& mark, std::int64_t now) {
      ranks_[r]->leaves_no_slices = false;
      trace_.marks.push_back({.rank = rank, .block = mark.block, .step = mark.tag.step, .time_ns = now});
    };
    ranks_.push_back(std::make_unique<Rank>(
        rank, RankQueues(std::move(sources[r]), std::move(on_mark), host_, options.connections), time));
    if (options.records_slices) ranks_.back()->queues.keep_event_edges();
  }
}

Engine::~Engine() = default;

Trace Engine::take_trace() {
  for (const auto& rank : ranks_) {
    rank->queues.event_edges().append_flows(trace_, rank->slices);
    rank->queues.clear_event_edges();
    rank->slices.clear();
    rank->tracks.clear();
    rank->groups.clear();
  }
  return std::exchange(trace_, {});
}

void Engine::leave_out_first_steps() {
  for (const auto& rank : ranks_) rank->leaves_no_slices = true;
}

// The clock -----------------------------------------------------------------------------------------------------------

void Engine::play() {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r]->queues.resume();
    touch(static_cast<std::int32_t>(r));
  }
  run_touched();
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (event.rank < 0 && flows_[event.flow].version != event.version) continue;
    if (event.rank >= 0 && ranks_[static_cast<std::size_t>(event.rank)]->scheduled_ns != event.ns) continue;
    if (event.ns > kEndOfTime)
      throw std::invalid_argument(
          fmt::format("these steps exceed the limit of simulated time, {}; {}", kEndOfTimeInWords, kFasterMachine));
    now_ = event.ns;
    if (event.rank < 0) {
      end_flow(event.flow);
    } else {
      touch(event.rank);
    }
    run_touched();
  }
  for (const auto& rank : ranks_)
    if (!rank->queues.is_over()) report_deadlock();
}

void Engine::touch(std::int32_t rank) {
  if (std::exchange(ranks_[static_cast<std::size_t>(rank)]->is_touched, true)) return;
  touched_.push_back(rank);
}

void Engine::run_touched() {
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    const std::int32_t rank = touched_[i];
    ranks_[static_cast<std::size_t>(rank)]->is_touched = false;
    run_rank(rank);
  }
  touched_.clear();
}

// Moves a rank on at the present moment until nothing more happens on it.
void Engine::run_rank(std::int32_t r) {
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  while (true) {
    rank.begin.clear();
    rank.queues.advance(now_, rank.begin);
    for (const InFlight& item : rank.begin) hand_over(r, item);
    if (!rank.device.has_to_advance(now_)) break;
    rank.device.advance(now_, rank.changes);
    for (const SharedDevice::Id id : rank.changes.finished) finish(r, id);
    for (const SharedDevice::Id id : rank.changes.started) start(r, id);
    limit_flows(r);
  }
  schedule(r);
}

void Engine::schedule(std::int32_t r) {
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  const std::int64_t next = std::min(rank.device.next_event_ns(), rank.queues.next_wake_ns());
  if (next == SharedDevice::kNever) {
    rank.scheduled_ns = -1;
    return;
  }
  if (next == rank.scheduled_ns) return;
  rank.scheduled_ns = next;
  events_.push({.ns = next, .order = num_events_++, .rank = r});
}

// Durations stretched at random --------------------------------------------------------------------------------------

namespace {

// A number in [0, 1) that depends on its arguments alone. Source: Steele et al. 2014, SplitMix.
double random_of(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = seed;
  for (const std::uint64_t part : {a, b, c}) {
    x += part + 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) / 9007199254740992.0;  // 2^53
}

}  // namespace

std::int32_t Engine::number_of(std::int32_t rank) const { return ranks_[static_cast<std::size_t>(rank)]->number; }

double Engine::stretched(double ns, std::int32_t rank, const InFlight& item) const {
  if (options_.jitter == 0) return ns;
  const auto step = static_cast<std::uint64_t>(item.command().tag.step + 1);
  return ns * (1 + options_.jitter *
                       random_of(options_.seed, static_cast<std::uint64_t>(number_of(rank)), step, item.operation));
}

// Operations ----------------------------------------------------------------------------------------------------------

// Gives what came out of a hardware queue to the device.
void Engine::hand_over(std::int32_t r, const InFlight& item) {
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  const Program& program = item.program();
  const ProgramCommand& command = item.command();
  const Priority priority = program.streams[command.stream].priority;
  if (options_.records_slices) record_cause(rank, item, item.ready_ns, std::nullopt);
  if (command.type == ProgramCommand::Type::communicate) {
    const CallTimes::Call& call = rank.calls.of(program, command);
    enter(r, occupy(rank, rank.device.add_transfers(call.sms, priority), item, now_), call);
  } else {
    KernelTime time =
        command.type == ProgramCommand::Type::upload ? time_.copy(command.bytes) : launch_time(rank, program, command);
    time.alone_ns = stretched(time.alone_ns, r, item);
    refuse_endless(r, item, time.alone_ns);
    occupy(rank, rank.device.add_kernel(time, priority), item, now_);
  }
}

Engine::Running& Engine::occupy(Rank& rank, SharedDevice::Id id, const InFlight& item, std::int64_t handed_ns) {
  if (rank.running.size() <= id) rank.running.resize(id + 1);
  Running& running = rank.running[id];
  running.item = item;
  running.handed_ns = handed_ns;
  running.start_ns = -1;
  running.last_arrival_ns = 0;
  running.call = nullptr;
  running.entries.clear();
  return running;
}

const KernelTime& Engine::launch_time(Rank& rank, const Program& program, const ProgramCommand& launch) {
  if (rank.launches.size() <= launch.cost) rank.launches.resize(program.costs.size());
  std::optional<KernelTime>& time = rank.launches[launch.cost];
  if (!time) time = time_.kernel(program.costs[launch.cost]);
  return *time;
}

void Engine::refuse_endless(std::int32_t r, const InFlight& item, double ns) const {
  if (ns <= static_cast<double>(kEndOfTime)) return;
  throw std::invalid_argument(
      fmt::format("rank {}: {} takes {:g} ns, which exceeds the limit of simulated time, {}; {}", number_of(r),
                  describe(item.program(), item.command()), ns, kEndOfTimeInWords, kFasterMachine));
}

void Engine::enter(std::int32_t r, Running& running, const CallTimes::Call& parts) {
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  const Program& program = running.item.program();
  const ProgramCommand& call = running.item.command();
  if (rank.sequences.empty()) {
    rank.sequences.resize(program.communicators.size());
    rendezvous_.add_rank(rank.number, program);
  }
  running.sequence = rank.sequences[call.communicator]++;
  running.call = &parts;
  rendezvous_.enter(rank.number, program, call, parts.parts, running.entries);
  running.num_flows_left = running.entries.size();
  for (const TransferTime& time : parts.times) refuse_endless(r, running.item, time.alone_ns);
}

void Engine::start(std::int32_t r, SharedDevice::Id id) {
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  Running& running = rank.running[id];
  const ProgramCommand& command = running.item.command();
  running.start_ns = now_;
  if (options_.records_slices && running.handed_ns < now_)
    record_cause(rank, running.item, running.handed_ns, rank.changes.gave_up);
  if (command.type != ProgramCommand::Type::upload) rank.queues.started();
  if (options_.memory != nullptr) {
    options_.memory->allocate(r, running.item.program());
    running.token = options_.memory->begin(r, running.item.program(), command);
  }
  if (command.type == ProgramCommand::Type::communicate) arrive(r, id);
}

void Engine::finish(std::int32_t r, SharedDevice::Id id) {
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  Running& running = rank.running[id];
  if (options_.memory != nullptr) options_.memory->end(running.token);
  record(r, running);
  rank.last_stream = running.item.stream;
  rank.last_end_ns = now_;
  ++num_operations_;
  const std::uint32_t stream = std::exchange(running.item, {}).stream;
  rank.queues.complete(stream, options_.records_slices ? rank.next_index(stream) - 1 : 0, now_);
}

// Transfers -----------------------------------------------------------------------------------------------------------

void Engine::arrive(std::int32_t r, SharedDevice::Id id) {
  Running& running = ranks_[static_cast<std::size_t>(r)]->running[id];
  for (std::size_t i = 0; i < running.entries.size(); ++i) {
    const Rendezvous::Entry& entry = running.entries[i];
    if (flows_.size() <= entry.flow) flows_.resize(entry.flow + 1);
    Flow& flow = flows_[entry.flow];
    flow.members.push_back({.rank = r, .id = id, .part = i});
    if (flow.members.size() == entry.num_ends) begin_flow(entry.flow);
  }
}

void Engine::begin_flow(std::uint32_t id) {
  Flow& flow = flows_[id];
  double alone_ns = 0;
  for (std::size_t i = 0; i < flow.members.size(); ++i) {
    Member& member = flow.members[i];
    Rank& rank = *ranks_[static_cast<std::size_t>(member.rank)];
    Running& running = rank.running[member.id];
    running.last_arrival_ns = std::max(running.last_arrival_ns, now_);
    const TransferTime& time = running.call->times[member.part];
    alone_ns = std::max(alone_ns, stretched(time.alone_ns, member.rank, running.item));
    const CallPart& part = running.call->parts[member.part];
    const auto rate = [&](double bytes) { return time.alone_ns > 0 ? bytes / time.alone_ns : 0.0; };
    FlowDemand demand{.hbm = rate(time.hbm_bytes)};
    if (part.sends) demand.nvlink_out = rate(time.nvlink_bytes), demand.network_out = rate(time.network_bytes);
    if (part.receives) demand.nvlink_in = rate(time.nvlink_bytes), demand.network_in = rate(time.network_bytes);
    rank.device.begin_flow((static_cast<std::uint64_t>(id) << 32) | i, demand);
    touch(member.rank);
  }
  flow.left_ns = alone_ns;
  flow.speed = 0;
  flow.settled_ns = now_;
  set_speed(id, 1);
}

// Takes over what a rank leaves each flow; the slowest member decides.
void Engine::limit_flows(std::int32_t r) {
  for (const SharedDevice::FlowLimit& limit : ranks_[static_cast<std::size_t>(r)]->device.flow_limits()) {
    const auto id = static_cast<std::uint32_t>(limit.flow >> 32);
    Flow& flow = flows_[id];
    double& mine = flow.members[limit.flow & 0xFFFFFFFFU].limit;
    if (mine == limit.speed) continue;
    mine = limit.speed;
    double slowest = 1;
    for (const Member& member : flow.members) slowest = std::min(slowest, member.limit);
    set_speed(id, slowest);
  }
}

void Engine::set_speed(std::uint32_t id, double speed) {
  Flow& flow = flows_[id];
  if (flow.speed == speed) return;
  flow.left_ns -= static_cast<double>(now_ - flow.settled_ns) * flow.speed;
  flow.settled_ns = now_;
  flow.speed = speed;
  ++flow.version;
  const std::int64_t end = now_ + whole_ns(std::max(0.0, flow.left_ns) / speed);
  events_.push({.ns = end, .order = num_events_++, .rank = -1, .flow = id, .version = flow.version});
}

void Engine::end_flow(std::uint32_t id) {
  std::vector<Member>& members = flows_[id].members;
  ++flows_[id].version;
  if (options_.memory != nullptr) exchange(members);
  rendezvous_.forget(id);
  for (std::size_t i = 0; i < members.size(); ++i) {
    Rank& rank = *ranks_[static_cast<std::size_t>(members[i].rank)];
    rank.device.end_flow((static_cast<std::uint64_t>(id) << 32) | i);
    touch(members[i].rank);
    if (--rank.running[members[i].id].num_flows_left > 0) continue;
    rank.device.remove(members[i].id);
    finish(members[i].rank, members[i].id);
  }
  members.clear();
}

void Engine::exchange(const std::vector<Member>& members) {
  // Members arrived in any order; values are summed in group order.
  std::vector<VirtualMemory::Member> in_order;
  const auto& first = ranks_[static_cast<std::size_t>(members[0].rank)]->running[members[0].id];
  for (const std::int32_t wanted : first.call->parts[members[0].part].members) {
    const auto member =
        std::find_if(members.begin(), members.end(), [wanted](const Member& m) { return m.rank == wanted; });
    const Running& running = ranks_[static_cast<std::size_t>(wanted)]->running[member->id];
    in_order.push_back({running.token, running.call->parts[member->part].transfers});
  }
  options_.memory->exchange(in_order);
}

// The trace -----------------------------------------------------------------------------------------------------------

// Records why an operation that was ready at `ready_ns` proceeds now. If it was not delayed, the host enqueued it only
// now. Otherwise it waited for the operation that has just ended (in its hardware queue, for multiprocessors or for a
// copy engine), or for the kernel that released multiprocessors between two waves.
void Engine::record_cause(Rank& rank, const InFlight& item, std::int64_t ready_ns,
                          std::optional<SharedDevice::Id> gave_up) {
  const EventEdges::Place operation{item.stream, rank.next_index(item.stream)};
  EventEdges& edges = rank.queues.event_edges();
  if (ready_ns == now_) {
    if (item.host_waited_for) edges.add_cause(*item.host_waited_for, operation, FlowKind::host);
  } else if (rank.last_end_ns == now_) {
    if (rank.last_stream != item.stream)
      edges.add_cause({rank.last_stream, rank.next_index(rank.last_stream) - 1}, operation, FlowKind::resource);
  } else if (gave_up) {
    const std::uint32_t stream = rank.running[*gave_up].item.stream;
    edges.add_cause({stream, rank.next_index(stream)}, operation, FlowKind::resource);
  }
}

void Engine::record(std::int32_t r, const Running& running) {
  static const NameId kUpload = intern("upload");
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  if (!options_.records_slices) return;
  if (rank.slices.size() <= running.item.stream) rank.slices.resize(running.item.stream + 1);
  rank.slices[running.item.stream].push_back(rank.leaves_no_slices ? EventEdges::kNoSlice
                                                                   : static_cast<std::uint32_t>(trace_.size()));
  if (rank.leaves_no_slices) return;
  const Program& program = running.item.program();
  const ProgramCommand& command = running.item.command();
  if (rank.tracks.empty()) name_tracks(r, program);
  Slice slice{.track = rank.tracks[command.stream],
              .start_ns = running.start_ns,
              .duration_ns = now_ - running.start_ns,
              .name = command.name,
              .operation = running.item.operation,
              .tag = command.tag};
  if (command.type == ProgramCommand::Type::upload) slice.name = kUpload;
  if (command.type != ProgramCommand::Type::communicate) return trace_.add(slice);
  const std::span<const Transfer> transfers = program.transfers(command);
  slice.name = intern(to_string(transfers.front().collective));
  CommunicationRecord communication{.group = rank.groups[command.communicator],
                                    .sequence = running.sequence,
                                    .last_arrival_ns = running.last_arrival_ns,
                                    .cpu_ns = -1,
                                    .transfers = {}};
  for (const Transfer& t : transfers)
    communication.transfers.push_back({.collective = t.collective,
                                       .dtype = dtype_of(t),
                                       .peer = t.peer,
                                       .bytes = message_bytes(t),
                                       .bytes_on_wire = bytes_on_wire(t, program.group_size(command))});
  trace_.add(slice, std::move(communication));
}

void Engine::name_tracks(std::int32_t r, const Program& program) {
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  for (std::size_t s = 0; s < program.streams.size(); ++s)
    rank.tracks.push_back(trace_.add_track(
        {.rank = rank.number, .stream = static_cast<std::int32_t>(s), .name = program.streams[s].name}));
  for (const ProgramCommunicator& c : program.communicators)
    rank.groups.push_back(trace_.add_group({.purpose = intern(c.purpose), .ranks = c.group.members}));
}

}  // namespace underlap::sim
