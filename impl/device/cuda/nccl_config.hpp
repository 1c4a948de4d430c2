// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap::cuda {

/// How a communicator is to be made: blocking, and with what `hints` ask for as far as a library of `version` knows it.
///
/// `purpose`  becomes the communicator's name; it must outlive it
/// `notices`  gets a line for every hint that cannot be honoured
/// With blocking = 0 NCCL would launch from a thread of its own, and a capture ties kernels to the thread that launched
/// them.
ncclConfig_t nccl_config(const CommunicatorHints& hints, int version, const std::string& purpose,
                         std::vector<std::string>& notices);

}  // namespace underlap::cuda
