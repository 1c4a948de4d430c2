// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/nccl/nccl_config.hpp"

#include <fmt/format.h>

#include "impl/device/cuda/nccl/nccl_api.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::cuda {
namespace {

constexpr int kMostChannels = 32;  // of any release; later ones have 64
constexpr int kMostOfACluster = 8;
constexpr int kFirstWithClusters = 9;  // compute capability, major

void ask_for_copy_engines([[maybe_unused]] ncclConfig_t& config, int version, const std::string& purpose,
                          std::vector<std::string>& notices) {
  if (version < kFirstWithCopyEngines) {
    notices.push_back(fmt::format("communicator {}: NCCL {} has no copy-engine transfers (needs 2.28): SMs carry them",
                                  purpose, release_text(version)));
    return;
  }
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
#else
  notices.push_back(
      fmt::format("communicator {}: built with headers of NCCL {}, which lacks copy engines: SMs carry its transfers",
                  purpose, release_text(NCCL_VERSION_CODE)));
#endif
}

void ask_for_clusters(ncclConfig_t& config, const CommunicatorHints& hints, int compute_capability_major,
                      const std::string& purpose, std::vector<std::string>& notices) {
  const auto notice = [&](const std::string& why) {
    notices.push_back(fmt::format("communicator {}: cga_size {}: {}", purpose, hints.cga_size, why));
  };
  if (hints.cga_size > kMostOfACluster)
    return notice(
        fmt::format("NCCL's kernels have clusters of at most {} blocks: NCCL uses its default", kMostOfACluster));
  if (hints.cga_size > 1 && compute_capability_major < kFirstWithClusters)
    return notice(fmt::format("this GPU (compute capability {}.x) has no thread-block clusters (needs {}.0)",
                              compute_capability_major, kFirstWithClusters));
  config.cgaClusterSize = hints.cga_size;
  if (hints.cga_size > 1 && hints.sms % hints.cga_size != 0)
    notice(fmt::format("NCCL launches no clusters: {} blocks are not a multiple of the cluster size", hints.sms));
}

}  // namespace

ncclConfig_t nccl_config(const CommunicatorHints& hints, const NcclSite& site, const std::string& purpose,
                         std::vector<std::string>& notices) {
  const int version = site.version;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  if (version >= NCCL_VERSION(2, 27, 0)) config.commName = purpose.c_str();
#endif
  if (hints.copy_engine) ask_for_copy_engines(config, version, purpose, notices);
  if (hints.cga_size > 0) ask_for_clusters(config, hints, site.compute_capability_major, purpose, notices);
  if (hints.sms <= 0) return config;
  // A channel is a thread block on an SM of its own.
  config.minCTAs = hints.sms;
  config.maxCTAs = hints.sms;
  if (hints.sms > kMostChannels)
    notices.push_back(fmt::format("communicator {}: {} SMs were requested; NCCL has at most {} channels", purpose,
                                  hints.sms, kMostChannels));
  return config;
}

}  // namespace underlap::cuda
