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

}  // namespace underlap::cupti
