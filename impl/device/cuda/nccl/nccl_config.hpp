// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap::cuda {

/// ncclConfig_t has CTAPolicy, and copy engines move, from this release on.
inline constexpr int kFirstWithCopyEngines = NCCL_VERSION(2, 28, 0);

/// The properties that decide which hints can be honored.
struct NcclSite {
  int version = 0;                   ///< of the library, as ncclGetVersion returns it
  int compute_capability_major = 0;  ///< of the GPU
};

/// The configuration of a blocking communicator, with `hints` as far as library and GPU support them.
///
/// `purpose`  becomes the communicator's name; it must outlive it
/// `notices`  gets a line for every hint that cannot be honored
/// With blocking = 0 NCCL would launch from its own thread, and a capture connects kernels to the thread that launched
/// them. Copy engines move only data in symmetric windows (nccl_registration.hpp).
/// Source: NCCL's ncclConfig_t; cgaClusterSize is 0 to 8, by default 4 from sm_90 on, and not used for a grid that it
/// does not divide.
ncclConfig_t nccl_config(const CommunicatorHints& hints, const NcclSite& site, const std::string& purpose,
                         std::vector<std::string>& notices);

}  // namespace underlap::cuda
