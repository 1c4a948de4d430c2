// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap::cuda {

/// ncclConfig_t has CTAPolicy, and copy engines move, from this release on.
inline constexpr int kFirstWithCopyEngines = NCCL_VERSION(2, 28, 0);

/// What decides which hints can be honoured.
struct NcclSite {
  int version = 0;                   ///< of the library, as ncclGetVersion returns it
  int compute_capability_major = 0;  ///< of the GPU
};

/// How a communicator is to be made: blocking, and with what `hints` ask for as far as library and GPU know it.
///
/// `purpose`  becomes the communicator's name; it must outlive it
/// `notices`  gets a line for every hint that cannot be honoured
/// With blocking = 0 NCCL would launch from a thread of its own, and a capture ties kernels to the thread that launched
/// them. Copy engines move what lies in symmetric windows only (nccl_registration.hpp).
/// Source: NCCL's ncclConfig_t; cgaClusterSize is 0 to 8, from sm_90 on 4 where nobody asks, and not used for a grid
/// that it does not divide.
ncclConfig_t nccl_config(const CommunicatorHints& hints, const NcclSite& site, const std::string& purpose,
                         std::vector<std::string>& notices);

}  // namespace underlap::cuda
