// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/implementations.hpp"
#include "kernels/cuda/marker.hpp"
#include "platform/errors.hpp"

namespace underlap::cuda {

void run_cuda_implementation(const Operation& operation, const Arguments& views, LaunchContext& context) {
  cuda_implementation(operation.name())(views, context);
}

struct CudaDevice::StreamState {
  std::string name;
  StreamHandle handle;
  StreamWorkspace workspace;  // after the handle, because it is freed in the handle's order
};

struct CudaDevice::CommunicatorState {
  std::string purpose;
  Group group;
  CommunicatorHints hints;
  std::vector<RegisteredBuffer> buffers;
  std::uint64_t sequence = 0;
  std::unique_ptr<Channel> channel;  // null until begin()
};

struct CudaDevice::Note {
  Stream stream;
  Tag tag;
  NameId name = kNoName;
  const Communicator* communicator = nullptr;  // of a communication, with
  std::span<const Transfer> transfers{};       // these
  int sm_budget = 0;
  std::optional<MarkOfStep> mark{};
};

CudaDevice::CudaDevice(Transport& transport, const CudaOptions& options)
    : transport_(transport),
      options_(options),
      next_operation_(options.first_operation),
      first_unproven_(options.first_operation) {
  check(cudaSetDevice(options.device));
  check(cudaDeviceGetAttribute(&num_sms_, cudaDevAttrMultiProcessorCount, options.device));
  check(cudaDeviceGetStreamPriorityRange(&least_priority_, &greatest_priority_));
  arena_ = std::make_unique<Arena>(options.device, options.rank, options.peers_map_tensors);
  faults_ = reinterpret_cast<std::uint32_t*>(arena_->allocate("fault word", sizeof(std::uint32_t)));
  reset_faults();
  staging_ = std::make_unique<StagingRing>(options.staging_slots, options.staging_slot_bytes);
}

// Memory must outlive the work that uses it, and a transfer whose peer is gone runs until it is aborted.
CudaDevice::~CudaDevice() {
  if (!is_idle_) transport_.abort();
  for (const auto& stream : streams_) (void)cudaStreamSynchronize(stream->handle.get());
}

CudaDevice::StreamState& CudaDevice::state(Stream stream) const { return *streams_.at(stream.id); }

CUstream_st* CudaDevice::handle(Stream stream) const { return state(stream).handle.get(); }

void CudaDevice::check_order(std::string_view what, std::string_view name) const {
  if (has_begun_) throw std::logic_error(fmt::format("{} ({}) was requested after begin()", what, name));
}

Stream CudaDevice::create_stream(std::string_view name, Priority priority) {
  check_order("a stream", name);
  const Stream stream{static_cast<std::uint32_t>(streams_.size())};
  StreamHandle handle = make_stream(priority == Priority::high ? greatest_priority_ : least_priority_);
  StreamWorkspace workspace(*arena_, handle.get());
  streams_.push_back(
      std::make_unique<StreamState>(StreamState{std::string(name), std::move(handle), std::move(workspace)}));
  return stream;
}

Tensor CudaDevice::allocate(std::string_view name, DataType dtype, std::int64_t elements) {
  check_order("a tensor", name);
  if (elements < 0) return tensors_.add(name, dtype, elements, nullptr);  // which throws the error
  return tensors_.add(name, dtype, elements, arena_->allocate(name, elements * size_of(dtype)));
}

Tensor CudaDevice::allocate_registered(std::string_view name, DataType dtype, std::int64_t elements,
                                       const Registration& registration) {
  check_order("a tensor", name);
  if (elements <= 0 || registration.communicators.empty()) return allocate(name, dtype, elements);
  const std::int64_t bytes = elements * size_of(dtype);
  std::byte* const data =
      arena_->allocate_from(name, bytes, [this](std::int64_t size) { return transport_.allocate(size); });
  for (const Communicator& communicator : registration.communicators)
    communicators_.at(communicator.id)->buffers.push_back({std::string(name), data, bytes, registration.symmetric});
  return tensors_.add(name, dtype, elements, data);
}

Communicator CudaDevice::declare(std::string_view purpose, const Group& group, const CommunicatorHints& hints) {
  const Stream stream = create_stream(purpose, hints.priority);
  communicators_.push_back(
      std::make_unique<CommunicatorState>(CommunicatorState{std::string(purpose), group, hints, {}, 0, nullptr}));
  return {static_cast<std::uint32_t>(communicators_.size() - 1), stream};
}

void CudaDevice::begin() {
  check_order("a second start", "begin");
  arena_->reserve(options_.workspace_reserve);
  touch_streams();
  rehearse();
  connect();
  mark_clock_.start(arena_->stream());
  has_begun_ = true;
  if (options_.tracer == nullptr) return;
  for (std::uint32_t i = 0; i < streams_.size(); ++i) options_.tracer->add_stream(i, streams_[i]->name);
  options_.tracer->add_stream(static_cast<std::uint32_t>(streams_.size()), "downloads");
  for (std::uint32_t i = 0; i < communicators_.size(); ++i)
    options_.tracer->add_group(
        i, {.purpose = intern(communicators_[i]->purpose), .ranks = communicators_[i]->group.members});
}

// Makes the driver set up each stream's first kernel and first copy now. During a collective that spins until its peers
// come, this setup might wait for the collective.
void CudaDevice::touch_streams() {
  static constexpr std::array<std::byte, sizeof(std::uint32_t)> kZero{};
  check(cudaStreamSynchronize(arena_->stream()));  // until the tensors are filled
  for (const auto& stream : streams_) {
    launch_marker(stream->handle.get());
    staging_->upload(stream->handle.get(), reinterpret_cast<std::byte*>(faults_), kZero);
  }
  wait_until_idle();
}

void CudaDevice::reset_faults() { check(cudaMemsetAsync(faults_, 0, sizeof(std::uint32_t), arena_->stream())); }

// Rehearses on zeros, which every kernel accepts as tokens, positions and sizes. One operation at a time, so that no
// operation reads what another writes.
void CudaDevice::rehearse() {
  if (options_.rehearsed.empty()) return;
  arena_->set_all(0);
  check(cudaStreamSynchronize(arena_->stream()));
  for (const Launch& rehearsed : options_.rehearsed) {
    StreamState& stream = state(rehearsed.stream);
    try {
      LaunchContext at = context(stream, rehearsed.operation.cost().sm_margin);
      run(rehearsed.operation, at);
      check(cudaStreamSynchronize(stream.handle.get()));
    } catch (const OutOfDeviceMemory&) {
      throw;
    } catch (const MachineError& error) {
      fail(fmt::format("operation {} on stream {}, in a trial run before the first transfer: {}",
                       name_of(rehearsed.operation.name()), stream.name, error.what()));
    }
  }
  arena_->set_all(Arena::kNaN);
  reset_faults();
  check(cudaStreamSynchronize(arena_->stream()));
}

void CudaDevice::connect() {
  transport_.show_memory(arena_->blocks());
  for (std::uint32_t i = 0; i < communicators_.size(); ++i) {
    CommunicatorState& communicator = *communicators_[i];
    try {
      communicator.channel =
          transport_.connect(i, communicator.purpose, communicator.group, communicator.hints, communicator.buffers);
    } catch (const OutOfDeviceMemory& error) {
      throw OutOfDeviceMemory(fmt::format("rank {}: communicator {} on GPU {}: {}; tensors take {}", options_.rank,
                                          communicator.purpose, options_.device, error.what(), arena_->taken()),
                              arena_->taken() + error.rank_bytes());
    }
  }
}

// All calls for an operation are between the tracer's push and pop, and a refused call is reported for that operation.
// A caller's mistake leaves the device unchanged.
template <class Enqueue>
void CudaDevice::enqueue(const Note& note, Enqueue enqueue) {
  rethrow_failure();
  const std::uint64_t id = next_operation_++;
  ++num_operations_;
  is_idle_ = false;
  Tracer* const tracer = options_.tracer;
  if (tracer != nullptr) {
    EnqueuedOperation operation{.id = id,
                                .tag = note.tag,
                                .name = note.name,
                                .number = num_operations_,
                                .stream = note.stream.id,
                                .sm_budget = note.sm_budget,
                                .communication = {},
                                .mark = note.mark};
    if (note.communicator != nullptr) operation.communication = record_of(*note.communicator, note.transfers);
    tracer->push(operation);
  }
  struct Pop {
    Tracer* tracer;
    ~Pop() {
      if (tracer != nullptr) tracer->pop();
    }
  } const pop{tracer};
  try {
    enqueue();
  } catch (const MachineError& error) {
    // After a kernel's error every later call reports it, whatever that call does.
    const cudaError_t before = query(arena_->stream());
    if (before != cudaSuccess && before != cudaErrorNotReady) fail(unknown_operation(error.what()));
    fail(fmt::format("operation {} ({}) on stream {}: {}", id, name_of(note.name), state(note.stream).name,
                     error.what()));
  }
}

// The same for calls that are not operations.
template <class Call>
void CudaDevice::guard(Call call) {
  rethrow_failure();
  try {
    call();
  } catch (const MachineError& error) {
    transport_.rethrow_failure();
    fail(unknown_operation(error.what()));
  }
}

LaunchContext CudaDevice::context(StreamState& stream, int sm_margin) {
  if (sm_margin >= num_sms_)
    throw std::invalid_argument(
        fmt::format("SM margin is {}, must be from 0 to {}: this GPU has {} SMs", sm_margin, num_sms_ - 1, num_sms_));
  return {.stream = stream.handle.get(),
          .num_sms = num_sms_,
          .sm_budget = sm_margin > 0 ? num_sms_ - sm_margin : 0,
          .norm_sm_margin = options_.norm_sm_margin,
          .workspace = &stream.workspace,
          .faults = faults_,
          .products = options_.products,
          .attention = options_.attention,
          .is_deterministic = options_.is_deterministic};
}

void CudaDevice::run(const Operation& operation, LaunchContext& at) const {
  const auto uses = operation.uses();
  std::array<BoundView, Operation::kMaxUses> views;
  for (std::size_t i = 0; i < uses.size(); ++i) views[i] = tensors_.bind(uses[i].view);
  const std::span<const BoundView> bound(views.data(), uses.size());
  options_.run_implementation(operation, Arguments(bound, operation.parameters()), at);
}

void CudaDevice::launch(Stream stream, const Tag& tag, const Operation& operation) {
  tensors_.check_uses(operation);
  LaunchContext at = context(state(stream), operation.cost().sm_margin);
  enqueue({.stream = stream, .tag = tag, .name = operation.name(), .sm_budget = at.sm_budget},
          [&] { run(operation, at); });
}

void CudaDevice::communicate(const Communicator& handle, const Tag& tag, std::span<const Transfer> transfers) {
  CommunicatorState& communicator = *communicators_.at(handle.id);
  if (transfers.empty()) throw std::invalid_argument(communicator.purpose + ": a group without transfers");
  if (communicator.channel == nullptr) throw std::logic_error(communicator.purpose + ": communicate() before begin()");
  transfers_.clear();
  for (const Transfer& transfer : transfers) {
    check_transfer(transfer, communicator.group);
    transfers_.push_back(tensors_.bind(transfer));
  }
  const NameId name = intern(to_string(transfers.front().collective));
  enqueue({.stream = handle.stream, .tag = tag, .name = name, .communicator = &handle, .transfers = transfers}, [&] {
    communicator.channel->enqueue(transfers_, state(handle.stream).handle.get(), communicator.sequence);
    ++communicator.sequence;
  });
}

CommunicationRecord CudaDevice::record_of(const Communicator& handle, std::span<const Transfer> transfers) const {
  const CommunicatorState& communicator = *communicators_[handle.id];
  CommunicationRecord record{.group = handle.id, .sequence = communicator.sequence, .transfers = {}};
  for (const Transfer& transfer : transfers)
    record.transfers.push_back({.collective = transfer.collective,
                                .dtype = dtype_of(transfer),
                                .peer = transfer.peer,
                                .bytes = message_bytes(transfer),
                                .bytes_on_wire = bytes_on_wire(transfer, communicator.group.size())});
  return record;
}

Event CudaDevice::record(Stream stream) {
  Event event;
  guard([&] { event = events_.record(state(stream).handle.get(), stream.id); });
  return event;
}

void CudaDevice::wait(Stream stream, Event event) {
  guard([&] {
    if (CUevent_st* const handle = events_.find(event); handle != nullptr)
      check(cudaStreamWaitEvent(state(stream).handle.get(), handle, 0));
  });
}

void CudaDevice::upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) {
  static const NameId kUpload = intern("upload");
  tensors_.check_copy("upload", destination, bytes.size());
  enqueue({.stream = stream, .tag = tag, .name = kUpload},
          [&] { staging_->upload(state(stream).handle.get(), tensors_.bind(destination).data, bytes); });
}

void CudaDevice::mark(Stream stream, std::int32_t block, std::int32_t step) {
  static const NameId kMark = intern("mark");
  CUstream_st* const at = state(stream).handle.get();
  enqueue({.stream = stream, .tag = {.step = step}, .name = kMark, .mark = MarkOfStep{block, step}}, [&] {
    launch_marker(at);
    mark_clock_.record(at, {.rank = options_.rank, .block = block, .step = step, .time_ns = 0});
    events_.close_generation();
  });
  num_operations_ = 0;
}

void CudaDevice::synchronize(Event event) {
  guard([&] {
    if (CUevent_st* const handle = events_.find(event); handle != nullptr) check(cudaEventSynchronize(handle));
  });
  transport_.rethrow_failure();  // the stream of an aborted transfer continues
}

void CudaDevice::synchronize() {
  guard([&] { wait_until_idle(); });
  guard([&] { check_faults(); });  // a transfer's error is thrown first
  events_.all_have_passed();
  first_unproven_ = next_operation_;
  is_idle_ = true;
}

// Stream by stream: on a shared device, waiting for the whole device would also wait for other ranks.
void CudaDevice::wait_until_idle() {
  for (const auto& stream : streams_) check(cudaStreamSynchronize(stream->handle.get()));
  check(cudaStreamSynchronize(arena_->stream()));
}

// Recorded as an operation, so that everything in a capture has an owner, even the read of the fault word.
void CudaDevice::copy_to_host(void* to, const void* from, std::size_t bytes) {
  static const NameId kDownload = intern("download");
  if (options_.tracer != nullptr)
    options_.tracer->push({.id = next_operation_++,
                           .tag = {.kind = Kind::copy},
                           .name = kDownload,
                           .number = 0,
                           .stream = static_cast<std::uint32_t>(streams_.size()),
                           .sm_budget = 0,
                           .communication = {},
                           .mark = {}});
  const cudaError_t copied = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, arena_->stream());
  if (options_.tracer != nullptr) options_.tracer->pop();
  check(copied);
  check(cudaStreamSynchronize(arena_->stream()));
}

void CudaDevice::check_faults() {
  std::uint32_t faults = 0;
  copy_to_host(&faults, faults_, sizeof faults);
  if (faults == 0) return;
  std::string what = fmt::format("fault word {:#x}", faults);
  if ((faults & kTokenOutsideVocabulary) != 0) what += ": a token is outside the vocabulary";
  if ((faults & kTargetOutsideVocabulary) != 0) what += ": a target is outside the vocabulary";
  if ((faults & kPositionOutsideSequence) != 0) what += ": a position is outside the sequence";
  throw MachineError(what);
}

void CudaDevice::download(const View& source, std::span<std::byte> bytes) {
  tensors_.check_copy("download", source, bytes.size());
  if (!bytes.empty()) guard([&] { copy_to_host(bytes.data(), tensors_.bind(source).data, bytes.size()); });
}

void CudaDevice::rethrow_failure() const {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  transport_.rethrow_failure();
}

void CudaDevice::fail(const std::string& what) {
  failure_ = std::make_exception_ptr(MachineError(fmt::format("rank {}: {}", options_.rank, what)));
  std::rethrow_exception(failure_);
}

// A kernel's error appears at the next wait, and CUDA does not report which kernel in flight caused it.
std::string CudaDevice::unknown_operation(std::string_view what) const {
  return fmt::format(
      "one of operations {} to {}: {} (CUDA_LAUNCH_BLOCKING=1 shows which, if no rank waits for another)",
      first_unproven_, next_operation_ - 1, what);
}

}  // namespace underlap::cuda
