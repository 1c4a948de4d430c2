// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace underlap::cuda {

/// The variables that a rank's process needs, before its first CUDA call, to share its GPU with other ranks: NCCL
/// refuses two ranks of one host on one GPU, so each gets a host id of its own, and what then goes between "hosts" are
/// sockets on the loopback interface. Only values can be learnt from such a run: it says nothing about time.
std::vector<std::pair<std::string, std::string>> shared_gpu_environment(std::int32_t rank);

/// What the link of such a rank is called in results, after the library's name.
inline constexpr std::string_view kSharedGpuLabel = ", ranks share a GPU (numerics only)";

}  // namespace underlap::cuda
