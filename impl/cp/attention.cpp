// SPDX-License-Identifier: Apache-2.0
#include "impl/cp/attention.hpp"

#include <fmt/format.h>

#include "impl/plan/config.hpp"

namespace underlap::cp {

Choice choice_of(const plan::Config& config, std::int32_t group_size, plan::CpCommType comm_type) {
  Choice choice{.alone = group_size == 1, .comm_type = comm_type, .overlap = config.extensions.cp_overlap};
  if (choice.alone || choice.comm_type != plan::CpCommType::a2a_p2p) return choice;
  const auto [inside, around] = config.context.hierarchical_context_parallel_sizes.value();
  if (inside == 1) choice.comm_type = plan::CpCommType::p2p;
  if (around == 1) choice.comm_type = plan::CpCommType::a2a;
  return choice;
}

std::unique_ptr<Attention> make_attention(const Context& context) {
  const Choice choice = choice_of(*context.config, context.communicators->group().size(), context.comm_type);
  if (!choice.alone && context.shape.seq_here % 2 != 0)
    throw std::invalid_argument(fmt::format(
        "context parallelism: {} rows of each sequence per rank; the sequence must divide into 2 chunks per rank",
        context.shape.seq_here));
  return Attentions::make(choice, context);
}

LayerAttentions::LayerAttentions(Communicators& communicators, const plan::Config& config, const AttentionShape& shape)
    : types_(config.context) {
  for (const plan::CpCommType type : types_.cp_comm_type) {
    std::unique_ptr<Attention>& attention = by_type_[type];
    if (attention == nullptr) attention = make_attention({&communicators, &config, shape, type});
  }
}

}  // namespace underlap::cp
