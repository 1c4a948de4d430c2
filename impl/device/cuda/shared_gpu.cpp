// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/shared_gpu.hpp"

#include <fmt/format.h>

namespace underlap::cuda {

std::vector<std::pair<std::string, std::string>> shared_gpu_environment(std::int32_t rank) {
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
