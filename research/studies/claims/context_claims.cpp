// SPDX-License-Identifier: Apache-2.0
// How claims of the NeMo Framework user guide on context parallelism are judged.
#include <fmt/format.h>

#include <array>
#include <initializer_list>

#include "research/studies/claims/judge.hpp"

namespace underlap::bench {
namespace {

using S = const Subject&;

constexpr std::array<std::string_view, 4> kTypes{"p2p", "all_gather", "a2a", "a2a+p2p"};

// All layers of these matrices exchange alike.
std::string type_of(S s) {
  return std::string(kTypes[static_cast<std::size_t>(s.cell.plan.config.context.cp_comm_type.front())]);
}

ModeTime time_of(S s) { return mode_of(s.cell, "cp"); }

double hidden_share(S s) { return time_of(s).comm_ms > 0 ? 1 - time_of(s).exposed_ms / time_of(s).comm_ms : 0; }

// How often transfers of these purposes run in a step.
double count_of(S s, std::initializer_list<const char*> purposes) {
  double count = 0;
  for (const char* purpose : purposes) count += purpose_of(s.cell, purpose).count;
  return count;
}

// Of keys and values in forward and backward passes, and of their gradients.
double gathers_of(S s) { return count_of(s, {"kv_all_gather"}); }
double scatters_of(S s) { return count_of(s, {"dkv_reduce_scatter"}); }
double hops_of(S s) { return count_of(s, {"kv_ring_hop", "kv_dkv_ring_hop", "dkv_ring_hop"}); }

// All purposes but those of the weights, which are sent over the same ranks.
Subjects activations(const Evidence& evidence) {
  return where(purposes_that_ran(evidence),
               [](S s) { return s.part != "grad_reduce_scatter" && s.part != "param_all_gather"; });
}

std::vector<Column> activation_columns() {
  return {cell_column(),
          part_column("collective"),
          {{"per step"}, [](S s) { return as_number(purpose_of(s.cell, s.part).count); }},
          {{"MB per rank"}, [](S s) { return in_ms(purpose_of(s.cell, s.part).bytes_on_wire / 1e6); }},
          {{"comm us"}, [](S s) { return in_us(purpose_of(s.cell, s.part).comm_ms); }}};
}

// Where transfers take no time, nothing is left to hide.
double share_under_attention(S s) {
  return time_of(s).comm_ms > 0 ? s.cell.cp_under_attention_ms / time_of(s).comm_ms : 1;
}

std::string gpus_text(S s) { return as_integer(s.cell.plan.config.run.gpus_per_node.value_or(0)); }
std::string heads_text(S s) { return as_integer(s.cell.plan.config.model.num_query_groups); }
std::string tokens_text(S s) { return as_integer(s.cell.plan.config.model.seq_length); }

}  // namespace

std::vector<Judge> context_judges() {
  return {
      {.id = "cp_collectives",
       .rows = activations,
       .columns = activation_columns(),
       .cases = cells_that_ran,
       .holds = [](S s) { return std::optional(gathers_of(s) > 0 && scatters_of(s) > 0); }},
      {.id = "cp_ring",
       .rows = activations,
       .columns = activation_columns(),
       .cases = cells_that_ran,
       .holds = [](S s) { return std::optional(hops_of(s) > 0 && gathers_of(s) == 0 && scatters_of(s) == 0); }},
      {.id = "cp_hides",
       .rows = cells_with_steps,
       .columns = {{{"GPUs per node"}, gpus_text},
                   {{"key and value heads"}, heads_text},
                   {{"tokens"}, tokens_text},
                   {{"step ms"}, [](S s) { return in_ms(step_of(s.cell)); }},
                   {{"comm us"}, [](S s) { return in_us(time_of(s).comm_ms); }},
                   {{"during attention us"}, [](S s) { return in_us(s.cell.cp_under_attention_ms); }},
                   {{"during attention, %"}, [](S s) { return in_percent(share_under_attention(s)); }},
                   {{"exposed us"}, [](S s) { return in_us(time_of(s).exposed_ms); }},
                   {{"exposed, % of the step"},
                    [](S s) { return in_percent(time_of(s).exposed_ms / step_of(s.cell)); }}},
       .name =
           [](S s) {
             return fmt::format("{} tokens, {} heads, {} GPUs per node", tokens_text(s), heads_text(s), gpus_text(s));
           },
       .holds = [](S s) { return std::optional(share_under_attention(s) >= 1 - s.noticeable); }},
      {.id = "cp_default",
       .rows = cells_that_ran,
       .columns = {cell_column(),
                   {{"cp_comm_type"}, type_of},
                   {{"comm us"}, [](S s) { return in_us(time_of(s).comm_ms); }},
                   {{"exposed us"}, [](S s) { return in_us(time_of(s).exposed_ms); }},
                   {{"hidden %"}, [](S s) { return in_percent(hidden_share(s)); }}},
       .holds = [](S s) { return std::optional(hidden_share(s) > s.noticeable); }},
  };
}

}  // namespace underlap::bench
