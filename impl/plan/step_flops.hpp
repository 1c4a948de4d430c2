// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace underlap::plan {

struct Config;

/// What counts as a step's floating-point operations. Rates by different conventions are not comparable.
enum class FlopConvention {
  full,            ///< attention's whole square, no recomputation: Megatron-LM's TFLOP/s
  causal,          ///< the half of it that causal attention needs
  full_recompute,  ///< what is recomputed is counted too: hardware FLOPs, HFU in place of MFU
  causal_recompute,
};

inline constexpr std::array kFlopConventions{FlopConvention::full, FlopConvention::causal,
                                             FlopConvention::full_recompute, FlopConvention::causal_recompute};

/// "full", "causal", "full+recompute", "causal+recompute".
std::string_view to_string(FlopConvention convention);
constexpr FlopConvention last_value(FlopConvention) { return FlopConvention::causal_recompute; }
std::optional<FlopConvention> flop_convention(std::string_view word);

/// Floating-point operations of one step of `config`, of all ranks together: two for each multiplication of a product,
/// in forward once and in backward twice; embeddings, norms and the optimizer are not counted. With F ffn, H hidden, K
/// = H * groups / heads, V vocabulary, S sequence, L layers, U = 2 for a gated activation, else 1, and B sequences:
///   B S (L (3 * 2 (H (H + 2 K) + H H + (U + 1) H F) + 3 * 4 H S) + 3 * 2 H V)
/// of which attention's 4 H S is 2 H (S + 1) where it is causal; a layer that is recomputed counts its forward pass
/// once more.
/// Source: Narayanan et al. 2021, appendix, for U = 1, K = H, F = 4 H.
double step_flops(const Config& config, FlopConvention convention);

/// Tokens that a step of all ranks trains on.
double step_tokens(const Config& config);

}  // namespace underlap::plan
