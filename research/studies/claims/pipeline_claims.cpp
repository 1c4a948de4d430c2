// SPDX-License-Identifier: Apache-2.0
// How claims of both documents on pipeline parallelism, and on all overlaps at once, are judged.
#include <fmt/format.h>

#include "research/studies/claims/judge.hpp"

namespace underlap::bench {
namespace {

using S = const Subject&;

const std::string kVpp = "virtual_pipeline_model_parallel_size";
constexpr const char* kP2p = "comm_overlap.overlap_p2p_comm";
constexpr const char* kBatch = "comm_overlap.batch_p2p_comm";

constexpr double kHidden = 0.5;  // share of what is exposed without overlap; with more, it is not hidden

std::int32_t stages_of(S s) { return s.cell.plan.config.parallel.pipeline_model_parallel_size; }
std::int32_t chunks_of(S s) { return s.cell.plan.config.parallel.virtual_pipeline_model_parallel_size; }

// A virtual size as matrices have it. One chunk is that of plain 1F1B, which null asks for.
std::string size_of(std::int32_t chunks) { return chunks == 1 ? "null" : as_integer(chunks); }

bool overlaps(S s) { return s.cell.plan.config.pipeline.overlap_p2p_comm; }

std::string stages_text(S s) { return as_integer(stages_of(s)); }
std::string chunks_text(S s) { return as_integer(chunks_of(s)); }
std::string chunks_name(S s) { return fmt::format("chunks {}", chunks_of(s)); }
std::string step_text(S s) { return in_ms(step_of(s.cell)); }
std::string microbatches_text(S s) { return as_integer(s.cell.plan.config.train.num_microbatches); }

// What stages sent to their neighbors in a step, mean over the ranks.
struct Exchanged {
  double count = 0;
  double bytes = 0;
  bool forward = false, backward = false;  // what was sent: activations, gradients
};

Exchanged exchanged_by(const ClaimCell& cell) {
  Exchanged sum;
  if (!cell.run) return sum;
  for (const auto& [purpose, of] : cell.run->purposes) {
    if (!purpose.starts_with("send_")) continue;  // an exchange is named for what it sends, then for what it receives
    const std::string sent = purpose.substr(0, purpose.find("_recv"));
    sum.forward = sum.forward || sent.find("forward") != std::string::npos;
    sum.backward = sum.backward || sent.find("backward") != std::string::npos;
    sum.count += of.count;
    sum.bytes += of.bytes_on_wire;
  }
  return sum;
}

std::optional<bool> sends_both_ways_in_stages(S s) {
  const Exchanged of = exchanged_by(s.cell);
  const bool has_stages = stages_of(s) > 1;
  return of.forward == has_stages && of.backward == has_stages;
}

Subjects beside_one_chunk(const Evidence& evidence) {
  Subjects subjects;
  for (const Subject& subject : cells_that_ran(evidence)) {
    const ClaimCell* one = partner_of(evidence, subject.cell, kVpp, size_of(1));
    if (one != nullptr && exchanged_by(*one).bytes > 0) subjects.emplace_back(subject).other = one;
  }
  return subjects;
}

double growth_of(S s) { return exchanged_by(s.cell).bytes / exchanged_by(*s.other).bytes; }

double transfer_of(const ClaimCell& cell) {
  const PipelinePhases& phases = *cell.phases;
  return phases.fill.exposed_transfer_ms + phases.steady.exposed_transfer_ms + phases.flush.exposed_transfer_ms;
}

double steady_of(const ClaimCell& cell) { return cell.phases->steady.exposed_transfer_ms; }

bool ran_in_stages(const ClaimCell* cell) { return cell != nullptr && has_step(*cell) && cell->phases.has_value(); }

Subjects cells_in_stages(const Evidence& evidence) {
  return where(cells_with_steps(evidence), [](S s) { return ran_in_stages(&s.cell); });
}

// Cells with stages, each with a cell that differs in one axis.
Subjects staged_without(const Evidence& evidence, const std::string& axis, const std::string& value) {
  Subjects subjects;
  for (const Subject& subject : cells_in_stages(evidence)) {
    const ClaimCell* other = partner_of(evidence, subject.cell, axis, value);
    if (ran_in_stages(other)) subjects.emplace_back(subject).other = other;
  }
  return subjects;
}

std::string place_of(S s) { return s.cell.plan.config.run.gpus_per_node == 1 ? "between nodes" : "in a node"; }

std::string workload_of(S s) {
  return fmt::format("{} microbatches, {} chunks, {}", microbatches_text(s), chunks_of(s), place_of(s));
}

// What else than transfers keeps a rank from computing: above all the bubble, which is a wait for a peer.
double stalled_otherwise_of(const ClaimCell& cell) { return step_of(cell) - cell.compute_ms - transfer_of(cell); }

bool is_held_up_by_transfers(const ClaimCell& cell, double noticeable) {
  return transfer_of(cell) >= noticeable * step_of(cell) && transfer_of(cell) > stalled_otherwise_of(cell);
}

std::optional<bool> chunks_make_a_bottleneck(S s) {
  const ClaimCell* one = partner_of(s.evidence, s.cell, kVpp, size_of(1));
  if (chunks_of(s) == 1 || !ran_in_stages(one)) return std::nullopt;
  return is_held_up_by_transfers(s.cell, s.noticeable) && !is_held_up_by_transfers(*one, s.noticeable);
}

// The step over that with half as many chunks.
std::optional<double> ratio_to_half(S s) {
  const ClaimCell* half = partner_of(s.evidence, s.cell, kVpp, size_of(chunks_of(s) / 2));
  if (!ran_in_stages(half)) return std::nullopt;
  return step_of(s.cell) / step_of(*half);
}

std::optional<bool> gains_nothing_by_chunks(S s) {
  const std::optional<double> ratio = ratio_to_half(s);
  return ratio ? std::optional(*ratio > 1 - s.noticeable) : std::nullopt;
}

Subjects waited_exchanges(const Evidence& evidence) { return staged_without(evidence, "exchanges", "waited"); }

std::vector<Column> phase_columns() {
  return {
      cell_column(),
      {{"step ms"}, step_text},
      {{"exposed transfers ms: fill"}, [](S s) { return in_ms(s.cell.phases->fill.exposed_transfer_ms); }},
      {{"steady state"}, [](S s) { return in_ms(steady_of(s.cell)); }},
      {{"flush"}, [](S s) { return in_ms(s.cell.phases->flush.exposed_transfer_ms); }},
      {{"steady state, % of the step"}, [](S s) { return in_percent(steady_of(s.cell) / step_of(s.cell)); }},
      {{"relative to waited exchanges, %"}, [](S s) { return in_percent(steady_of(s.cell) / steady_of(*s.other)); }}};
}

std::optional<bool> hides_in_the_steady_state(S s) {
  if (!overlaps(s)) return std::nullopt;
  return steady_of(s.cell) <= s.noticeable * step_of(s.cell) && steady_of(s.cell) <= kHidden * steady_of(*s.other);
}

std::optional<bool> stays_exposed_at_the_ends(S s) {
  if (!overlaps(s)) return std::nullopt;
  const auto at_ends = [](const PipelinePhases& of) {
    return of.fill.exposed_transfer_ms + of.flush.exposed_transfer_ms;
  };
  return at_ends(*s.cell.phases) >= (1 - s.noticeable) * at_ends(*s.other->phases);
}

std::string first_error(S s) {
  const std::vector<plan::Message>& errors = s.cell.plan.errors;
  return errors.empty() ? "no error" : errors.front().message;
}

// Batched exchanges, each with the separate ones, which are faster where the claim holds.
Subjects beside_separate(const Evidence& evidence) {
  return where(staged_without(evidence, "batch_p2p_comm", "false"), [](S s) { return s.other != &s.cell; });
}

double separate_ratio(S s) { return step_of(*s.other) / step_of(s.cell); }

Subjects planned_in_stages(const Evidence& evidence) {
  return where(every_cell(evidence), [](S s) { return stages_of(s) > 1; });
}

std::optional<bool> chunks_choose(S s) {
  const bool has_chunks = chunks_of(s) > 1;
  return is_chosen(s.cell.plan, kP2p, has_chunks) && is_chosen(s.cell.plan, kBatch, !has_chunks);
}

Subjects modes_beside_off(const Evidence& evidence) {
  return parted(compared("overlap", "off")(evidence), {"tp", "pp", "dp"});
}

std::optional<bool> exposes_less(S s) {
  if (s.other == &s.cell) return std::nullopt;
  return mode_of(s.cell, s.part).exposed_transfer_ms <=
         (1 - s.noticeable) * mode_of(*s.other, s.part).exposed_transfer_ms;
}

std::string composed_note(const Evidence& evidence, double) {
  std::string note;
  for (const Subject& subject : compared("overlap", "off")(evidence))
    if (subject.other != &subject.cell)
      note =
          fmt::format("With these overlaps the step takes {:.3f} times as long as without them.", step_ratio(subject));
  return note;
}

}  // namespace

std::vector<Judge> pipeline_judges() {
  return {
      {.id = "pp_exchanges",
       .rows = cells_that_ran,
       .columns = {{{"stages"}, stages_text},
                   {{"exchanges per rank"}, [](S s) { return as_number(exchanged_by(s.cell).count); }},
                   {{"MB per rank"}, [](S s) { return in_ms(exchanged_by(s.cell).bytes / 1e6); }},
                   {{"activations"}, [](S s) { return std::string(exchanged_by(s.cell).forward ? "sent" : "none"); }},
                   {{"gradients"}, [](S s) { return std::string(exchanged_by(s.cell).backward ? "sent" : "none"); }}},
       .name = [](S s) { return fmt::format("stages {}", stages_of(s)); },
       .holds = sends_both_ways_in_stages},
      {.id = "pp_growth",
       .rows = beside_one_chunk,
       .columns = {{{"chunks per stage"}, chunks_text},
                   {{"layers per chunk"},
                    [](S s) { return as_integer(s.cell.plan.config.model.num_layers / stages_of(s) / chunks_of(s)); }},
                   {{"MB per rank"}, [](S s) { return in_ms(exchanged_by(s.cell).bytes / 1e6); }},
                   {{"relative to one chunk"}, [](S s) { return fmt::format("{:.2f}", growth_of(s)); }}},
       .name = chunks_name,
       .holds = [](S s) { return chunks_of(s) > 1 ? std::optional(growth_of(s) >= 1 + s.noticeable) : std::nullopt; }},
      {.id = "pp_bottleneck",
       .rows = cells_in_stages,
       .columns = {{{"stages", Align::left}, place_of},
                   {{"microbatches"}, microbatches_text},
                   {{"chunks per stage"}, chunks_text},
                   {{"step ms"}, step_text},
                   {{"compute ms"}, [](S s) { return in_ms(s.cell.compute_ms); }},
                   {{"exposed transfers ms"}, [](S s) { return in_ms(transfer_of(s.cell)); }},
                   {{"% of the step"}, [](S s) { return in_percent(transfer_of(s.cell) / step_of(s.cell)); }},
                   {{"bubble and all other ms"}, [](S s) { return in_ms(stalled_otherwise_of(s.cell)); }}},
       .name = workload_of,
       .holds = chunks_make_a_bottleneck},
      {.id = "pp_cancels",
       .rows = cells_in_stages,
       .columns = {{{"stages", Align::left}, place_of},
                   {{"microbatches"}, microbatches_text},
                   {{"chunks per stage"}, chunks_text},
                   {{"step ms"}, step_text},
                   {{"relative to half as many chunks"},
                    [](S s) { return ratio_to_half(s) ? as_ratio(*ratio_to_half(s)) : "-"; }},
                   {{"exposed transfers ms"}, [](S s) { return in_ms(transfer_of(s.cell)); }}},
       .name = workload_of,
       .holds = gains_nothing_by_chunks},
      {.id = "pp_steady", .rows = waited_exchanges, .columns = phase_columns(), .holds = hides_in_the_steady_state},
      {.id = "pp_ends", .rows = waited_exchanges, .columns = phase_columns(), .holds = stays_exposed_at_the_ends},
  };
}

std::vector<Judge> pipeline_setting_judges() {
  return {
      {.id = "pp_needs_stages",
       .rows = every_cell,
       .columns = {{{"chunks per stage"}, chunks_text},
                   {{"overlap_p2p_comm"}, [](S s) { return to_json_text(knob_of(s.cell.plan, kP2p).requested); }},
                   {{"the plan", Align::left}, first_error}},
       .name = chunks_name,
       .holds = [](S s) { return std::optional(overlaps(s) && s.cell.plan.errors.empty() == (chunks_of(s) > 1)); }},
      {.id = "pp_unbatched",
       .rows = beside_separate,
       .columns = {{{"stages", Align::left}, place_of},
                   {{"chunks per stage"}, chunks_text},
                   {{"step ms, batched"}, step_text},
                   {{"step ms, separate"}, [](S s) { return in_ms(step_of(*s.other)); }},
                   {{"separate / batched"}, [](S s) { return as_ratio(separate_ratio(s)); }},
                   {{"exposed transfers ms, batched"}, [](S s) { return in_ms(transfer_of(s.cell)); }},
                   {{"exposed transfers ms, separate"}, [](S s) { return in_ms(transfer_of(*s.other)); }}},
       .name = [](S s) { return fmt::format("{} chunks, {}", chunks_of(s), place_of(s)); },
       .holds = [](S s) { return std::optional(separate_ratio(s) <= 1 - s.noticeable); }},
      {.id = "pp_choice",
       .rows = planned_in_stages,
       .columns = {{{"stages"}, stages_text},
                   {{"chunks per stage"}, chunks_text},
                   {{"overlap_p2p_comm"}, [](S s) { return effective_text(s, kP2p); }},
                   {{"batch_p2p_comm"}, [](S s) { return effective_text(s, kBatch); }}},
       .name = [](S s) { return fmt::format("stages {}, chunks {}", stages_of(s), chunks_of(s)); },
       .holds = chunks_choose},
      {.id = "composed",
       .rows = modes_beside_off,
       .columns = {{{"overlap", Align::left}, [](S s) { return s.cell.name; }},
                   part_column("mode"),
                   {{"step ms"}, step_text},
                   {{"comm ms"}, [](S s) { return in_ms(mode_of(s.cell, s.part).comm_ms); }},
                   {{"exposed ms"}, [](S s) { return in_ms(mode_of(s.cell, s.part).exposed_ms); }},
                   {{"exposed transfers ms"}, [](S s) { return in_ms(mode_of(s.cell, s.part).exposed_transfer_ms); }}},
       .name = [](S s) { return s.part; },
       .holds = exposes_less,
       .note = composed_note},
  };
}

}  // namespace underlap::bench
