// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/nccl_double.hpp"

#include <fmt/format.h>

#include "impl/device/reduce.hpp"
#include "tests/cuda_host/nccl_registrations.hpp"

using underlap::cuda_host::Machine;
using underlap::cuda_host::NcclCall;

// One member's end of a communicator. It lives until a reset, so that a call on what is gone can be told.
struct ncclComm {
  int id = 0;
  int rank = 0;
  int size = 1;
  ncclResult_t async_error = ncclSuccess;
  bool is_aborted = false;
  bool is_destroyed = false;
  std::uint64_t num_collectives = 0;
  std::map<int, std::uint64_t> num_sent;      // by peer
  std::map<int, std::uint64_t> num_received;  // by peer
};

namespace underlap::cuda_host {
namespace {

/// One member's part in a transfer.
struct Part {
  NcclCall call;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  bool is_first_in_stream = false;
};

/// Where the parts of a collective, or of one send and its receive, come together.
struct RankStore {
  std::size_t wanted = 0;
  std::map<int, Part> parts;  // by rank
  bool is_done = false;
};
// (communicator, from, to, which): from and to are -1 for a collective.
using MeetingKey = std::tuple<int, int, int, std::uint64_t>;

/// A call that waits for its group's end.
struct Pending {
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  Part part;
};
struct ThreadState {
  int depth = 0;
  int num_groups = 0;
  std::vector<Pending> calls;
};
thread_local ThreadState this_thread;

std::int64_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclUint8: return 1;
    case ncclBfloat16: return 2;
    case ncclFloat64: return 8;
    default: return 4;
  }
}

bool is_point_to_point(const NcclCall& call) { return call.name == "Send" || call.name == "Recv"; }

}  // namespace

struct NcclDouble::State {
  std::condition_variable changed;  // of members, with the machine's mutex
  std::map<int, std::vector<std::unique_ptr<ncclComm>>> members;
  std::map<MeetingKey, std::shared_ptr<RankStore>> meetings;
  std::map<std::pair<int, int>, ncclConfig_t> configs;
  std::vector<NcclCall> calls;
  std::vector<std::string> errors;
  std::string refused;
  int num_ids = 0;
  NcclRegistrations registrations;
};

namespace {

NcclDouble::State& state() { return NcclDouble::instance().state(); }

std::unique_lock<std::mutex> locked() { return std::unique_lock(Machine::instance().mutex()); }

void note(NcclCall call) {
  call.depth = this_thread.depth;
  call.group = this_thread.depth > 0 ? this_thread.num_groups : -1;
  state().calls.push_back(std::move(call));
}

ReduceOp op_of(const NcclCall& call) {
  if (call.op == ncclMax) return ReduceOp::max;
  return call.op == ncclAvg ? ReduceOp::average : ReduceOp::sum;
}

/// Adds up, gathers or copies what the members brought.
void move_bytes(RankStore& store) {
  const NcclCall& call = store.parts.begin()->second.call;
  const auto bytes = static_cast<std::size_t>(static_cast<std::int64_t>(call.count) * bytes_of(call.type));
  const auto n = store.wanted;
  const auto sum = [&](std::size_t first, std::size_t count, std::byte* out) {
    std::vector<const std::byte*> sources;
    for (const auto& [rank, part] : store.parts) sources.push_back(part.in + first);
    reduce_in_rank_order(sources,
                         {.dtype = call.type == ncclBfloat16 ? DataType::bf16 : DataType::f32,
                          .accumulator = Accumulator::wire,
                          .op = op_of(call)},
                         static_cast<std::int64_t>(count), out);
  };
  if (is_point_to_point(call)) {
    const Part* from = nullptr;
    const Part* to = nullptr;
    for (const auto& [rank, part] : store.parts) (part.call.name == "Send" ? from : to) = &part;
    std::memcpy(to->out, from->in, bytes);
  } else if (call.name == "AllReduce" || call.name == "ReduceScatter") {
    // Results are made aside: an output may be another member's input only in a test that is wrong, but a member's
    // output may well be its own input.
    const bool scatters = call.name == "ReduceScatter";
    std::vector<std::byte> all(bytes * (scatters ? n : 1));
    sum(0, call.count * (scatters ? n : 1), all.data());
    std::size_t i = 0;
    for (const auto& [rank, part] : store.parts)
      std::memcpy(part.out, all.data() + (scatters ? bytes * i++ : 0), bytes);
  } else if (call.name == "AllGather") {
    std::vector<std::byte> all;
    for (const auto& [rank, part] : store.parts) all.insert(all.end(), part.in, part.in + bytes);
    for (const auto& [rank, part] : store.parts) std::memcpy(part.out, all.data(), all.size());
  } else if (call.name == "Broadcast") {
    const std::byte* const root = store.parts.at(call.peer).in;
    for (const auto& [rank, part] : store.parts) std::memmove(part.out, root, bytes);
  }
}

/// Writes down what differs between the parts; true where nothing does.
bool match(const RankStore& store) {
  const NcclCall& first = store.parts.begin()->second.call;
  for (const auto& [rank, part] : store.parts) {
    const NcclCall& call = part.call;
    const bool same_kind = is_point_to_point(first) || (call.name == first.name && call.peer == first.peer);
    if (same_kind && call.count == first.count && call.type == first.type && call.op == first.op) continue;
    state().errors.push_back(fmt::format("communicator {}: rank {} calls {} of {} elements, rank {} {} of {}",
                                         call.communicator, first.rank, first.name, first.count, call.rank, call.name,
                                         call.count));
    return false;
  }
  return true;
}

/// What one member enqueued on one stream as one group.
struct Group {
  ncclComm_t communicator = nullptr;
  std::vector<std::shared_ptr<RankStore>> meetings;

  bool ready() const {
    // Kernels of members whose peer has aborted spin until they are aborted themselves.
    for (const auto& member : state().members[communicator->id])
      if (member->is_aborted) return communicator->is_aborted;
    bool all = true;
    for (const auto& store : meetings) {
      store->parts.at(communicator->rank).is_first_in_stream = true;
      const bool is_complete =
          store->parts.size() == store->wanted &&
          std::ranges::all_of(store->parts, [](const auto& part) { return part.second.is_first_in_stream; });
      all = all && (store->is_done || is_complete);
    }
    return all;
  }
  void run() const {
    if (communicator->is_aborted) return;
    for (const auto& store : meetings)
      if (!std::exchange(store->is_done, true) && match(*store)) move_bytes(*store);
  }
};

MeetingKey key_of(const Pending& pending) {
  ncclComm& c = *pending.communicator;
  const NcclCall& call = pending.part.call;
  if (!is_point_to_point(call)) return {c.id, -1, -1, c.num_collectives++};
  if (call.name == "Send") return {c.id, c.rank, call.peer, c.num_sent[call.peer]++};
  return {c.id, call.peer, c.rank, c.num_received[call.peer]++};
}

void launch(const std::vector<Pending>& calls) {
  std::map<std::pair<ncclComm_t, cudaStream_t>, Group> groups;
  std::vector<std::pair<cudaStream_t, Group>> in_order;
  {
    const auto lock = locked();
    for (const Pending& pending : calls) {
      const MeetingKey key = key_of(pending);
      std::shared_ptr<RankStore>& store = state().meetings[key];
      if (store == nullptr) store = std::make_shared<RankStore>();
      // A rank's message to itself needs both of its parts: the second takes a place of its own.
      const bool to_itself = is_point_to_point(pending.part.call) && std::get<1>(key) == std::get<2>(key);
      store->wanted = is_point_to_point(pending.part.call) ? 2 : static_cast<std::size_t>(pending.communicator->size);
      const int place =
          to_itself && pending.part.call.name == "Recv" ? pending.communicator->size : pending.communicator->rank;
      store->parts[place] = pending.part;
      if (to_itself) store->parts[place].is_first_in_stream = true;
      Group& group = groups[{pending.communicator, pending.stream}];
      group.communicator = pending.communicator;
      group.meetings.push_back(store);
    }
  }
  for (auto& [where, group] : groups)
    Machine::instance().enqueue(where.second,
                                {.ready = [group] { return group.ready(); }, .run = [group] { group.run(); }});
}

bool is_usable(ncclComm_t communicator, const char* name) {
  if (communicator != nullptr && !communicator->is_aborted && !communicator->is_destroyed) return true;
  state().errors.push_back(fmt::format("{} on a communicator that is gone", name));
  return false;
}

bool is_refused(const std::string& name) {
  if (state().refused != name) return false;
  state().refused.clear();
  return true;
}

ncclResult_t transfer(NcclCall call, const void* in, void* out, ncclComm_t communicator, cudaStream_t stream) {
  {
    const auto lock = locked();
    if (!is_usable(communicator, call.name.c_str())) return ncclInvalidUsage;
    call.communicator = communicator->id;
    call.rank = communicator->rank;
    note(call);
    if (is_refused(call.name)) return ncclInvalidUsage;
  }
  const Pending pending{
      communicator, stream, {std::move(call), static_cast<const std::byte*>(in), static_cast<std::byte*>(out), false}};
  if (this_thread.depth > 0) {
    this_thread.calls.push_back(pending);
  } else {
    launch({pending});
  }
  return ncclSuccess;
}

ncclResult_t get_unique_id(ncclUniqueId* id) {
  const auto lock = locked();
  std::memset(id, 0, sizeof *id);
  const int number = state().num_ids++;
  std::memcpy(id->internal, &number, sizeof number);
  note({.name = "GetUniqueId"});
  return ncclSuccess;
}

// Blocks until all members have come, as a blocking communicator does.
ncclResult_t init_rank(ncclComm_t* communicator, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  auto lock = locked();
  int number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  auto& members = state().members[number];
  auto& member = members.emplace_back(std::make_unique<ncclComm>());
  member->id = number;
  member->rank = rank;
  member->size = size;
  *communicator = member.get();
  state().configs[{number, rank}] = *config;
  note({.name = "CommInitRankConfig", .communicator = number, .rank = rank});
  state().changed.notify_all();
  const bool all = state().changed.wait_for(lock, std::chrono::seconds(20),
                                            [&] { return static_cast<int>(members.size()) == size; });
  return all ? ncclSuccess : ncclInternalError;
}

ncclResult_t allocate(void** memory, std::size_t bytes) {
  *memory = Machine::instance().take_memory(bytes, static_cast<std::size_t>(cuda::kWindowAlignment));
  const auto lock = locked();
  note({.name = "MemAlloc", .count = bytes, .buffer = *memory});
  if (*memory == nullptr || is_refused("MemAlloc")) return ncclUnhandledCudaError;
  state().registrations.took(*memory);
  return ncclSuccess;
}

ncclResult_t free_memory(void* memory) {
  const auto lock = locked();
  note({.name = "MemFree", .buffer = memory});
  if (state().registrations.any([&](ncclComm_t c, const void* buffer) { return buffer == memory && !c->is_aborted; }))
    state().errors.emplace_back("memory is freed that a communicator knows");
  if (!state().registrations.gave_back(memory)) state().errors.emplace_back("memory is freed that is not NCCL's");
  Machine::instance().give_memory(memory);
  return ncclSuccess;
}

ncclResult_t keep(NcclCall call, ncclComm_t communicator, void** handle) {
  const auto lock = locked();
  *handle = nullptr;
  if (!is_usable(communicator, call.name.c_str())) return ncclInvalidUsage;
  call.communicator = communicator->id;
  call.rank = communicator->rank;
  const bool is_window = call.name == "CommWindowRegister";
  if (is_window && !state().registrations.can_be_window(call.buffer, call.count))
    state().errors.emplace_back("a window of memory that is not NCCL's in whole pages");
  note(call);
  if (is_refused(call.name)) return ncclInvalidUsage;
  *handle = state().registrations.keep(communicator, call.buffer, is_window);
  return ncclSuccess;
}

ncclResult_t drop(const char* name, ncclComm_t communicator, void* handle, bool is_window) {
  const auto lock = locked();
  if (!is_usable(communicator, name)) return ncclInvalidUsage;
  const void* const buffer = state().registrations.drop(communicator, handle, is_window);
  if (buffer == nullptr) state().errors.push_back(fmt::format("{} of what is not registered", name));
  note({.name = name, .communicator = communicator->id, .rank = communicator->rank, .buffer = buffer});
  return buffer != nullptr ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t register_buffer(const ncclComm_t communicator, void* buffer, std::size_t bytes, void** handle) {
  return keep({.name = "CommRegister", .count = bytes, .buffer = buffer}, communicator, handle);
}
ncclResult_t deregister_buffer(const ncclComm_t communicator, void* handle) {
  return drop("CommDeregister", communicator, handle, false);
}
ncclResult_t register_window(ncclComm_t communicator, void* buffer, std::size_t bytes, cuda::NcclWindow* window,
                             int flags) {
  return keep({.name = "CommWindowRegister", .count = bytes, .buffer = buffer, .flags = flags}, communicator, window);
}
ncclResult_t deregister_window(ncclComm_t communicator, cuda::NcclWindow window) {
  return drop("CommWindowDeregister", communicator, window, true);
}

ncclResult_t destroy(ncclComm_t communicator) {
  const auto lock = locked();
  if (!is_usable(communicator, "CommDestroy")) return ncclInvalidUsage;
  if (state().registrations.any([&](ncclComm_t c, const void*) { return c == communicator; }))
    state().errors.push_back(fmt::format("communicator {} is destroyed with buffers", communicator->id));
  communicator->is_destroyed = true;
  note({.name = "CommDestroy", .communicator = communicator->id, .rank = communicator->rank});
  return ncclSuccess;
}

ncclResult_t abort(ncclComm_t communicator) {
  const auto lock = locked();
  if (!is_usable(communicator, "CommAbort")) return ncclInvalidUsage;
  communicator->is_aborted = true;
  note({.name = "CommAbort", .communicator = communicator->id, .rank = communicator->rank});
  Machine::instance().wake();
  return ncclSuccess;
}

ncclResult_t get_async_error(ncclComm_t communicator, ncclResult_t* error) {
  const auto lock = locked();
  if (!is_usable(communicator, "CommGetAsyncError")) return ncclInvalidUsage;
  note({.name = "CommGetAsyncError", .communicator = communicator->id, .rank = communicator->rank});
  *error = communicator->async_error;
  return ncclSuccess;
}

ncclResult_t group_start() {
  const auto lock = locked();
  note({.name = "GroupStart"});
  if (this_thread.depth++ == 0) ++this_thread.num_groups;
  return ncclSuccess;
}

ncclResult_t group_end() {
  {
    const auto lock = locked();
    --this_thread.depth;
    note({.name = "GroupEnd"});
  }
  if (this_thread.depth == 0) launch(std::exchange(this_thread.calls, {}));
  return ncclSuccess;
}

ncclResult_t all_gather(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclComm_t c,
                        cudaStream_t stream) {
  return transfer({.name = "AllGather", .count = count, .type = type}, in, out, c, stream);
}
ncclResult_t reduce_scatter(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t c, cudaStream_t stream) {
  return transfer({.name = "ReduceScatter", .count = count, .type = type, .op = op}, in, out, c, stream);
}
ncclResult_t all_reduce(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                        cudaStream_t stream) {
  return transfer({.name = "AllReduce", .count = count, .type = type, .op = op}, in, out, c, stream);
}
ncclResult_t broadcast(const void* in, void* out, std::size_t count, ncclDataType_t type, int root, ncclComm_t c,
                       cudaStream_t stream) {
  return transfer({.name = "Broadcast", .count = count, .type = type, .peer = root}, in, out, c, stream);
}
ncclResult_t send(const void* in, std::size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream) {
  return transfer({.name = "Send", .count = count, .type = type, .peer = peer}, in, nullptr, c, stream);
}
ncclResult_t receive(void* out, std::size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream) {
  return transfer({.name = "Recv", .count = count, .type = type, .peer = peer}, nullptr, out, c, stream);
}

const char* error_string(ncclResult_t result) { return result == ncclRemoteError ? "remote error" : "invalid usage"; }
const char* last_error(ncclComm_t) { return ""; }

}  // namespace

NcclDouble::NcclDouble() : state_(std::make_unique<State>()) {}

NcclDouble& NcclDouble::instance() {
  static NcclDouble nccl;
  return nccl;
}

void NcclDouble::reset() {
  const auto lock = locked();
  state_ = std::make_unique<State>();
}

cuda::NcclApi NcclDouble::api(int version) {
  const bool has_windows = version >= NCCL_VERSION(2, 27, 0);
  return {.path = "the test",
          .version = version,
          .GetErrorString = error_string,
          .GetLastError = last_error,
          .GetUniqueId = get_unique_id,
          .CommInitRankConfig = init_rank,
          .CommDestroy = destroy,
          .CommAbort = abort,
          .CommGetAsyncError = get_async_error,
          .GroupStart = group_start,
          .GroupEnd = group_end,
          .AllGather = all_gather,
          .ReduceScatter = reduce_scatter,
          .AllReduce = all_reduce,
          .Broadcast = broadcast,
          .Send = send,
          .Recv = receive,
          .MemAlloc = allocate,
          .MemFree = free_memory,
          .CommRegister = register_buffer,
          .CommDeregister = deregister_buffer,
          .CommWindowRegister = has_windows ? register_window : nullptr,
          .CommWindowDeregister = has_windows ? deregister_window : nullptr};
}

std::vector<NcclCall> NcclDouble::calls() {
  const auto lock = locked();
  return state_->calls;
}

std::vector<NcclCall> NcclDouble::calls(const std::string& name) {
  std::vector<NcclCall> found = calls();
  std::erase_if(found, [&](const NcclCall& call) { return call.name != name; });
  return found;
}

std::map<std::pair<int, int>, ncclConfig_t> NcclDouble::configs() {
  const auto lock = locked();
  return state_->configs;
}

std::vector<std::string> NcclDouble::errors() {
  const auto lock = locked();
  return state_->errors;
}

std::pair<int, int> NcclDouble::num_aborted_and_destroyed() {
  const auto lock = locked();
  std::pair<int, int> counts;
  for (const auto& [id, members] : state_->members)
    for (const auto& member : members) {
      counts.first += member->is_aborted ? 1 : 0;
      counts.second += member->is_destroyed ? 1 : 0;
    }
  return counts;
}

void NcclDouble::make_no_windows() {
  const auto lock = locked();
  state_->registrations.makes_windows = false;
}

void NcclDouble::register_nothing() {
  const auto lock = locked();
  state_->registrations.makes_windows = false;
  state_->registrations.registers = false;
}

void NcclDouble::refuse_next(const std::string& name) {
  const auto lock = locked();
  state_->refused = name;
}

void NcclDouble::set_async_error(int communicator, ncclResult_t error) {
  const auto lock = locked();
  for (const auto& member : state_->members[communicator]) member->async_error = error;
}

}  // namespace underlap::cuda_host
