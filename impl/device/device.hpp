// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/operation.hpp"
#include "profiler/trace/communication.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap {

/// A queue of one rank's device: its commands run in order.
struct Stream {
  std::uint32_t id = 0;
};

/// The time when all work that a stream held at `record` was done. Immutable: a later record does not move it.
struct Event {
  std::uint64_t id = 0;  ///< 0: always passed

  /// Equal events of one stream are the same moment: nothing was enqueued between their records. Not every backend
  /// detects this, so unequal events may be the same moment, too.
  friend bool operator==(const Event&, const Event&) = default;
};

/// The members of a group, as a technique sees them: peers are indices into `members`, never global ranks.
struct Group {
  std::vector<std::int32_t> members;  ///< global ranks in group order
  std::int32_t my_index = 0;

  std::int32_t size() const { return static_cast<std::int32_t>(members.size()); }
};

/// A group's communicator for one purpose; it owns the stream that its transfers run on.
struct Communicator {
  std::uint32_t id = 0;
  Stream stream;
};

/// Which blocks a GPU dispatches first when two kernels compete for multiprocessors.
enum class Priority : std::uint8_t { normal, high };

/// How a communicator should carry out its transfers. A backend ignores hints that it does not support.
struct CommunicatorHints {
  int sms = 0;               ///< streaming multiprocessors that a transfer occupies; 0: decided by the library
  int cga_size = 0;          ///< blocks of a thread-block cluster of its kernels, at most 8; 0: the library's default
  bool copy_engine = false;  ///< moved by copy engines, without multiprocessors; sends, receives and gathers only
  Priority priority = Priority::normal;

  friend bool operator==(const CommunicatorHints&, const CommunicatorHints&) = default;
};

/// The communicators that register a tensor's memory before its use, so that the library need not copy through its own
/// buffers. A backend without such a library ignores it.
struct Registration {
  std::vector<Communicator> communicators;  ///< declared earlier
  /// Register as a window that all members map, if the library supports windows: views of one transfer then have the
  /// same offset on every member. Otherwise each member registers only its own memory.
  bool symmetric = true;
};

enum class ReduceOp : std::uint8_t { sum, average, max };

/// As in messages.
std::string_view to_string(ReduceOp op);

/// The type of the partial sums in a reduction.
enum class Accumulator : std::uint8_t {
  wire,  ///< rounded to the wire's type after every addition, as a ring does hop by hop
  fp32,  ///< rounded once, at the end
};

/// One collective or point-to-point transfer between the members of a communicator's group. Views are dense.
///
/// all_gather      input: n elements; output: n * group size, or input lies at its own place inside output
/// reduce_scatter  input: n * group size; output: n, or it lies at its own place inside input
/// all_reduce      input and output: n elements, and may be the same view
/// all_to_all      input and output: n * group size elements, apart from each other
/// broadcast       input and output: n elements; `peer` is the root
/// send, receive   `peer` is the other side; a send has only an input, a receive only an output
struct Transfer {
  Collective collective = Collective::all_reduce;
  View input;
  View output;
  ReduceOp op = ReduceOp::sum;
  Accumulator accumulator = Accumulator::wire;
  std::int32_t peer = -1;
};

/// Whether it is a send or a receive.
constexpr bool is_message(Collective collective) {
  return collective == Collective::send || collective == Collective::receive;
}

/// Whether it combines the members' values.
constexpr bool is_reduction(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::all_reduce;
}

/// The element type that a transfer carries.
DataType dtype_of(const Transfer&);

/// The message size of a transfer as nccl-tests counts it: the larger of its two buffers, in bytes.
std::int64_t message_bytes(const Transfer&);

/// Bytes that a member of a group of `group_size` sends for `transfer`: (n-1)/n of the message for a reduce-scatter, an
/// all-gather and an all-to-all, twice that for an all-reduce (rounded down where n does not divide it), and for a
/// broadcast what its root sends.
std::int64_t bytes_on_wire(const Transfer& transfer, std::int32_t group_size);

/// Throws std::invalid_argument with the reason: a view that is not dense, sizes that do not fit the collective, two
/// data types, a sum of fp8, a peer outside the group.
void check_transfer(const Transfer& transfer, const Group& group);

/// Host work of the emulated framework between its calls to the device.
enum class HostWork : std::uint8_t {
  pass,         ///< a schedule's call for a pass, up to its first kernel
  synchronize,  ///< waits for the device, then takes a moment to continue
  iteration,    ///< the training loop between one step and the next
};

/// One rank's accelerator. A rank's program enqueues on it from one thread. It waits for enqueued work only in calls
/// that are documented to wait. All enqueued work is recorded with its tag.
///
/// It has two phases: streams, tensors and communicators are created before begin(), and all other calls follow it.
class Device {
 public:
  virtual ~Device() = default;

  virtual Stream create_stream(std::string_view name, Priority priority = Priority::normal) = 0;

  /// Returns a new tensor of `elements` elements; the device owns its memory. Programs may not read unwritten elements:
  /// memory, if any, is filled with NaN.
  virtual Tensor allocate(std::string_view name, DataType dtype, std::int64_t elements) = 0;

  /// The same for a tensor whose memory is registered with communicators in begin(). All their members allocate such
  /// tensors in the same order and size.
  virtual Tensor allocate_registered(std::string_view name, DataType dtype, std::int64_t elements,
                                     const Registration& /*registration*/) {
    return allocate(name, dtype, elements);
  }

  /// Declares a communicator and its stream. All members declare the same ones in the same order, before begin().
  virtual Communicator declare(std::string_view purpose, const Group& group, const CommunicatorHints& hints = {}) = 0;

  /// Connects all declared communicators in order and warms up each with a tiny transfer. Throws MachineError with the
  /// name of a missing peer.
  virtual void begin() = 0;

  virtual void launch(Stream stream, const Tag& tag, const Operation& operation) = 0;

  /// Runs `transfers` as one group on the communicator's stream.
  /// Throws std::invalid_argument if a view is not dense or sizes do not fit the collective.
  virtual void communicate(const Communicator& communicator, const Tag& tag, std::span<const Transfer> transfers) = 0;

  virtual Event record(Stream stream) = 0;

  /// Later work on `stream` runs only after `event` has passed.
  virtual void wait(Stream stream, Event event) = 0;

  /// The same, but only for timing: it keeps a stream from running too early, as in the emulated framework, and no
  /// result depends on it. `underlap check` proves a schedule without these.
  virtual void throttle(Stream stream, Event event) = 0;

  /// From here on `stream` owns `buffer`, whose old contents are lost. A no-op to run; the checker proves that no other
  /// use is left, and that only data written after this is read.
  virtual void acquire(Stream /*stream*/, const View& /*buffer*/) {}

  /// `stream` no longer uses `buffer`: the next user acquires it first. A no-op to run; the checker proves that all its
  /// uses come before this.
  virtual void release(Stream /*stream*/, const View& /*buffer*/) {}

  /// Copies `bytes` to `destination` on `stream`; the bytes are read before the call returns.
  virtual void upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) = 0;

  /// Marks the end of `step` on `stream`: a window boundary.
  virtual void mark(Stream stream, std::int32_t block, std::int32_t step) = 0;

  /// Blocks the host until `event` has passed. Rethrows the error of a stream.
  virtual void synchronize(Event event) = 0;

  /// Blocks the host until all streams are idle. Rethrows the error of a stream.
  virtual void synchronize() = 0;

  /// The framework's host works, after `after` if given. Virtual time counts the duration in the machine's description,
  /// or nothing if the description has none. A no-op elsewhere: there the host is this program.
  virtual void host_work(HostWork /*work*/, Event /*after*/ = {}) {}

  /// Copies a dense view to the host. Call synchronize() first.
  virtual void download(const View& source, std::span<std::byte> bytes) = 0;
};

}  // namespace underlap
