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

/// A queue of one rank's device: what is enqueued on it runs in order.
struct Stream {
  std::uint32_t id = 0;
};

/// The moment when all that a stream held at `record` was done. Immutable: a later record does not move it.
struct Event {
  std::uint64_t id = 0;  ///< 0: a moment that has always passed

  /// Events of one stream that are equal are one moment: nothing was enqueued between their records. Not every backend
  /// can tell, so unequal ones may be one moment, too.
  friend bool operator==(const Event&, const Event&) = default;
};

/// Who takes part, as the technique sees it: peers are indices into `members`, never global ranks.
struct Group {
  std::vector<std::int32_t> members;  ///< global ranks in group order
  std::int32_t my_index = 0;

  std::int32_t size() const { return static_cast<std::int32_t>(members.size()); }
};

/// What one group communicates through for one purpose; it owns the stream that its transfers run on.
struct Communicator {
  std::uint32_t id = 0;
  Stream stream;
};

/// Whose blocks a GPU dispatches first where two kernels want the same multiprocessors.
enum class Priority : std::uint8_t { normal, high };

/// How a communicator wants its transfers carried out. A backend that cannot honour a hint ignores it.
struct CommunicatorHints {
  int sms = 0;               ///< streaming multiprocessors that a transfer occupies; 0: as many as the library takes
  int cga_size = 0;          ///< blocks of a thread-block cluster of its kernels, at most 8; 0: the library's own
  bool copy_engine = false;  ///< moved by copy engines, which take none; sends, receives and gathers only
  Priority priority = Priority::normal;

  friend bool operator==(const CommunicatorHints&, const CommunicatorHints&) = default;
};

/// Who is to know a tensor's memory before transfers use it, so that a library need not copy through buffers of its
/// own. A backend without such a library ignores it.
struct Registration {
  std::vector<Communicator> communicators;  ///< declared before
  /// As a window that all members map, where the library has those: views of one transfer lie at one offset on every
  /// member. Otherwise each member registers its own memory alone.
  bool symmetric = true;
};

enum class ReduceOp : std::uint8_t { sum, average, max };

/// As messages have it.
std::string_view to_string(ReduceOp op);

/// The type that the partial sums of a reduction are held in.
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

/// The element type that a transfer carries.
DataType dtype_of(const Transfer&);

/// The message size of a transfer as nccl-tests counts it: the larger of its two buffers, in bytes.
std::int64_t message_bytes(const Transfer&);

/// Bytes that a member of a group of `group_size` sends for `transfer`: (n-1)/n of the message for a reduce-scatter, an
/// all-gather and an all-to-all, twice that for an all-reduce (rounded down where n does not divide it), and for a
/// broadcast what its root sends.
std::int64_t bytes_on_wire(const Transfer& transfer, std::int32_t group_size);

/// Throws std::invalid_argument naming what is wrong: a view that is not dense, sizes that do not fit the collective,
/// two data types, a sum of fp8, a peer outside the group.
void check_transfer(const Transfer& transfer, const Group& group);

/// What the host of the framework that is followed does by itself between the calls that it makes to the device.
enum class HostWork : std::uint8_t {
  pass,         ///< a schedule's call for a pass, up to its first kernel
  synchronize,  ///< it waits for the device, and takes a moment to go on
  iteration,    ///< the training loop between one step and the next
};

/// One rank's accelerator. A rank's program enqueues on it from one thread and never waits for what it enqueued,
/// except in the calls that say so. Everything enqueued is recorded with its tag.
///
/// It has two phases: streams, tensors and communicators are made before begin(), and everything else comes after it.
class Device {
 public:
  virtual ~Device() = default;

  virtual Stream create_stream(std::string_view name, Priority priority = Priority::normal) = 0;

  /// Returns a new tensor of `elements` elements; the device owns its memory. Nothing may be read that was not written:
  /// where memory backs the tensor it is filled with NaN.
  virtual Tensor allocate(std::string_view name, DataType dtype, std::int64_t elements) = 0;

  /// The same for a tensor whose memory is registered with communicators in begin(). Their members all allocate such
  /// tensors in the same order and size.
  virtual Tensor allocate_registered(std::string_view name, DataType dtype, std::int64_t elements,
                                     const Registration& /*registration*/) {
    return allocate(name, dtype, elements);
  }

  /// Declares a communicator and its stream. All members declare the same ones in the same order, before begin().
  virtual Communicator declare(std::string_view purpose, const Group& group, const CommunicatorHints& hints = {}) = 0;

  /// Connects all declared communicators in their one order and warms each with a tiny transfer.
  /// Throws MachineError naming the peer that did not come.
  virtual void begin() = 0;

  virtual void launch(Stream stream, const Tag& tag, const Operation& operation) = 0;

  /// Runs `transfers` as one group on the communicator's stream.
  /// Throws std::invalid_argument where a view is not dense or sizes do not fit the collective.
  virtual void communicate(const Communicator& communicator, const Tag& tag, std::span<const Transfer> transfers) = 0;

  virtual Event record(Stream stream) = 0;

  /// What `stream` is given after this runs only once `event` has passed.
  virtual void wait(Stream stream, Event event) = 0;

  /// The same for the sake of time alone: it keeps a stream from running ahead, as the framework that is followed does,
  /// and no result depends on it. `underlap check` proves a schedule without these.
  virtual void throttle(Stream stream, Event event) = 0;

  /// From here on `stream` owns `buffer`, whose old contents are gone. A no-op to run; the checker proves that nobody
  /// still uses it, and that nobody reads what was not written since.
  virtual void acquire(Stream /*stream*/, const View& /*buffer*/) {}

  /// `stream` has done with `buffer`: whoever uses it next acquires it first. A no-op to run; the checker proves that
  /// all its uses come before this.
  virtual void release(Stream /*stream*/, const View& /*buffer*/) {}

  /// Copies `bytes` to `destination` on `stream`; the bytes are taken before the call returns.
  virtual void upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) = 0;

  /// Marks the end of `step` on `stream`: a window boundary.
  virtual void mark(Stream stream, std::int32_t block, std::int32_t step) = 0;

  /// Blocks the host until `event` has passed. Throws what a stream threw.
  virtual void synchronize(Event event) = 0;

  /// Blocks the host until all streams are idle. Throws what a stream threw.
  virtual void synchronize() = 0;

  /// The framework's host works, behind `after` where that is given. Virtual time counts what the machine's description
  /// says of it, and where that says nothing, nothing. A no-op elsewhere: there the host is this program.
  virtual void host_work(HostWork /*work*/, Event /*after*/ = {}) {}

  /// Copies a dense view to the host. Call synchronize() first.
  virtual void download(const View& source, std::span<std::byte> bytes) = 0;
};

}  // namespace underlap
