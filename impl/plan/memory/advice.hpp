// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace underlap::plan {

struct Config;

/// The most layers, fewer than the configuration has, that are predicted to fit in `bytes` on every rank and that its
/// pipeline stages and model chunks share alike; nothing where not even the fewest do, or where it deals layers out
/// unevenly.
std::optional<std::int64_t> layers_that_fit(const Config& config, std::int64_t bytes);

/// How a rank comes to need less than `bytes`, for a message: the first change of settings that is predicted to do, on
/// the same ranks and with the same batch, in this order: recomputation, more pipeline stages, more tensor ranks, a
/// sharded optimizer, more context ranks, smaller microbatches; two of them; fewer layers.
std::string advice_on_memory(const Config& config, std::int64_t bytes);

}  // namespace underlap::plan
