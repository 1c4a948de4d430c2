// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/time_model.hpp"

namespace underlap::sim {

std::vector<TransferShape> shapes_of(const Program& program, const ProgramCommand& call) {
  std::vector<TransferShape> shapes;
  for (const Transfer& t : program.transfers(call))
    shapes.push_back({.collective = t.collective, .dtype = dtype_of(t), .bytes = message_bytes(t), .peer = t.peer});
  return shapes;
}

std::int64_t whole_ns(double ns) { return static_cast<std::int64_t>(ns + 0.5); }

}  // namespace underlap::sim
