// SPDX-License-Identifier: Apache-2.0
// What the NeMo Framework user guide says of context parallelism.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "research/studies/claims/claim.hpp"

namespace underlap::bench {
namespace {

std::string us(double ms) { return fmt::format("{:.0f}", 1000 * ms); }

constexpr std::array<std::string_view, 4> kTypes{"p2p", "all_gather", "a2a", "a2a+p2p"};

// All layers of these matrices exchange alike.
std::string type_of(const ClaimCell& cell) {
  return std::string(kTypes[static_cast<std::size_t>(cell.plan.config.context.cp_comm_type.front())]);
}

ModeTime context_time_of(const ClaimCell& cell) {
  const auto found = cell.modes.find("cp");
  return found == cell.modes.end() ? ModeTime{} : found->second;
}

double hidden_share(const ModeTime& of) { return of.comm_ms > 0 ? 1 - of.exposed_ms / of.comm_ms : 0; }

// How often transfers of these purposes run in a step.
double count_of(const ClaimCell& cell, std::initializer_list<std::string_view> purposes) {
  double count = 0;
  for (const std::string_view purpose : purposes) count += purpose_of(cell, std::string(purpose)).count;
  return count;
}

// Of keys and values in forward and backward passes, and of their gradients.
double gathers_of(const ClaimCell& cell) { return count_of(cell, {"kv_all_gather"}); }
double scatters_of(const ClaimCell& cell) { return count_of(cell, {"dkv_reduce_scatter"}); }
double hops_of(const ClaimCell& cell) { return count_of(cell, {"kv_ring_hop", "kv_dkv_ring_hop", "dkv_ring_hop"}); }

Finding examine_purposes(const Evidence& evidence) {
  Finding finding;
  finding.found.columns = {{"cell", Align::left}, {"collective", Align::left}, {"a step"}, {"MB a rank"}, {"comm us"}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run) continue;
    for (const auto& [purpose, of] : cell.run->purposes)
      if (purpose != "grad_reduce_scatter" && purpose != "param_all_gather")  // of the weights, over the same ranks
        finding.found.rows.push_back({cell.name, purpose, fmt::format("{:g}", of.count),
                                      fmt::format("{:.1f}", of.bytes_on_wire / 1e6), us(of.comm_ms)});
  }
  return finding;
}

// 1

Finding examine_context_collectives(const Evidence& evidence, double) {
  Finding finding = examine_purposes(evidence);
  for (const ClaimCell& cell : evidence.cells)
    if (cell.run) finding.cases.push_back({cell.name, gathers_of(cell) > 0 && scatters_of(cell) > 0});
  return finding;
}

// 2

Finding examine_ring(const Evidence& evidence, double) {
  Finding finding = examine_purposes(evidence);
  for (const ClaimCell& cell : evidence.cells)
    if (cell.run)
      finding.cases.push_back({cell.name, hops_of(cell) > 0 && gathers_of(cell) == 0 && scatters_of(cell) == 0});
  return finding;
}

// 3

// Where transfers take no time, nothing is left to hide.
double share_under_attention(const ClaimCell& cell) {
  const double comm_ms = context_time_of(cell).comm_ms;
  return comm_ms > 0 ? cell.cp_under_attention_ms / comm_ms : 1;
}

Finding examine_hides(const Evidence& evidence, double noticeable) {
  Finding finding;
  finding.found.columns = {{"GPUs a node"},
                           {"key and value heads"},
                           {"tokens"},
                           {"step ms"},
                           {"comm us"},
                           {"under attention us"},
                           {"under attention, %"},
                           {"exposed us"},
                           {"exposed, % of the step"}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run || !cell.run->step_ms) continue;
    const ModeTime of = context_time_of(cell);
    const double step_ms = cell.run->step_ms->value, hidden = share_under_attention(cell);
    const plan::Config& config = cell.plan.config;
    const std::int64_t gpus = config.run.gpus_per_node.value_or(0);
    finding.found.rows.push_back({fmt::format("{}", gpus), fmt::format("{}", config.model.num_query_groups),
                                  fmt::format("{}", config.model.seq_length), fmt::format("{:.1f}", step_ms),
                                  us(of.comm_ms), us(cell.cp_under_attention_ms), in_percent(hidden), us(of.exposed_ms),
                                  in_percent(of.exposed_ms / step_ms)});
    finding.cases.push_back({fmt::format("{} tokens, {} heads, {} GPUs a node", config.model.seq_length,
                                         config.model.num_query_groups, gpus),
                             hidden >= 1 - noticeable});
  }
  return finding;
}

// 4

Finding examine_default(const Evidence& evidence, double noticeable) {
  Finding finding;
  finding.found.columns = {{"cell", Align::left}, {"cp_comm_type"}, {"comm us"}, {"exposed us"}, {"hidden %"}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run) continue;
    const ModeTime of = context_time_of(cell);
    finding.found.rows.push_back(
        {cell.name, type_of(cell), us(of.comm_ms), us(of.exposed_ms), in_percent(hidden_share(of))});
    finding.cases.push_back({cell.name, hidden_share(of) > noticeable});
  }
  return finding;
}

constexpr std::array<Claim, 4> kContextClaims{{
    {.id = "cp_collectives",
     .document = Document::nemo_user_guide,
     .text = "Context parallelism brings all-gathers and reduce-scatters of activations to attention",
     .runs = true,
     .rule = "attention gathers keys and values and reduce-scatters their gradients",
     .examine = examine_context_collectives,
     .why = {.holds = "Every kind of exchange gathers keys and values and scatters their gradients.",
             .holds_where = "That is one of four ways to bring each query to all keys before it, cp_comm_type "
                            "all_gather. A ring passes keys and values on instead, and all-to-alls trade the sequence "
                            "for heads.",
             .does_not_hold = "No kind of exchange does.",
             .not_run = ""}},
    {.id = "cp_ring",
     .document = Document::nemo_user_guide,
     .text = "In place of the all-gather and the reduce-scatter there are point-to-point exchanges around a ring",
     .runs = true,
     .rule = "attention has exchanges of a ring, no all-gather and no reduce-scatter",
     .examine = examine_ring,
     .why = {.holds = "Every kind of exchange is a ring.",
             .holds_where = "It is so where cp_comm_type is p2p, which stands by itself, or a2a+p2p, a ring between "
                            "groups that trade heads. The others have collectives alone.",
             .does_not_hold = "No kind of exchange is a ring.",
             .not_run = ""}},
    {.id = "cp_hides",
     .document = Document::nemo_user_guide,
     .text = "Context-parallel communication is hidden under attention",
     .runs = true,
     .rule = "attention computes beside all of its exchanges' time but the noticeable share of it",
     .examine = examine_hides,
     .why = {.holds = "A hop of the ring is shorter than the attention of a block of queries on a block of keys.",
             .holds_where =
                 "A hop of the ring takes time in proportion to the tokens and to the key and value heads, "
                 "the attention beside it to the square of the tokens. So it hides with long sequences, fast "
                 "links and few key and value heads, and what is longer than its attention is exposed.",
             .does_not_hold = "In every cell a hop of the ring takes longer than the attention beside it.",
             .not_run = ""}},
    {.id = "cp_default",
     .document = Document::nemo_user_guide,
     .text = "This overlap is on by default where context_parallel_size is above 1",
     .runs = true,
     .rule = "attention's exchanges hide more than the noticeable share of themselves, and nobody asked for it",
     .examine = examine_default,
     .why = {.holds = "Every kind of exchange runs beside attention without being asked to.",
             .holds_where = "It is on where a ring is, and p2p stands by itself. Attention waits for the whole of an "
                            "all_gather or a2a exchange: nothing is left to run beside it.",
             .does_not_hold = "No kind of exchange runs beside attention.",
             .not_run = ""}},
}};

}  // namespace

std::span<const Claim> context_claims() { return kContextClaims; }

}  // namespace underlap::bench
