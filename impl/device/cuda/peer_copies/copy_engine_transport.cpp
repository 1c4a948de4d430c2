// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/peer_copies/copy_engine_transport.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <exception>
#include <fstream>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "impl/device/cuda/peer_copies/host_mailbox.hpp"
#include "impl/device/cuda/peer_copies/peer_memory.hpp"
#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

constexpr std::size_t kFlagBytes = 2 << 20;  // a driver page, so that a handle exposes nothing else
constexpr std::size_t kNodeBytes = 128;

DeviceBytes make_zeros(std::size_t bytes) {
  DeviceBytes memory = make_device_bytes(bytes);
  const StreamHandle stream = make_stream(0);
  check(cudaMemsetAsync(memory.get(), 0, bytes, stream.get()));
  check(cudaStreamSynchronize(stream.get()));  // before any peer can see them
  return memory;
}

}  // namespace

std::string this_node() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat shm {};
  if (stat("/dev/shm", &shm) != 0) shm.st_dev = 0;
  return fmt::format("{} {}", boot, shm.st_dev);
}

/// The sends and receives of one communicator of one device. Counts are for each peer and direction: the k-th send from
/// i to j is the k-th receive at j from i.
class CopyEngineTransport::PeerChannel final : public Channel {
 public:
  PeerChannel(CopyEngineTransport& transport, std::uint32_t number, const Named& name)
      : transport_(transport),
        number_(number),
        name_(name),
        mailbox_(transport.control_, name.purpose, name.group,
                 {transport.options_.peer_timeout, [&transport] { transport.rethrow_any_failure(); }}),
        flags_(make_zeros(kFlagBytes)),
        memory_(std::in_place, transport.control_, name.purpose, name.group, blocks()),
        peers_(static_cast<std::size_t>(name.group.size())) {
    warm();
  }

  // Memory that a peer maps must stay; a rank that leaves by a failure cannot wait for the others.
  ~PeerChannel() override {
    memory_.reset();
    mailbox_.leave();
    const bool fails = std::uncaught_exceptions() > num_exceptions_ || transport_.has_failed_;
    if (!fails) mailbox_.wait_until_all_left();
  }

  void enqueue(std::span<const BoundTransfer> transfers, CUstream_st* stream, std::uint64_t sequence) override {
    if (!std::ranges::all_of(transfers, is_message, [](const BoundTransfer& t) { return t.transfer.collective; }))
      throw std::invalid_argument(
          fmt::format("communicator {} uses copy engines, which only send and receive", name_.purpose));
    transport_.rethrow_failure();
    exchange_.clear();
    for (const BoundTransfer& transfer : transfers)
      if (transfer.transfer.collective == Collective::receive) receive(transfer, sequence);
    for (const BoundTransfer& transfer : transfers)
      if (transfer.transfer.collective == Collective::send) send(transfer, sequence);
    enqueue_exchange(stream);
  }

 private:
  struct Peer {
    std::uint64_t num_sent = 0;
    std::uint64_t num_received = 0;
  };
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::uint64_t bytes = 0;
  };
  /// The parts of one group, in the order of its stream.
  struct Exchange {
    std::vector<FlagSignal> own_buffers_free;
    std::vector<FlagWait> peer_buffers_free;
    std::vector<Copy> copies;
    std::vector<FlagSignal> data_sent;
    std::vector<FlagWait> data_received;

    void clear() {
      own_buffers_free.clear();
      peer_buffers_free.clear();
      copies.clear();
      data_sent.clear();
      data_received.clear();
    }
  };

  // Flags of each peer: its data have arrived here, and its buffer is free for this rank's data.
  enum class Flag : std::uint8_t { arrived, free };

  std::vector<MemoryBlock> blocks() const {
    std::vector<MemoryBlock> blocks{{flags_.get(), kFlagBytes}};
    blocks.insert(blocks.end(), transport_.blocks_.begin(), transport_.blocks_.end());
    return blocks;
  }

  std::uint64_t offset_of(Flag flag, std::int32_t peer) const {
    return sizeof(std::uint64_t) * static_cast<std::uint64_t>(static_cast<int>(flag) * name_.group.size() + peer);
  }
  std::uint64_t* own_flag(Flag flag, std::int32_t peer) const {
    return reinterpret_cast<std::uint64_t*>(flags_.get() + offset_of(flag, peer));
  }
  std::uint64_t* flag_at(std::int32_t peer, Flag flag) const {
    const Landing at{0, offset_of(flag, name_.group.my_index), sizeof(std::uint64_t)};
    return reinterpret_cast<std::uint64_t*>(memory_->address(peer, at));
  }

  FlagWait wait_of(Flag flag, std::int32_t peer, std::uint64_t value, std::uint64_t sequence) const {
    Poison poison{.cause = flag == Flag::arrived ? Poison::Cause::late_data : Poison::Cause::late_buffer,
                  .channel = number_,
                  .peer = peer,
                  .sequence = sequence};
    FlagWait wait{.flag = own_flag(flag, peer), .value = value, .if_late = poison.pack()};
    poison.cause = Poison::Cause::peer_gave_up;
    wait.if_peer_gave_up = poison.pack();
    return wait;
  }

  // A flag that is signaled twice in one group gets the larger value.
  static void signal(std::vector<FlagSignal>& signals, const FlagSignal& signal) {
    const auto same = std::ranges::find(signals, signal.flag, &FlagSignal::flag);
    if (same == signals.end())
      signals.push_back(signal);
    else
      same->value = signal.value;
  }

  void receive(const BoundTransfer& transfer, std::uint64_t sequence) {
    const std::int32_t peer = transfer.transfer.peer;
    const Landing landing = memory_->locate(transfer.output, transfer.transfer.output.bytes());
    mailbox_.post(peer, landing, sequence);
    const std::uint64_t number = ++peers_[static_cast<std::size_t>(peer)].num_received;
    signal(exchange_.own_buffers_free, {flag_at(peer, Flag::free), number});
    exchange_.data_received.push_back(wait_of(Flag::arrived, peer, number, sequence));
  }

  void send(const BoundTransfer& transfer, std::uint64_t sequence) {
    const std::int32_t peer = transfer.transfer.peer;
    const Landing landing = mailbox_.take(peer, sequence);
    const auto bytes = static_cast<std::uint64_t>(transfer.transfer.input.bytes());
    if (landing.bytes != bytes)
      throw MachineError(fmt::format("send {} has {} bytes, and rank {} receives {}",
                                     exchange_in_words(name_.purpose, name_.group, sequence), bytes,
                                     name_.group.members[static_cast<std::size_t>(peer)], landing.bytes));
    const std::uint64_t number = ++peers_[static_cast<std::size_t>(peer)].num_sent;
    exchange_.peer_buffers_free.push_back(wait_of(Flag::free, peer, number, sequence));
    exchange_.copies.push_back({memory_->address(peer, landing), transfer.input, bytes});
    signal(exchange_.data_sent, {flag_at(peer, Flag::arrived), number});
  }

  void enqueue_exchange(CUstream_st* stream) {
    const auto timeout = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(transport_.options_.peer_timeout).count());
    const auto flags = [&](std::span<const FlagSignal> signals, std::span<const FlagWait> waits) {
      enqueue_flags(signals, waits, transport_.state(), timeout, stream);
    };
    flags(exchange_.own_buffers_free, exchange_.peer_buffers_free);
    for (const Copy& copy : exchange_.copies)
      if (copy.bytes > 0) check(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyDefault, stream));
    flags(exchange_.data_sent, exchange_.data_received);
  }

  // One tiny message between every two members, so that peer access, kernels and flags are set up before begin()
  // returns.
  void warm() {
    const std::int32_t n = name_.group.size();
    const std::int32_t me = name_.group.my_index;
    const StreamHandle stream = make_stream(0);
    constexpr std::int64_t kElements = 16;
    const Tensor tensor{.id = 0, .dtype = DataType::f32, .elements = kElements};
    std::byte* const sent = flags_.get() + kFlagBytes / 2;
    for (std::int32_t distance = 1; distance < n; ++distance) {
      const std::array<BoundTransfer, 2> pair{
          {{{.collective = Collective::send, .input = flat(tensor), .output = {}, .peer = (me + distance) % n}, sent},
           {{.collective = Collective::receive, .input = {}, .output = flat(tensor), .peer = (me - distance + n) % n},
            nullptr,
            sent + flat(tensor).bytes()}}};
      enqueue(pair, stream.get(), 0);
    }
    const cudaError_t result = cudaStreamSynchronize(stream.get());
    transport_.rethrow_failure();
    check(result);
  }

  CopyEngineTransport& transport_;
  std::uint32_t number_;
  Named name_;
  int num_exceptions_ = std::uncaught_exceptions();  // in progress when this was constructed
  HostMailbox mailbox_;
  DeviceBytes flags_;                 // block 0
  std::optional<PeerMemory> memory_;  // after the flags, which are its first block
  std::vector<Peer> peers_;
  Exchange exchange_;  // of the current group; a member, so that it allocates once
};

CopyEngineTransport::CopyEngineTransport(Transport& others, ControlPlane& control, const CopyEngineOptions& options)
    : others_(others),
      control_(control),
      options_(options),
      status_memory_(make_pinned(sizeof(PeerStatus))),
      status_(new (status_memory_.get()) PeerStatus),
      given_up_memory_(make_zeros(sizeof(std::uint64_t))),
      watchdog_(std::make_unique<Watchdog>(
          WatchdogOptions{.rank = options.rank,
                          .device = options.device,
                          .timeout = options.peer_timeout,
                          .poll_interval = options.poll_interval},
          [this] { return find_error(); }, [this](const std::string& what) { give_up(what); })) {}

CopyEngineTransport::~CopyEngineTransport() = default;

void CopyEngineTransport::show_memory(std::span<const MemoryBlock> blocks) {
  blocks_.assign(blocks.begin(), blocks.end());
  others_.show_memory(blocks);
}

bool CopyEngineTransport::share_a_node(std::string_view what, const Group& group) const {
  std::string node = options_.node;
  node.resize(kNodeBytes);
  const auto nodes = all_gather(control_, what, group, std::as_bytes(std::span(node)));
  return std::ranges::all_of(nodes, [&](const auto& other) { return other == nodes.front(); });
}

std::unique_ptr<Channel> CopyEngineTransport::connect(std::uint32_t index, std::string_view purpose, const Group& group,
                                                      const CommunicatorHints& hints,
                                                      std::span<const RegisteredBuffer> buffers) {
  rethrow_failure();
  if (!hints.copy_engine) return others_.connect(index, purpose, group, hints, buffers);
  const std::string what = fmt::format("communicator {} ({})", index, purpose);
  if (!share_a_node(what, group)) {
    notices_.push_back(
        fmt::format("communicator {}: ranks {} are on several nodes: its transfers do not use copy engines", purpose,
                    fmt::join(group.members, ", ")));
    CommunicatorHints without = hints;
    without.copy_engine = false;
    return others_.connect(index, purpose, group, without, buffers);
  }
  const Named named{std::string(purpose), group};
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = static_cast<std::uint32_t>(channels_.size());
    channels_.push_back(named);
  }
  if (number >= Poison::kMostChannels || group.size() > Poison::kMostPeers)
    throw std::invalid_argument(fmt::format("{}: copy engines serve at most {} communicators of {} ranks", what,
                                            Poison::kMostChannels, Poison::kMostPeers));
  return std::make_unique<PeerChannel>(*this, number, named);
}

std::vector<std::string> CopyEngineTransport::notices() const {
  std::vector<std::string> all = notices_;
  const std::vector<std::string> others = others_.notices();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

Poison CopyEngineTransport::poison() const {
  return Poison::unpack(std::atomic_ref(status_->poison).load(std::memory_order_acquire));
}

std::string CopyEngineTransport::describe(const Poison& poison) const {
  const std::lock_guard lock(mutex_);
  const Named& of = channels_.at(poison.channel);
  const std::string where = exchange_in_words(of.purpose, of.group, poison.sequence);
  const std::int32_t peer = of.group.members.at(static_cast<std::size_t>(poison.peer));
  switch (poison.cause) {
    case Poison::Cause::late_data:
      return fmt::format("rank {}: receive {}, waited {} ms for rank {} to send (run.peer_timeout_s)", options_.rank,
                         where, options_.peer_timeout.count(), peer);
    case Poison::Cause::late_buffer:
      return fmt::format("rank {}: send {}, waited {} ms for rank {} to be ready to receive (run.peer_timeout_s)",
                         options_.rank, where, options_.peer_timeout.count(), peer);
    default: return fmt::format("rank {}: transfer {}: rank {} aborted", options_.rank, where, peer);
  }
}

// Returns no error for poison from a peer, which reports its own error, nor for an abort, which its caller reports.
std::optional<std::string> CopyEngineTransport::find_error() const {
  if (auto failure = control_.failure()) return failure;
  try {
    others_.rethrow_failure();
  } catch (const MachineError& error) {
    if (has_failed_.load(std::memory_order_acquire)) return {};
    return error.what();
  }
  const Poison found = poison();
  if (found.cause == Poison::Cause::none || found.cause == Poison::Cause::peer_gave_up) return {};
  return describe(found);
}

void CopyEngineTransport::give_up(const std::string& what) const noexcept {
  control_.fail(options_.rank, what);
  end_with(what);
  others_.abort();
}

void CopyEngineTransport::end_with(const std::string& what) const noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = what;
  // In this order: when the abort lets a stream run dry, its contents must not be taken for a result.
  has_failed_.store(true, std::memory_order_seq_cst);
  std::atomic_ref(status_->is_aborted).store(1, std::memory_order_release);
}

void CopyEngineTransport::abort() noexcept {
  if (!has_failed_.load(std::memory_order_acquire))
    end_with(fmt::format("rank {}: aborted with transfers in flight", options_.rank));
  others_.abort();
}

void CopyEngineTransport::rethrow_any_failure() const {
  rethrow_failure();
  if (const auto failure = control_.failure()) throw MachineError(*failure);
}

// Streams of a poisoned rank run dry before the watchdog looks, so the waiting caller must get the error here.
void CopyEngineTransport::rethrow_failure() const {
  if (!has_failed_.load(std::memory_order_acquire)) {
    const Poison found = poison();
    if (found.cause == Poison::Cause::none) return others_.rethrow_failure();
    const auto end = std::chrono::steady_clock::now() + options_.peer_timeout;
    std::optional<std::string> why = find_error();
    for (; !why && std::chrono::steady_clock::now() < end; why = find_error())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    give_up(why.value_or(describe(found)));
  }
  const std::lock_guard lock(mutex_);
  throw MachineError(*failure_);
}

}  // namespace underlap::cuda
