// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace underlap::plan {

/// Variables that NCCL takes, without a word, in place of what communicators are made with (ncclConfig_t).
inline constexpr std::array kInPlaceOfCommunicatorConfig{"NCCL_MIN_CTAS",         "NCCL_MAX_CTAS",
                                                         "NCCL_MIN_NCHANNELS",    "NCCL_MAX_NCHANNELS",
                                                         "NCCL_CGA_CLUSTER_SIZE", "NCCL_CTA_POLICY"};

}  // namespace underlap::plan
