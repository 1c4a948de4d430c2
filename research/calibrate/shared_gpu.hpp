// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace underlap::cuda {

/// Environment variables that a rank's process needs, before its first CUDA call, to share its GPU with other ranks.
/// NCCL refuses two ranks of one host on one GPU, so each rank gets its own host id. The "hosts" then communicate over
/// sockets on the loopback interface. Such a run is valid only for values, not for times.
inline std::vector<std::pair<std::string, std::string>> shared_gpu_environment(std::int32_t rank) {
  return {{"NCCL_HOSTID", fmt::format("underlap-rank-{}", rank)},
          {"NCCL_NET", "Socket"},
          {"NCCL_SOCKET_IFNAME", "lo"},
          // Messages are tiny, and the ranks' kernels must fit on the GPU at the same time.
          {"NCCL_MAX_CTAS", "2"},
          // Both would bypass the made-up hosts.
          {"NCCL_P2P_DISABLE", "1"},
          {"NCCL_SHM_DISABLE", "1"}};
}

}  // namespace underlap::cuda
