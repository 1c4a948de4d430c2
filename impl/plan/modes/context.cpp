// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/config.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::plan {
namespace {

constexpr std::int64_t kLeastTokensOfARank = 2048;  // of a sequence

// A rank keeps enough tokens to compute on: other modes cut a shorter sequence's work with less traffic.
bool context_ranks_are_worth_trying(const ModelConfig& model, const ParallelConfig& /*parallel*/, std::int64_t size,
                                    const SearchedMachine& /*machine*/) {
  return model.seq_length % (2 * size) == 0 && (size == 1 || model.seq_length / size >= kLeastTokensOfARank);
}

std::vector<SearchAxis> context_axes(const Config& /*layout*/, const IsOpen& /*is_open*/) {
  return {{"model.cp_comm_type", {"", "all_gather", "a2a"}}};
}

}  // namespace

ModeRules context_rules() {
  return {.mode = Mode::cp,
          .word = "context",
          .sizes = {{.knob = "model.context_parallel_size",
                     .letters = "CP",
                     .field = &ParallelConfig::context_parallel_size,
                     .is_worth_trying = context_ranks_are_worth_trying}},
          .dense_digit = 1,
          .shares = {Shared::tokens},
          .axes = context_axes,
          .switches = {{"cp_overlap",
                        [](const Config& c) { return c.parallel.context_parallel_size > 1 && c.extensions.cp_overlap; },
                        {{"extensions.cp_overlap", "false"}}}}};
}

}  // namespace underlap::plan
