// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::host {

/// Lets a thread of this process run at once when it wakes, although compute keeps all cores busy.
///
/// A GPU's transfers need no core of its host. Here they need one for moments, and a thread that asks for the
/// scheduler's shortest time slice goes before one in the middle of a long slice. It gets no larger share of the core.
/// Linux 6.12 or newer honours it, for any user; elsewhere it changes nothing.
///
/// thread_id  of the kernel; 0: the calling thread
void prefer_on_wake_up(std::int64_t thread_id);

}  // namespace underlap::host
