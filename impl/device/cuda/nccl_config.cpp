// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/nccl_config.hpp"

#include <fmt/format.h>

#include "impl/device/cuda/nccl_api.hpp"

namespace underlap::cuda {
namespace {

constexpr int kMostChannels = 32;  // of any release; later ones have 64

void ask_for_copy_engines([[maybe_unused]] ncclConfig_t& config, int version, const std::string& purpose,
                          std::vector<std::string>& notices) {
  if (version < NCCL_VERSION(2, 28, 0)) {
    notices.push_back(fmt::format("communicator {}: NCCL {} has no transfers by copy engine (2.28 has): SMs carry them",
                                  purpose, nccl_version_text(version)));
    return;
  }
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  notices.push_back(
      fmt::format("communicator {}: copy engines are asked for, but NCCL takes them for symmetric windows only, and "
                  "tensors are not "
                  "registered as such yet: expect SMs to carry them",
                  purpose));
#else
  notices.push_back(fmt::format(
      "communicator {}: this program was built with headers of NCCL {}, before copy engines: SMs carry its transfers",
      purpose, nccl_version_text(NCCL_VERSION_CODE)));
#endif
}

}  // namespace

ncclConfig_t nccl_config(const CommunicatorHints& hints, int version, const std::string& purpose,
                         std::vector<std::string>& notices) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  if (version >= NCCL_VERSION(2, 27, 0)) config.commName = purpose.c_str();
#endif
  if (hints.copy_engine) ask_for_copy_engines(config, version, purpose, notices);
  if (hints.sms <= 0) return config;
  // A channel is a thread block on an SM of its own.
  config.minCTAs = hints.sms;
  config.maxCTAs = hints.sms;
  if (hints.sms > kMostChannels)
    notices.push_back(fmt::format("communicator {}: {} SMs are asked for; NCCL may have no more than {} channels",
                                  purpose, hints.sms, kMostChannels));
  return config;
}

}  // namespace underlap::cuda
