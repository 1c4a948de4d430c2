// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <vector>

namespace underlap::cupti {

/// The calls whose records are wanted: those that put work on a stream (launch, copy, memset, graph), record an event
/// or make a stream wait. CUPTI ties a kernel to an operation through the record of the call that launched it, so a
/// call that is missing here leaves its kernels untagged. Every other call stays unrecorded, because each record costs
/// host time.
struct TracedCalls {
  std::vector<CUpti_CallbackId> runtime;
  std::vector<CUpti_CallbackId> driver;
};

/// Those that a library of this version knows.
TracedCalls traced_calls(std::uint32_t cupti_version);

/// What a call puts on a device where it succeeds.
enum class WorkOfCall : std::uint8_t {
  none,    ///< nothing: it records an event, makes a stream wait, or is not traced
  launch,  ///< a kernel, or the nodes of a graph
  copy,    ///< a copy or a memset; nothing where that is of no bytes, which the call's record does not tell
};
WorkOfCall work_of_call(bool is_runtime, CUpti_CallbackId id);

}  // namespace underlap::cupti
