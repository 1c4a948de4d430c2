// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace underlap::cuda {

/// The variables that a rank's process needs, before its first CUDA call, to share its GPU with other ranks: NCCL
/// refuses two ranks of one host on one GPU, so each gets a host id of its own, and what then goes between "hosts" are
/// sockets on the loopback interface. Only values can be learnt from such a run: it says nothing about time.
inline std::vector<std::pair<std::string, std::string>> shared_gpu_environment(std::int32_t rank) {
  return {{"NCCL_HOSTID", fmt::format("underlap-rank-{}", rank)},
          {"NCCL_NET", "Socket"},
          {"NCCL_SOCKET_IFNAME", "lo"},
          // The messages are tiny, and the ranks' kernels shall find room beside each other.
          {"NCCL_MAX_CTAS", "2"},
          // Both would look below the made-up hosts.
          {"NCCL_P2P_DISABLE", "1"},
          {"NCCL_SHM_DISABLE", "1"}};
}

}  // namespace underlap::cuda
