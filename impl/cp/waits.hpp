// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::cp {

/// When a transfer is waited for.
enum class Waits : std::uint8_t {
  where_needed,  ///< by the first that needs what it brings; compute has two streams
  at_once,       ///< before any compute goes on; compute has one
};

}  // namespace underlap::cp
