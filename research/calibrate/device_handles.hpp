// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "impl/device/cuda/handles.hpp"

namespace underlap::bench {

/// A stream of the highest priority, whose blocks are placed first, as NCCL's may be. Throws MachineError, as all of
/// these.
cuda::StreamHandle make_priority_stream();

/// Device memory filled with small numbers, never zeros: a GPU's power and clocks depend on the data.
cuda::DeviceBytes make_filled_bytes(std::int64_t bytes, cudaStream_t stream);

/// Microseconds between two timing events that have passed.
double elapsed_us(const cuda::EventHandle& from, const cuda::EventHandle& to);

}  // namespace underlap::bench
