// SPDX-License-Identifier: Apache-2.0
#include "platform/errors.hpp"
#include "research/calibrate/commands.hpp"

namespace underlap::bench {

int measure_rates(int, char**) { throw MachineError("this program was built without Google Benchmark"); }

}  // namespace underlap::bench
