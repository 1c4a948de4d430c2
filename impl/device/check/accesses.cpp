// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/accesses.hpp"

namespace underlap::check {
namespace {

class Accesses {
 public:
  void add(const View& view, bool reads, bool writes, std::uint32_t part) {
    if (view.elements() > 0) all_.push_back({view, reads, writes, part});
  }
  std::vector<MemoryAccess> take() { return std::move(all_); }

 private:
  std::vector<MemoryAccess> all_;
};

}  // namespace

std::vector<MemoryAccess> accesses_of(const Program& program, const ProgramCommand& command) {
  Accesses all;
  std::uint32_t part = 0;
  for (const Use& use : program.uses(command))
    all.add(use.view, use.access != Access::out, use.access != Access::in, part++);
  for (const Transfer& transfer : program.transfers(command)) {
    const bool sends = transfer.collective != Collective::broadcast ||
                       transfer.peer == program.communicators[command.communicator].group.my_index;
    if (sends) all.add(transfer.input, true, false, part);
    all.add(transfer.output, false, true, part++);
  }
  return all.take();
}

}  // namespace underlap::check
