// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impl/plan/config/run_config.hpp"

namespace underlap::plan {

/// How run.link is written, in one line.
inline constexpr std::string_view kLinkGrammar =
    "real or emulated:RATE,sms=K or emulated:RATE,copy_engine, RATE as 450GB/s or 400Gbit/s, and optionally "
    "latency=5us";

/// Reads the text of run.link: "real" gives nothing, as null does.
///
///   emulated:450GB/s,sms=16              kernels of 16 blocks
///   emulated:450GB/s,copy_engine         copy engines; reductions by kernels, since a copy engine cannot add
///   emulated:450GB/s,copy_engine,sms=8   the same, kernels of 8 blocks
///   ...,cga=1                            blocks of a thread-block cluster; without it as many as NCCL's kernels have
///   ...,latency=5us                      added to each step of a ring
///
/// Every mistake adds one sentence to `errors`; the value is then not to be used.
std::optional<EmulatedLink> parse_link(std::string_view text, std::vector<std::string>& errors);

/// The link as results name it: "emulated 450 GB/s, 16 SMs".
std::string to_words(const EmulatedLink& link);

}  // namespace underlap::plan
