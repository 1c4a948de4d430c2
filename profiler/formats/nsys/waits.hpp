// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/formats/nsys/import.hpp"

namespace underlap::formats::nsys {

/// Reads streams' waits for events, at the time of the call that asks for them, and adds the flows to them from the
/// last work before the event was recorded, where the file holds the record. Waits of the host are calls already.
void read_waits(Import&);

}  // namespace underlap::formats::nsys
