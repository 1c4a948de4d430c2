// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/host_device.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "impl/device/host/collectives.hpp"
#include "impl/device/host/connection.hpp"
#include "impl/device/host/shared_clock.hpp"
#include "impl/device/host/thread_priority.hpp"
#include "impl/device/private_copy.hpp"
#include "platform/errors.hpp"
#include "platform/memory_room.hpp"

namespace underlap::host {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kNaNByte = 0xFF;     // all ones is a NaN in every floating-point type
constexpr int kPositionBits = 40;  // an event's id: the stream above, its position below

std::int64_t now_ns() { return shared_ns(Clock::now()); }

std::int64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::uint32_t stream_of(Event event) { return static_cast<std::uint32_t>((event.id >> kPositionBits) - 1); }
std::uint64_t position_of(Event event) { return event.id & ((std::uint64_t{1} << kPositionBits) - 1); }

void prepare_compute_thread(int compute_threads) { omp_set_num_threads(compute_threads); }

void prepare_communication_thread() {
  // Paced transfers end when a sleep ends: without this the kernel may round every sleep up by 50 us.
  prctl(PR_SET_TIMERSLACK, 1);
  prefer_on_wake_up(0);
  block_broken_pipe_signal();
}

}  // namespace

struct HostDevice::StreamState {
  StreamRecorder* recorder = nullptr;
  Scratch scratch;
  bool communicates = false;  // it is a communicator's; set before anything is enqueued
  bool prepared = false;
  std::unique_ptr<StreamWorker> worker;  // last: its thread uses the above
};

struct HostDevice::CommunicatorState {
  std::string purpose;
  Group group;
  std::uint32_t group_record = 0;
  std::uint64_t sequence = 0;
  std::shared_ptr<Connection> connection;  // null until begin()
};

HostDevice::HostDevice(Fabric& fabric, const HostOptions& options)
    : fabric_(fabric), options_(options), link_(options.link), recorder_(options.rank) {
  fabric_.on_failure(this, [this] { stop(); });
}

HostDevice::~HostDevice() {
  fabric_.forget(this);
  stop();
  for (const auto& stream : streams_) stream->worker->close();
}

void HostDevice::stop() noexcept {
  const std::lock_guard lock(streams_mutex_);
  is_stopped_ = true;
  for (const auto& stream : streams_) stream->worker->stop();
}

Stream HostDevice::create_stream(std::string_view name, Priority) {
  refuse_after_begin("a stream", name);
  const std::lock_guard lock(streams_mutex_);
  const auto id = static_cast<std::uint32_t>(streams_.size());
  auto made = std::make_unique<StreamState>();  // among the others once its thread runs: each of them can be stopped
  StreamState& stream = *made;
  stream.recorder = &recorder_.add_stream(id, name);
  try {
    stream.worker = std::make_unique<StreamWorker>(
        id, [this, &stream](Command& command) { execute(stream, command); },
        [this](const std::exception_ptr& error) { fabric_.fail(options_.rank, error); });
  } catch (const std::system_error& error) {
    throw MachineError(
        fmt::format("rank {}: could not start the thread of stream {}: {}", options_.rank, name, no_thread(error)));
  }
  if (is_stopped_) stream.worker->stop();
  streams_.push_back(std::move(made));
  return {id};
}

Tensor HostDevice::allocate(std::string_view name, DataType dtype, std::int64_t elements) {
  refuse_after_begin("a tensor", name);
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(elements, 0) * size_of(dtype));
  const std::size_t bytes = (wanted / kAlignment + 1) * kAlignment;
  Bytes data(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)));
  if (data == nullptr)
    throw MachineError(fmt::format(
        "rank {}: {}", options_.rank,
        out_of_memory(fmt::format("allocating {} for {}", in_bytes(static_cast<std::int64_t>(bytes)), name))));
  std::memset(data.get(), kNaNByte, bytes);
  const Tensor tensor = tensors_.add(name, dtype, elements, data.get());
  memory_.push_back(std::move(data));
  allocated_bytes_ += static_cast<std::int64_t>(bytes);
  return tensor;
}

Communicator HostDevice::declare(std::string_view purpose, const Group& group, const CommunicatorHints&) {
  const Stream stream = create_stream(purpose);
  state(stream).communicates = true;
  const std::uint32_t record = recorder_.add_group({.purpose = intern(purpose), .ranks = group.members});
  communicators_.push_back(std::make_unique<CommunicatorState>(CommunicatorState{
      .purpose = std::string(purpose), .group = group, .group_record = record, .sequence = 0, .connection = nullptr}));
  return {static_cast<std::uint32_t>(communicators_.size() - 1), stream};
}

void HostDevice::begin() {
  has_begun_ = true;
  block_broken_pipe_signal();
  for (std::uint32_t i = 0; i < communicators_.size(); ++i) {
    CommunicatorState& communicator = *communicators_[i];
    communicator.connection = fabric_.connect(i, communicator.purpose, communicator.group);
    if (communicator.group.size() == 1) continue;
    std::array<float, 1> value{1.0F};
    auto* const bytes = reinterpret_cast<std::byte*>(value.data());
    const View one = flat({.id = 0, .dtype = DataType::f32, .elements = 1});
    const BoundTransfer warm_up{{.collective = Collective::all_reduce, .input = one, .output = one}, bytes, bytes};
    Scratch scratch;
    run_transfers(*communicator.connection, intern("communicator warm-up"), 0, {&warm_up, 1}, scratch);
  }
}

void HostDevice::refuse_after_begin(std::string_view what, std::string_view name) const {
  if (has_begun_) throw std::logic_error(fmt::format("{} ({}) was requested after begin()", what, name));
}

HostDevice::StreamState& HostDevice::state(Stream stream) { return *streams_.at(stream.id); }

void HostDevice::enqueue_operation(Stream stream, Command command) {
  StreamWorker& worker = *state(stream).worker;
  if (options_.record_slices) recorder_.event_edges().add_operation(stream.id, worker.num_enqueued() + 1);
  worker.enqueue(std::move(command));
}

void HostDevice::launch(Stream stream, const Tag& tag, const Operation& operation) {
  tensors_.check_uses(operation);
  enqueue_operation(stream, LaunchCommand{tag, operation, ++num_operations_});
}

void HostDevice::communicate(const Communicator& handle, const Tag& tag, std::span<const Transfer> transfers) {
  CommunicatorState& communicator = *communicators_.at(handle.id);
  if (transfers.empty()) throw std::invalid_argument(communicator.purpose + ": a group without transfers");
  if (communicator.connection == nullptr)
    throw std::logic_error(communicator.purpose + ": communicate() before begin()");
  CommunicateCommand command{
      .tag = tag, .communicator = handle.id, .transfers = {}, .record = {}, .number = ++num_operations_};
  command.record.group = communicator.group_record;
  command.record.sequence = communicator.sequence++;
  for (const Transfer& transfer : transfers) {
    check_transfer(transfer, communicator.group);
    command.transfers.push_back(tensors_.bind(transfer));
    command.record.transfers.push_back({.collective = transfer.collective,
                                        .dtype = dtype_of(transfer),
                                        .peer = transfer.peer,
                                        .bytes = message_bytes(transfer),
                                        .bytes_on_wire = 0});
  }
  if (link_.options().is_paced()) refuse_too_slow(command, communicator.group.size());
  enqueue_operation(handle.stream, std::move(command));
}

// Peers would give up before such a transfer is over, and so would whoever waits for them.
void HostDevice::refuse_too_slow(const CommunicateCommand& command, std::int32_t group_size) const {
  std::int64_t sent = 0, received = 0;
  for (const BoundTransfer& bound : command.transfers)
    (bound.transfer.collective == Collective::receive ? received : sent) += bytes_on_wire(bound.transfer, group_size);
  const double seconds = link_.seconds_for(std::max(sent, received));
  const std::chrono::duration<double> limit = fabric_.peer_timeout();
  if (seconds <= limit.count()) return;
  throw std::invalid_argument(
      fmt::format("{} ({}) of {} would take {:.3g} s on a link of run.link_gbps {:g} and run.link_latency_us {:g}, "
                  "longer than run.peer_timeout_s {:g}: use a faster link or a longer timeout",
                  name_of(command.tag.purpose), to_string(command.transfers.front().transfer.collective),
                  in_bytes(std::max(sent, received)), seconds, link_.options().gbit_per_s,
                  std::chrono::duration<double, std::micro>(link_.options().latency).count(), limit.count()));
}

Event HostDevice::record(Stream stream) {
  const std::uint64_t position = state(stream).worker->num_enqueued();
  return {(static_cast<std::uint64_t>(stream.id + 1) << kPositionBits) | position};
}

void HostDevice::wait(Stream stream, Event event) {
  if (event.id == 0) return;
  if (options_.record_slices) recorder_.event_edges().add_wait(stream.id, stream_of(event), position_of(event));
  state(stream).worker->enqueue(WaitCommand{event});
}

void HostDevice::upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) {
  tensors_.check_copy("upload", destination, bytes.size());
  enqueue_operation(stream, UploadCommand{tag, destination, {bytes.begin(), bytes.end()}, ++num_operations_});
}

void HostDevice::mark(Stream stream, std::int32_t block, std::int32_t step) {
  state(stream).worker->enqueue(MarkCommand{block, step});
  num_operations_ = 0;
}

void HostDevice::synchronize(Event event) {
  if (event.id == 0) return;
  streams_.at(stream_of(event))->worker->wait_for(position_of(event));
  fabric_.rethrow_failure();
}

void HostDevice::synchronize() {
  for (const auto& stream : streams_) stream->worker->wait_for(stream->worker->num_enqueued());
  fabric_.rethrow_failure();
}

void HostDevice::download(const View& source, std::span<std::byte> bytes) {
  tensors_.check_copy("download", source, bytes.size());
  std::memcpy(bytes.data(), tensors_.bind(source).data, bytes.size());
}

std::vector<Mark> HostDevice::take_marks() { return std::exchange(marks_, {}); }

void HostDevice::execute(StreamState& stream, Command& command) {
  if (!std::exchange(stream.prepared, true)) {
    stream.communicates ? prepare_communication_thread() : prepare_compute_thread(options_.compute_threads);
  }
  std::visit([&](auto& concrete) { run(stream, concrete); }, command);
}

void HostDevice::run(StreamState& stream, LaunchCommand& command) {
  const auto uses = command.operation.uses();
  std::array<BoundView, Operation::kMaxUses> views;
  for (std::size_t i = 0; i < uses.size(); ++i) views[i] = tensors_.bind(uses[i].view);
  const std::span<const BoundView> bound(views.data(), uses.size());
  const std::int64_t start = now_ns();
  if (options_.guard_views) {
    run_guarded(command.operation, bound);
  } else {
    command.operation.cpu()(Arguments(bound, command.operation.parameters()));
  }
  if (options_.record_slices)
    stream.recorder->record({start, now_ns(), command.operation.name(), command.number, command.tag});
}

void HostDevice::run(StreamState& stream, CommunicateCommand& command) {
  CommunicatorState& communicator = *communicators_[command.communicator];
  const std::int64_t start = now_ns();
  const std::int64_t cpu_before = thread_cpu_ns();
  const CommunicationOutcome outcome = run_transfers(*communicator.connection, command.tag.purpose,
                                                     command.record.sequence, command.transfers, stream.scratch);
  link_.pace(outcome.total_sent, outcome.total_received, outcome.last_arrival, [this] { return fabric_.has_failed(); });
  const std::int64_t cpu = thread_cpu_ns() - cpu_before;
  communication_cpu_ns_.fetch_add(cpu, std::memory_order_relaxed);
  if (!options_.record_slices) return;
  command.record.last_arrival_ns = shared_ns(outcome.last_arrival);
  command.record.cpu_ns = cpu;
  for (std::size_t i = 0; i < outcome.bytes_sent.size(); ++i)
    command.record.transfers[i].bytes_on_wire = outcome.bytes_sent[i];
  const Collective collective = command.transfers.front().transfer.collective;
  stream.recorder->record({start, now_ns(), intern(to_string(collective)), command.number, command.tag},
                          std::move(command.record));
}

void HostDevice::run(StreamState& stream, UploadCommand& command) {
  static const NameId kUpload = intern("upload");
  const std::int64_t start = now_ns();
  std::memcpy(tensors_.bind(command.destination).data, command.bytes.data(), command.bytes.size());
  if (options_.record_slices) stream.recorder->record({start, now_ns(), kUpload, command.number, command.tag});
}

void HostDevice::run(StreamState&, WaitCommand& command) {
  streams_.at(stream_of(command.event))->worker->wait_for(position_of(command.event));
}

void HostDevice::run(StreamState&, MarkCommand& command) {
  marks_.push_back({.rank = options_.rank, .block = command.block, .step = command.step, .time_ns = now_ns()});
}

}  // namespace underlap::host
