// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "profiler/trace/name.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap {

/// Operations as NVTX ranges of the domain `underlap`, so that Nsight Systems and other tools show what Underlap's own
/// capture shows: the range's message is the operation's name, its payload the operation's id, number and tag.
///
/// Where the tool reads extended payloads, the payload is a structure whose schema is registered once (fields
/// operation, number, layer, microbatch, bucket, chunk, step, kind, mode, direction, purpose); elsewhere it is the
/// operation's id. Without a tool (NVTX_INJECTION64_PATH) a range costs one comparison. Each thread that enqueues has
/// its own object.
class NvtxRanges {
 public:
  NvtxRanges();
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  /// Whether a tool listens.
  bool is_enabled() const { return domain_ != nullptr; }

  /// Opens a range on the calling thread; ranges nest.
  void push(NameId name, const Tag& tag, std::uint64_t operation, std::uint32_t number) {
    if (domain_ != nullptr) open(name, tag, operation, number);
  }
  /// Closes the innermost range.
  void pop() {
    if (domain_ != nullptr) close();
  }

 private:
  struct Domain;
  void open(NameId name, const Tag&, std::uint64_t operation, std::uint32_t number);
  void close();

  std::unique_ptr<Domain> domain_;  // null: nobody listens
};

}  // namespace underlap
