// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/accesses.hpp"

namespace underlap::check {

std::vector<MemoryAccess> accesses_of(const Program& program, const ProgramCommand& command) {
  std::vector<MemoryAccess> all;
  std::uint32_t part = 0;
  const auto add = [&](const View& view, bool reads, bool writes) {
    if (view.elements() > 0) all.push_back({view, reads, writes, part});
  };
  for (const Use& use : program.uses(command)) {
    add(use.view, use.access != Access::out, use.access != Access::in);
    ++part;
  }
  for (const Transfer& transfer : program.transfers(command)) {
    const bool sends = transfer.collective != Collective::broadcast ||
                       transfer.peer == program.communicators[command.communicator].group.my_index;
    if (sends) add(transfer.input, true, false);
    add(transfer.output, false, true);
    ++part;
  }
  return all;
}

}  // namespace underlap::check
