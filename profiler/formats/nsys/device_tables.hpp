// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/formats/nsys/import.hpp"

namespace underlap::formats::nsys {

/// Reads kernels, copies and memsets, and graphs that were traced whole.
void read_device_work(Import&);

}  // namespace underlap::formats::nsys
