// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/background.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cuda/check.hpp"

namespace underlap::bench {
namespace {

Group group_of(std::int32_t ranks) {
  Group group{.members = std::vector<std::int32_t>(static_cast<std::size_t>(ranks)), .my_index = 0};
  std::iota(group.members.begin(), group.members.end(), 0);
  return group;
}

}  // namespace

EmulatedBackground::EmulatedBackground(const Options& options, cudaStream_t stream)
    : link_({.link = {.gb_per_s = options.communication.gb_per_s,
                      .sms = std::max(options.communication.sms, 1),
                      .cga_size = options.cga_size,
                      .copy_engine = options.communication.copy_engine},
             .shape = {.polls = options.polls}}),
      channel_(link_.connect(0, "background", group_of(options.ranks), {}, {})),
      collective_(options.collective),
      inputs_(options.message_bytes / 2 / (collective_ == Collective::all_gather ? options.ranks : 1)),
      outputs_(options.message_bytes / 2 / (collective_ == Collective::reduce_scatter ? options.ranks : 1)),
      input_(make_filled_bytes(inputs_ * 2, stream)),
      output_(make_filled_bytes(outputs_ * 2, stream)),
      stream_(stream) {}

// Its memory may not go while something runs that uses it.
EmulatedBackground::~EmulatedBackground() { (void)cudaStreamSynchronize(stream_); }

void EmulatedBackground::enqueue(int transfers) {
  const auto view = [](std::int64_t elements) {
    return matrix(Tensor{.id = 1, .dtype = DataType::bf16, .elements = elements}, 1, elements);
  };
  BoundTransfer one;
  one.transfer.collective = collective_;
  one.transfer.input = view(inputs_);
  one.transfer.output = view(outputs_);
  one.input = input_.get();
  one.output = output_.get();
  channel_->enqueue(std::vector(static_cast<std::size_t>(transfers), one), stream_, sequence_++);
}

void EmulatedBackground::synchronize() { cuda::check(cudaStreamSynchronize(stream_)); }

EmulatedPair::EmulatedPair(const EmulatedBackground::Options& options) {
  for (int rank = 0; rank < 2; ++rank) {
    streams_[rank] = make_priority_stream();
    ranks_[rank] = std::make_unique<EmulatedBackground>(options, streams_[rank].get());
  }
}

void EmulatedPair::enqueue(int transfers) {
  for (const auto& rank : ranks_) rank->enqueue(transfers);
}

void EmulatedPair::synchronize() {
  for (const auto& rank : ranks_) rank->synchronize();
}

std::optional<double> EmulatedPair::carried_gb_per_s() {
  (void)ranks_[1]->carried_gb_per_s();
  return ranks_[0]->carried_gb_per_s();
}

}  // namespace underlap::bench
