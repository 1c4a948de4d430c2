// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profiler/trace/communication.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap::cuda {

/// A mark as requested by the program.
struct MarkOfStep {
  std::int32_t block = 0;
  std::int32_t step = 0;
};

/// An operation of the device: a capture connects kernels to it by `id`.
struct EnqueuedOperation {
  std::uint64_t id = 0;  ///< rises by one with each operation of the rank, from 1 over the life of the process
  Tag tag;
  NameId name = kNoName;
  std::uint32_t number = 0;  ///< position since the last mark, from 1
  std::uint32_t stream = 0;
  int sm_budget = 0;  ///< multiprocessors that its kernels may use; 0: all
  std::optional<CommunicationRecord> communication;
  std::optional<MarkOfStep> mark;
};

/// Captures the work of a device. A device without a tracer has no capture overhead.
class Tracer {
 public:
  virtual ~Tracer() = default;

  /// Streams and communicators of a device, by their numbers, at begin().
  virtual void add_stream(std::uint32_t stream, std::string_view name) = 0;
  virtual void add_group(std::uint32_t communicator, const GroupRecord& group) = 0;

  /// All calls of CUDA and NCCL between push and pop, on this thread, belong to `operation`.
  virtual void push(const EnqueuedOperation& operation) = 0;
  virtual void pop() noexcept = 0;
};

}  // namespace underlap::cuda
