// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/nccl/nccl_transport.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <thread>
#include <utility>

#include "impl/device/cuda/nccl/nccl_calls.hpp"
#include "impl/device/cuda/nccl/nccl_config.hpp"
#include "impl/device/cuda/nccl/nccl_registration.hpp"
#include "impl/plan/nccl_variables.hpp"
#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::cuda {
namespace {

/// Up to this size all pairs of a group are connected at begin(); larger groups would take too much time and memory.
constexpr std::int32_t kAllPairs = 32;
/// How long an abort waits for the rank's thread to return from a call on the same communicator.
constexpr std::chrono::seconds kCallMayTake{2};

// All members create windows together, and NCCL has no deadline for it: they meet here first, and compare.
void meet_to_register(ControlPlane& control, const std::string& what, const Group& group,
                      std::span<const RegisteredBuffer> buffers) {
  std::array<std::int64_t, 3> mine{std::ssize(buffers), 0, 0};
  for (const RegisteredBuffer& buffer : buffers) {
    mine[1] += buffer.bytes;
    mine[2] += buffer.symmetric ? 1 : 0;
  }
  const auto all = all_gather(control, "registration with " + what, group, std::as_bytes(std::span(mine)));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != all.front())
      throw MachineError(fmt::format("{}: ranks {} and {} register buffers of different sizes", what, group.members[0],
                                     group.members[i]));
}

// Holds the mutex; gives up if it stays taken for longer than `time`. (The thread sanitizer of GCC 12 does not support
// std::timed_mutex.)
std::unique_lock<std::mutex> lock_within(std::mutex& mutex, std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex, std::try_to_lock);
  for (const auto end = std::chrono::steady_clock::now() + time; !lock && std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    (void)lock.try_lock();
  }
  return lock;
}

// One tiny transfer of each kind that the group may carry later.
std::vector<BoundTransfer> warm_up_transfers(const Group& group, std::byte* memory) {
  const std::int64_t n = group.size();
  const Tensor tensor{.id = 0, .dtype = DataType::f32, .elements = 2 * n};
  const View one = flat(tensor, 0, 1);
  const View all = flat(tensor, n, n);
  std::byte* const far = memory + n * size_of(DataType::f32);
  std::vector<BoundTransfer> transfers{
      {{.collective = Collective::all_reduce, .input = one, .output = one}, memory, memory},
      {{.collective = Collective::all_gather, .input = one, .output = all}, memory, far},
      {{.collective = Collective::reduce_scatter, .input = all, .output = one}, far, memory},
      {{.collective = Collective::broadcast, .input = one, .output = one, .peer = 0}, memory, memory}};
  if (n <= kAllPairs)
    transfers.push_back(
        {{.collective = Collective::all_to_all, .input = flat(tensor, 0, n), .output = all}, memory, far});
  return transfers;
}

// Without hints in the plan, these are no conflict, but still reported.
std::vector<std::string> overriding_variables() {
  std::vector<std::string> notices;
  for (const char* name : plan::kInPlaceOfCommunicatorConfig)
    if (const char* const value = std::getenv(name); value != nullptr)
      notices.push_back(fmt::format("{} is {} in the environment: NCCL uses it for all communicators", name, value));
  return notices;
}

SupervisorOptions supervisor_options(const NcclOptions& options) {
  SupervisorOptions of = options.supervisor;
  of.rank = options.rank;
  if (!options.end_process) of.look_interval = {};
  return of;
}

}  // namespace

struct NcclTransport::Communicator {
  std::uint32_t index = 0;
  std::string purpose;
  Group group;
  CommunicatorHints hints;
  std::size_t watched = 0;
  std::chrono::milliseconds limit{};  // of a call that enqueues a group
  std::mutex mutex;                   // held by a call, and by the abort that frees the communicator
  std::atomic<ncclComm_t> handle{nullptr};
};

class NcclTransport::NcclChannel final : public Channel {
 public:
  NcclChannel(NcclTransport& transport, Communicator& communicator, std::span<const RegisteredBuffer> buffers)
      : transport_(transport), communicator_(communicator), registration_(transport.api_) {
    if (communicator_.group.size() > 1 && !buffers.empty()) add(buffers);
    if (communicator_.hints.copy_engine && transport_.api_.version >= kFirstWithCopyEngines &&
        !registration_.has_windows())
      transport_.notices_.push_back(
          fmt::format("communicator {}: NCCL uses copy engines only for buffers in symmetric windows, and none of its "
                      "buffers are: expect SMs",
                      communicator_.purpose));
  }

  ~NcclChannel() override { remove(); }

  void enqueue(std::span<const BoundTransfer> transfers, CUstream_st* stream, std::uint64_t sequence) override {
    transport_.enqueue(communicator_, transfers, stream, sequence);
  }

 private:
  void add(std::span<const RegisteredBuffer> buffers) {
    const std::string what = fmt::format("communicator {} ({})", communicator_.index, communicator_.purpose);
    meet_to_register(transport_.control_, what, communicator_.group, buffers);
    const Supervisor::Scope registers(transport_.supervisor_, transport_.call_of("registration", communicator_));
    const std::lock_guard lock(communicator_.mutex);
    transport_.rethrow_failure();
    try {
      registration_.add(communicator_.handle, communicator_.purpose, buffers, transport_.notices_);
    } catch (...) {
      registration_.remove(communicator_.handle);
      throw;
    }
  }

  // Skipped for an aborted communicator, because the abort released them.
  void remove() noexcept {
    const std::lock_guard lock(communicator_.mutex);
    if (ncclComm_t const handle = communicator_.handle; handle != nullptr) registration_.remove(handle);
  }

  NcclTransport& transport_;
  Communicator& communicator_;
  NcclRegistration registration_;
};

NcclTransport::NcclTransport(const NcclApi& api, ControlPlane& control, const NcclOptions& options)
    : api_(api),
      control_(control),
      options_(options),
      notices_(overriding_variables()),
      supervisor_(
          supervisor_options(options), [this](const std::string& what) { control_.fail(options_.rank, what); },
          options.end_process),
      watchdog_(std::make_unique<Watchdog>(
          WatchdogOptions{.rank = options.rank,
                          .device = options.device,
                          .timeout = options.peer_timeout,
                          .poll_interval = options.poll_interval,
                          .supervisor = &supervisor_},
          [this] { return find_error(); }, [this](const std::string& what) { give_up(what); })) {}

// Members destroy their communicators together; a member that leaves by an exception cannot wait for the others.
NcclTransport::~NcclTransport() {
  watchdog_.reset();
  if (std::uncaught_exceptions() > num_exceptions_) abort();
  for (const auto& communicator : communicators_) {
    const Supervisor::Scope destroys(supervisor_, call_of("ncclCommDestroy", *communicator));
    if (ncclComm_t const handle = communicator->handle.exchange(nullptr); handle != nullptr)
      (void)api_.CommDestroy(handle);
  }
}

LibraryBytes NcclTransport::allocate(std::int64_t bytes) {
  void* memory = nullptr;
  check(api_, api_.MemAlloc(&memory, static_cast<std::size_t>((bytes + kWindowAlignment - 1) / kWindowAlignment *
                                                              kWindowAlignment)));
  return {static_cast<std::byte*>(memory), FreeByLibrary{this}};
}

std::unique_ptr<Channel> NcclTransport::connect(std::uint32_t index, std::string_view purpose, const Group& group,
                                                const CommunicatorHints& hints,
                                                std::span<const RegisteredBuffer> buffers) {
  rethrow_failure();
  return std::make_unique<NcclChannel>(*this, find_or_make(index, purpose, group, hints), buffers);
}

NcclTransport::Communicator& NcclTransport::find_or_make(std::uint32_t index, std::string_view purpose,
                                                         const Group& group, const CommunicatorHints& hints) {
  for (const auto& known : communicators_)
    if (known->index == index && known->purpose == purpose && known->group.members == group.members &&
        known->hints == hints)
      return *known;
  auto communicator = std::make_unique<Communicator>();
  communicator->index = index;
  communicator->purpose = purpose;
  communicator->group = group;
  communicator->hints = hints;
  communicator->limit = options_.connecting_timeout;
  communicator->watched = watchdog_->add(communicator->purpose, group);
  Communicator& made = *communicator;
  {
    const std::lock_guard lock(mutex_);
    communicators_.push_back(std::move(communicator));
  }
  create(made);
  warm(made);
  made.limit = options_.peer_timeout;
  return made;
}

HostCall NcclTransport::call_of(std::string_view operation, const Communicator& communicator) const {
  return {.operation = operation,
          .communicator = communicator.purpose,
          .ranks = communicator.group.members,
          .limit = options_.connecting_timeout};
}

// Members meet at the control plane first, where waiting has a deadline and names the missing ranks. NCCL's own wait
// for members has neither.
void NcclTransport::create(Communicator& communicator) {
  const Group& group = communicator.group;
  ncclUniqueId id{};
  if (group.my_index == 0) check(api_, api_.GetUniqueId(&id));
  control_.broadcast(fmt::format("communicator {} ({})", communicator.index, communicator.purpose), group,
                     std::as_writable_bytes(std::span(id.internal)));
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, options_.device));
  ncclConfig_t config = nccl_config(communicator.hints, {.version = api_.version, .compute_capability_major = major},
                                    communicator.purpose, notices_);
  ncclComm_t handle = nullptr;
  const Supervisor::Scope joins(supervisor_, call_of("ncclCommInitRankConfig", communicator));
  check(api_, api_.CommInitRankConfig(&handle, group.size(), id, group.my_index, &config));
  communicator.handle = handle;
}

// NCCL connects pairs at their first use, and allocates memory then. Without this warm-up that would happen during
// spinning kernels. From 2.22 on NCCL also connects each algorithm at its first use, and these transfers use only the
// algorithms for few bytes. NCCL_RUNTIME_CONNECT=0 in the launch environment connects all of them at the start.
void NcclTransport::warm(Communicator& communicator) {
  const Supervisor::Scope warms(supervisor_, call_of("warm-up", communicator));
  const auto elements = static_cast<std::size_t>(2 * communicator.group.size());
  const DeviceBytes memory = make_device_bytes(elements * sizeof(float));
  const StreamHandle stream = make_stream(0);
  check(cudaMemsetAsync(memory.get(), 0, elements * sizeof(float), stream.get()));
  std::uint64_t sequence = 0;
  for (const BoundTransfer& transfer : warm_up_transfers(communicator.group, memory.get()))
    enqueue(communicator, {&transfer, 1}, stream.get(), sequence++);
  const cudaError_t result = cudaStreamSynchronize(stream.get());
  rethrow_failure();
  check(result);
}

void NcclTransport::enqueue(Communicator& communicator, std::span<const BoundTransfer> transfers, CUstream_st* stream,
                            std::uint64_t sequence) {
  for (const BoundTransfer& transfer : transfers)
    check_nccl_can(transfer.transfer, communicator.group, communicator.purpose);
  const Collective collective = transfers.front().transfer.collective;
  HostCall call = call_of(to_string(collective), communicator);
  call.sequence = sequence;
  call.limit = communicator.limit;
  const Supervisor::Scope enqueues(supervisor_, call);
  const std::lock_guard lock(communicator.mutex);
  rethrow_failure();
  watchdog_->before(communicator.watched, stream);
  call_nccl(api_, communicator.handle, communicator.group, transfers, stream);
  watchdog_->after(communicator.watched, stream, collective, sequence);
}

std::string NcclTransport::link() const { return "nccl " + release_text(api_.version); }

std::optional<std::string> NcclTransport::find_error() {
  if (auto others = control_.failure()) return others;
  if (auto late = supervisor_.late()) return late;  // the control plane may be gone: ranks use it while they connect
  const std::lock_guard lock(mutex_);
  for (const auto& communicator : communicators_) {
    ncclComm_t const handle = communicator->handle;
    ncclResult_t state = ncclSuccess;
    if (handle == nullptr || api_.CommGetAsyncError(handle, &state) != ncclSuccess) continue;
    if (state == ncclSuccess || state == ncclInProgress) continue;
    return fmt::format("rank {}: NCCL error on communicator {} (ranks {}): {}", options_.rank, communicator->purpose,
                       fmt::join(communicator->group.members, ", "), api_.GetErrorString(state));
  }
  return {};
}

void NcclTransport::give_up(const std::string& what) noexcept {
  control_.fail(options_.rank, what);
  end_with(what);
}

void NcclTransport::abort() noexcept {
  if (!has_failed_.load(std::memory_order_acquire))
    end_with(fmt::format("rank {}: aborted with transfers in flight", options_.rank));
}

void NcclTransport::end_with(const std::string& what) noexcept {
  {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = what;
    has_failed_.store(true, std::memory_order_release);
  }
  supervisor_.expect_end(what);
  abort_communicators();
}

// Aborts all communicators at once, each on its own thread. An abort may wait for the whole device before it returns,
// and kernels of a communicator that is not aborted yet would block it.
void NcclTransport::abort_communicators() noexcept {
  const std::lock_guard lock(mutex_);
  std::vector<std::jthread> threads;
  for (const auto& communicator : communicators_)
    threads.emplace_back([this, &communicator = *communicator] {
      (void)cudaSetDevice(options_.device);
      // The rank's thread may be inside a call that only the abort ends; then stop waiting for it.
      const std::unique_lock call = lock_within(communicator.mutex, kCallMayTake);
      if (ncclComm_t const handle = communicator.handle.exchange(nullptr); handle != nullptr)
        (void)api_.CommAbort(handle);
    });
}

void NcclTransport::rethrow_failure() const {
  if (!has_failed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(failure_mutex_);
  throw MachineError(*failure_);
}

}  // namespace underlap::cuda
