// SPDX-License-Identifier: Apache-2.0
#include "impl/model/shape.hpp"
#include "impl/plan/config.hpp"
#include "impl/plan/modes/mode_rules.hpp"

#include <algorithm>

namespace underlap::model {

Shape::Shape(const plan::Config& config, plan::TensorRank tensor_rank)
    : hidden(config.model.hidden_size),
      heads(config.model.num_attention_heads / tensor_rank.size),
      groups(std::max<std::int64_t>(1, config.model.num_query_groups / tensor_rank.size)),
      group_ranks(
          static_cast<std::int32_t>(std::max<std::int64_t>(1, tensor_rank.size / config.model.num_query_groups))),
      head_size(config.model.head_size()),
      ffn(config.model.ffn_hidden_size / tensor_rank.size),
      vocab(config.model.vocab_size / tensor_rank.size),
      seq_length(config.model.seq_length / plan::ranks_sharing(plan::Shared::tokens, config.parallel)),
      tokens(config.train.micro_batch_size * seq_length),
      tokens_here(config.parallel.sequence_parallel ? tokens / tensor_rank.size : tokens),
      activation(config.model.activation),
      normalization(config.model.normalization),
      tensor(tensor_rank) {}

}  // namespace underlap::model
