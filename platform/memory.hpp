// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap {

/// Bytes that this process can still take: what the system calls available, or less where the process's address space
/// is limited (ulimit -v). The largest number there is where neither is known.
std::int64_t available_memory_bytes();

}  // namespace underlap
