// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace underlap::sim::nccl {

/// How NCCL moves a collective's bytes; `p2p` is a send or receive, or an all-to-all made of them.
enum class Algorithm : std::uint8_t { tree, ring, nvls, nvls_tree, pat, p2p };

/// How NCCL signals that bytes have arrived.
enum class Protocol : std::uint8_t { ll, ll128, simple };

/// The GPU generations that NCCL keeps constants for: sm_80, sm_90, sm_100.
enum class Generation : std::uint8_t { ampere, hopper, blackwell };

std::string_view to_string(Algorithm);
std::string_view to_string(Protocol);
std::string_view to_string(Generation);
std::optional<Algorithm> algorithm_from(std::string_view);
std::optional<Protocol> protocol_from(std::string_view);
std::optional<Generation> generation_from(std::string_view);

}  // namespace underlap::sim::nccl
