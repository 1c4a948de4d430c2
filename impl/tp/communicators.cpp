// SPDX-License-Identifier: Apache-2.0
#include "impl/tp/communicators.hpp"

#include <fmt/format.h>

#include "impl/plan/config.hpp"

namespace underlap::tp {

Communicators::Communicators(Device& device, const Group& group, Stream compute, const plan::Config& config)
    : device_(device),
      group_(group),
      compute_(compute),
      nccl_priority_(nccl_priority(config)),
      copy_engine_(config.extensions.tp_ring_transport == "copy_engine") {}

Communicator Communicators::declare(std::string_view purpose, const CommunicatorHints& hints) {
  if (const auto found = declared_.find(purpose); found != declared_.end()) return found->second;
  return declared_.emplace(purpose, device_.declare(purpose, group_, hints)).first->second;
}

Communicator Communicators::collectives() { return declare("tp", {.priority = nccl_priority_}); }

Communicator Communicators::ring() {
  return declare("tp_ring", {.copy_engine = copy_engine_, .priority = Priority::high});
}

Communicator Communicators::beside_gemm(int num_sm, int cga_size) {
  const std::string clusters = cga_size > 1 ? fmt::format("_cga{}", cga_size) : "";
  return declare(fmt::format("tp_sm{}{}", num_sm, clusters),
                 {.sms = num_sm, .cga_size = cga_size, .priority = Priority::high});
}

std::span<const Stream> Communicators::gemm_streams() {
  if (!has_gemm_streams_) {
    for (std::size_t i = 0; i < kNumGemmStreams; ++i)
      gemm_streams_.at(i) = device_.create_stream(fmt::format("tp_gemm{}", i));
    has_gemm_streams_ = true;
  }
  return gemm_streams_;
}

Collectives::Collectives(Communicators& communicators)
    : communicators_(communicators), scope_(communicators.scope()), communicator_(communicators.collectives()) {}

Event Collectives::start(const Tag& tag, NameId purpose, const Transfer& transfer) const {
  scope_.fork({communicator_.stream});
  return scope_.communicate(communicator_, tag, purpose, {transfer});
}

void Collectives::run(const Tag& tag, NameId purpose, const Transfer& transfer) const {
  scope_.communicate_at_once(communicator_, tag, purpose, {transfer});
}

void Collectives::all_gather(const Tag& tag, NameId purpose, const View& shard, const View& full) const {
  run(tag, purpose, {.collective = Collective::all_gather, .input = shard, .output = full});
}

void Collectives::reduce_scatter(const Tag& tag, NameId purpose, const View& full, const View& shard) const {
  run(tag, purpose, {.collective = Collective::reduce_scatter, .input = full, .output = shard});
}

void Collectives::all_reduce(const Tag& tag, NameId purpose, const View& x, ReduceOp op) const {
  run(tag, purpose, {.collective = Collective::all_reduce, .input = x, .output = x, .op = op});
}

}  // namespace underlap::tp
