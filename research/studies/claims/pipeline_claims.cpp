// SPDX-License-Identifier: Apache-2.0
// What both documents say of pipeline parallelism, and of all overlaps at once.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "research/studies/claims/claim.hpp"

namespace underlap::bench {
namespace {

const std::string kVpp = "virtual_pipeline_model_parallel_size";

constexpr double kHidden = 0.5;  // share of what is exposed without overlap; with more, it is not hidden

std::string number(double value) { return fmt::format("{:g}", value); }

std::int32_t stages_of(const ClaimCell& cell) { return cell.plan.config.parallel.pipeline_model_parallel_size; }
std::int32_t chunks_of(const ClaimCell& cell) { return cell.plan.config.parallel.virtual_pipeline_model_parallel_size; }

// A virtual size as matrices have it. One chunk is that of plain 1F1B, which null asks for.
std::string size_of(std::int32_t chunks) { return chunks == 1 ? "null" : fmt::format("{}", chunks); }

bool overlaps(const ClaimCell& cell) { return cell.plan.config.pipeline.overlap_p2p_comm; }

// What stages sent to their neighbours in a step, mean over the ranks.
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

double transfer_of(const PipelinePhases& phases) {
  return phases.fill.exposed_transfer_ms + phases.steady.exposed_transfer_ms + phases.flush.exposed_transfer_ms;
}

// A cell that ran in stages.
bool ran_in_stages(const ClaimCell& cell) { return cell.run && cell.run->step_ms && cell.phases; }

double step_of(const ClaimCell& cell) { return cell.run->step_ms->value; }

// The cell with the same schedule whose exchanges are waited for.
const ClaimCell* waited_of(const Evidence& evidence, const ClaimCell& cell) {
  return partner_of(evidence, cell, "exchanges", "waited");
}

// 1

Finding examine_exchanges(const Evidence& evidence, double) {
  Finding finding{.found = {{{"stages"}, {"exchanges a rank"}, {"MB a rank"}, {"activations"}, {"gradients"}}, {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run) continue;
    const Exchanged of = exchanged_by(cell);
    finding.found.rows.push_back({fmt::format("{}", stages_of(cell)), number(of.count), in_ms(of.bytes / 1e6),
                                  std::string(of.forward ? "sent" : "none"),
                                  std::string(of.backward ? "sent" : "none")});
    const bool has_stages = stages_of(cell) > 1;
    finding.cases.push_back(
        {fmt::format("stages {}", stages_of(cell)), of.forward == has_stages && of.backward == has_stages});
  }
  return finding;
}

// 2

Finding examine_growth(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"chunks a stage"}, {"layers a chunk"}, {"MB a rank"}, {"against one chunk"}}, {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const ClaimCell* one = partner_of(evidence, cell, kVpp, size_of(1));
    if (!cell.run || one == nullptr || exchanged_by(*one).bytes <= 0) continue;
    const double bytes = exchanged_by(cell).bytes, ratio = bytes / exchanged_by(*one).bytes;
    finding.found.rows.push_back(
        {fmt::format("{}", chunks_of(cell)),
         fmt::format("{}", cell.plan.config.model.num_layers / stages_of(cell) / chunks_of(cell)), in_ms(bytes / 1e6),
         fmt::format("{:.2f}", ratio)});
    if (chunks_of(cell) > 1)
      finding.cases.push_back({fmt::format("chunks {}", chunks_of(cell)), ratio >= 1 + noticeable});
  }
  return finding;
}

// 3 and 4

std::string place_of(const ClaimCell& cell) {
  const plan::RunConfig& run = cell.plan.config.run;
  return run.gpus_per_node == 1 ? "between nodes" : "in a node";
}

std::string workload_of(const ClaimCell& cell) {
  return fmt::format("{} microbatches, {} chunks, {}", cell.plan.config.train.num_microbatches, chunks_of(cell),
                     place_of(cell));
}

// What else than transfers keeps a rank from computing: above all the bubble, which is a wait for a peer.
double stalled_otherwise_of(const ClaimCell& cell) {
  return step_of(cell) - cell.compute_ms - transfer_of(*cell.phases);
}

bool is_held_up_by_transfers(const ClaimCell& cell, double noticeable) {
  const double transfer = transfer_of(*cell.phases);
  return transfer >= noticeable * step_of(cell) && transfer > stalled_otherwise_of(cell);
}

Finding examine_bottleneck(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"stages", Align::left},
                             {"microbatches"},
                             {"chunks a stage"},
                             {"step ms"},
                             {"compute ms"},
                             {"exposed transfers ms"},
                             {"% of the step"},
                             {"bubble and all else ms"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!ran_in_stages(cell)) continue;
    const double transfer = transfer_of(*cell.phases);
    finding.found.rows.push_back({place_of(cell), fmt::format("{}", cell.plan.config.train.num_microbatches),
                                  fmt::format("{}", chunks_of(cell)), in_ms(step_of(cell)), in_ms(cell.compute_ms),
                                  in_ms(transfer), in_percent(transfer / step_of(cell)),
                                  in_ms(stalled_otherwise_of(cell))});
    const ClaimCell* one = partner_of(evidence, cell, kVpp, size_of(1));
    if (chunks_of(cell) == 1 || one == nullptr || !ran_in_stages(*one)) continue;
    finding.cases.push_back(
        {workload_of(cell), is_held_up_by_transfers(cell, noticeable) && !is_held_up_by_transfers(*one, noticeable)});
  }
  return finding;
}

Finding examine_cancels(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"stages", Align::left},
                             {"microbatches"},
                             {"chunks a stage"},
                             {"step ms"},
                             {"against half as many chunks"},
                             {"exposed transfers ms"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!ran_in_stages(cell)) continue;
    const ClaimCell* half = partner_of(evidence, cell, kVpp, size_of(chunks_of(cell) / 2));
    const bool has_half = half != nullptr && ran_in_stages(*half);
    const double ratio = has_half ? step_of(cell) / step_of(*half) : 1;
    finding.found.rows.push_back({place_of(cell), fmt::format("{}", cell.plan.config.train.num_microbatches),
                                  fmt::format("{}", chunks_of(cell)), in_ms(step_of(cell)),
                                  has_half ? fmt::format("{:.3f}", ratio) : std::string("-"),
                                  in_ms(transfer_of(*cell.phases))});
    if (has_half) finding.cases.push_back({workload_of(cell), ratio > 1 - noticeable});
  }
  return finding;
}

// 5 and 6

Finding phases_table() {
  return {.found = {{{"cell", Align::left},
                     {"step ms"},
                     {"exposed transfers ms: fill"},
                     {"steady state"},
                     {"flush"},
                     {"steady state, % of the step"},
                     {"of that when waited for, %"}},
                    {}},
          .cases = {},
          .note = {}};
}

std::vector<TableCell> phases_row(const ClaimCell& cell, const ClaimCell& waited) {
  const PipelinePhases& of = *cell.phases;
  const double steady = of.steady.exposed_transfer_ms;
  return {cell.name,
          in_ms(step_of(cell)),
          in_ms(of.fill.exposed_transfer_ms),
          in_ms(steady),
          in_ms(of.flush.exposed_transfer_ms),
          in_percent(steady / step_of(cell)),
          in_percent(steady / waited.phases->steady.exposed_transfer_ms)};
}

Finding examine_steady(const Evidence& evidence, double noticeable) {
  Finding finding = phases_table();
  for (const ClaimCell& cell : evidence.cells) {
    const ClaimCell* waited = waited_of(evidence, cell);
    if (!ran_in_stages(cell) || waited == nullptr || !ran_in_stages(*waited)) continue;
    finding.found.rows.push_back(phases_row(cell, *waited));
    if (!overlaps(cell)) continue;
    const double steady = cell.phases->steady.exposed_transfer_ms;
    finding.cases.push_back({cell.name, steady <= noticeable * step_of(cell) &&
                                            steady <= kHidden * waited->phases->steady.exposed_transfer_ms});
  }
  return finding;
}

Finding examine_ends(const Evidence& evidence, double noticeable) {
  Finding finding = phases_table();
  for (const ClaimCell& cell : evidence.cells) {
    const ClaimCell* waited = waited_of(evidence, cell);
    if (!ran_in_stages(cell) || waited == nullptr || !ran_in_stages(*waited)) continue;
    finding.found.rows.push_back(phases_row(cell, *waited));
    if (!overlaps(cell)) continue;
    const PipelinePhases &with = *cell.phases, &without = *waited->phases;
    const double exposed = with.fill.exposed_transfer_ms + with.flush.exposed_transfer_ms;
    const double all = without.fill.exposed_transfer_ms + without.flush.exposed_transfer_ms;
    finding.cases.push_back({cell.name, exposed >= (1 - noticeable) * all});
  }
  return finding;
}

// 7

Finding examine_needs_stages(const Evidence& evidence, double) {
  Finding finding{
      .found = {{{"chunks a stage"}, {"overlap_p2p_comm"}, {"the plan", Align::left}}, {}}, .cases = {}, .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const std::vector<plan::Message>& errors = cell.plan.errors;
    finding.found.rows.push_back({fmt::format("{}", chunks_of(cell)),
                                  to_json_text(knob_of(cell.plan, "comm_overlap.overlap_p2p_comm").requested),
                                  errors.empty() ? std::string("no error") : errors.front().message});
    const bool has_chunks = chunks_of(cell) > 1;
    finding.cases.push_back(
        {fmt::format("chunks {}", chunks_of(cell)), overlaps(cell) && errors.empty() == has_chunks});
  }
  return finding;
}

// 8

Finding examine_unbatched(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"stages", Align::left},
                             {"chunks a stage"},
                             {"step ms, batched"},
                             {"step ms, separate"},
                             {"separate / batched"},
                             {"exposed transfers ms, batched"},
                             {"exposed transfers ms, separate"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const ClaimCell* separate = partner_of(evidence, cell, "batch_p2p_comm", "false");
    if (!ran_in_stages(cell) || separate == nullptr || separate == &cell || !ran_in_stages(*separate)) continue;
    const double ratio = step_of(*separate) / step_of(cell);
    finding.found.rows.push_back({place_of(cell), fmt::format("{}", chunks_of(cell)), in_ms(step_of(cell)),
                                  in_ms(step_of(*separate)), fmt::format("{:.3f}", ratio),
                                  in_ms(transfer_of(*cell.phases)), in_ms(transfer_of(*separate->phases))});
    finding.cases.push_back({fmt::format("{} chunks, {}", chunks_of(cell), place_of(cell)), ratio <= 1 - noticeable});
  }
  return finding;
}

// 9

Finding examine_choice(const Evidence& evidence, double) {
  Finding finding{.found = {{{"stages"}, {"chunks a stage"}, {"overlap_p2p_comm"}, {"batch_p2p_comm"}}, {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (stages_of(cell) == 1) continue;
    const plan::Knob& overlap = knob_of(cell.plan, "comm_overlap.overlap_p2p_comm");
    const plan::Knob& batch = knob_of(cell.plan, "comm_overlap.batch_p2p_comm");
    finding.found.rows.push_back({fmt::format("{}", stages_of(cell)), fmt::format("{}", chunks_of(cell)),
                                  to_json_text(overlap.effective), to_json_text(batch.effective)});
    const bool are_chosen = overlap.source == "auto" && batch.source == "auto";
    const bool has_chunks = chunks_of(cell) > 1;
    finding.cases.push_back(
        {fmt::format("stages {}, chunks {}", stages_of(cell), chunks_of(cell)),
         are_chosen && overlap.effective == plan::Value(has_chunks) && batch.effective == plan::Value(!has_chunks)});
  }
  return finding;
}

// 10

Finding examine_composed(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"overlap", Align::left},
                             {"mode", Align::left},
                             {"step ms"},
                             {"comm ms"},
                             {"exposed ms"},
                             {"exposed transfers ms"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const ClaimCell* off = partner_of(evidence, cell, "overlap", "off");
    if (!cell.run || !cell.run->step_ms || off == nullptr || !off->run || !off->run->step_ms) continue;
    for (const std::string mode : {"tp", "pp", "dp"}) {
      const auto time_of = [&](const ClaimCell& c) {
        const auto found = c.modes.find(mode);
        return found == c.modes.end() ? ModeTime{} : found->second;
      };
      const ModeTime of = time_of(cell);
      finding.found.rows.push_back({cell.name, mode, in_ms(step_of(cell)), in_ms(of.comm_ms), in_ms(of.exposed_ms),
                                    in_ms(of.exposed_transfer_ms)});
      if (off == &cell) continue;
      finding.note =
          fmt::format("With these overlaps the step takes {:.3f} of that without.", step_of(cell) / step_of(*off));
      finding.cases.push_back({mode, of.exposed_transfer_ms <= (1 - noticeable) * time_of(*off).exposed_transfer_ms});
    }
  }
  return finding;
}

constexpr std::array<Claim, 10> kPipelineClaims{{
    {.id = "pp_exchanges",
     .document = Document::nemo_user_guide,
     .text = "Pipelining brings sends and receives of activations and gradients between stages",
     .runs = true,
     .rule = "with two stages or more a step sends activations and gradients, with one neither",
     .examine = examine_exchanges,
     .why = {.holds = "Each microbatch crosses each border between stages once forward and once backward. The first "
                      "stage sends no gradients and the last no activations, so the mean rank sends more with more "
                      "stages.",
             .holds_where = "At some sizes a direction is missing, or one stage sends.",
             .does_not_hold = "At every size a direction is missing, or one stage sends.",
             .not_run = ""}},
    {.id = "pp_growth",
     .document = Document::nemo_user_guide,
     .text = "Pipeline communication grows with the virtual pipeline size",
     .runs = true,
     .rule = "with more chunks a stage a rank sends more bytes than with one, by the noticeable share or more",
     .examine = examine_growth,
     .why = {.holds = "A microbatch crosses every border between chunks, of which p stages with v chunks have p v - 1: "
                      "so (p v - 1) / (p - 1) as many bytes as with one chunk a stage. The layers between two "
                      "transfers become fewer as they become more.",
             .holds_where = "Some sizes send no more than one chunk a stage.",
             .does_not_hold = "No size sends more than one chunk a stage.",
             .not_run = ""}},
    {.id = "pp_bottleneck",
     .document = Document::nemo_user_guide,
     .text = "With virtual stages pipeline communication becomes a bottleneck",
     .runs = true,
     .rule =
         "without overlap, transfers between stages keep a rank from computing for the noticeable share of the step "
         "or more and for longer than all else does, and with one chunk a stage they do not; waiting for a peer, "
         "which is the bubble, is of the else",
     .examine = examine_bottleneck,
     .why = {.holds = "Virtual stages shorten the bubble and multiply the transfers, until these are the longer.",
             .holds_where = "Virtual stages shorten the bubble and multiply the transfers. These become the longer of "
                            "the two between nodes, with many microbatches, which leave little bubble, and with "
                            "several chunks. Elsewhere it is the bubble that keeps ranks from computing, with virtual "
                            "stages too; inside a node the links are so fast that all transfers, exposed, are below "
                            "the noticeable share. Here stages have equal work; where they have not, ranks wait for "
                            "the slowest too.",
             .does_not_hold = "In every cell the bubble keeps ranks from computing for longer than transfers do, or "
                              "transfers do so with one chunk a stage too.",
             .not_run = ""}},
    {.id = "pp_cancels",
     .document = Document::nemo_user_guide,
     .text = "Without overlap that communication cancels what virtual stages gain by smaller bubbles",
     .runs = true,
     .rule = "the step without overlap is not shorter than that with half as many chunks by the noticeable share",
     .examine = examine_cancels,
     .why = {.holds = "Twice the chunks halve the bubble and expose twice the transfers, which outweigh it.",
             .holds_where = "Twice the chunks halve the bubble and expose about twice the transfers. The bubble is the "
                            "larger of the two where there are few microbatches to fill the pipeline or the links are "
                            "fast. With many microbatches, a slow link and several chunks already, the transfers "
                            "outweigh it.",
             .does_not_hold = "Twice the chunks halve the bubble, which outweighs twice the transfers in every cell.",
             .not_run = ""}},
    {.id = "pp_steady",
     .document = Document::nemo_user_guide,
     .text = "Overlap hides pipeline communication in the steady state of 1F1B",
     .runs = true,
     .rule = "from a rank's first backward pass to its last forward pass, transfers with overlap are exposed for at "
             "most the noticeable share of the step, and at most half of what the same schedule exposes when each "
             "exchange is waited for; the half is a convention, chosen when these figures were known",
     .examine = examine_steady,
     .why = {.holds = "What travels has a pass of another microbatch to run beside.",
             .holds_where = "What travels has a pass of another microbatch to run beside, but by default compute waits "
                            "for the way out of each forward pass all the same, to free the buffer that it leaves "
                            "from: model.deallocate_pipeline_outputs. With the outputs kept, or freed by an event "
                            "(extensions.release_by_event), that wait goes, and the transfers hide.",
             .does_not_hold = "In every cell the passes are too short for the transfers beside them, or wait for them.",
             .not_run = ""}},
    {.id = "pp_ends",
     .document = Document::nemo_user_guide,
     .text = "Pipeline communication stays exposed while the pipeline fills and drains",
     .runs = true,
     .rule = "before a rank's first backward pass and after its last forward pass, overlap exposes as much of the "
             "transfers as waiting for each exchange does, to the noticeable share",
     .examine = examine_ends,
     .why = {.holds = "A stage that fills or drains has nothing to compute until its next input is there. "
                      "overlap_p2p_comm_warmup_flush posts its receives early there too; the input was not sent "
                      "earlier, and the step gets no shorter. It gets longer where a receive that waits holds many "
                      "multiprocessors for a whole pass: eight inside a node here, two between nodes.",
             .holds_where = "In some cells part of it hides.",
             .does_not_hold = "In every cell part of it hides.",
             .not_run = ""}},
    {.id = "pp_needs_stages",
     .document = Document::nemo_user_guide,
     .text = "Pipeline communication overlaps with virtual stages alone",
     .runs = false,
     .rule = "overlap_p2p_comm, asked for, is an error with one chunk a stage and in effect with more",
     .examine = examine_needs_stages,
     .why = {.holds = "Megatron-Bridge takes the request, and Megatron Core's plain 1F1B refuses it once training "
                      "begins; here the plan does. Nothing in the schedule forbids it: "
                      "extensions.overlap_without_virtual_stages runs 1F1B with overlap.",
             .holds_where = "Some schedules do not follow the number of chunks.",
             .does_not_hold = "The number of chunks does not matter.",
             .not_run = ""}},
    {.id = "pp_unbatched",
     .document = Document::nemo_user_guide,
     .text = "batch_p2p_comm=False, separate kernels for send and receive, is more efficient (tried without overlap)",
     .runs = true,
     .rule = "the step with separate kernels is shorter than that with batched ones by the noticeable share or more",
     .examine = examine_unbatched,
     .why = {.holds = "Separate transfers do not wait for one another.",
             .holds_where = "In some schedules a transfer no longer waits for another of its batch.",
             .does_not_hold = "Where each exchange is waited for, its transfers take the same links for the same time, "
                              "in one kernel or in several. What separate kernels are for is overlap, which needs "
                              "them: a batch is waited for whole.",
             .not_run = ""}},
    {.id = "pp_choice",
     .document = Document::bridge_skill_card,
     .text = "Above one stage, virtual stages choose overlap_p2p_comm and others batch_p2p_comm by themselves",
     .runs = false,
     .rule = "above one stage the plan has overlap_p2p_comm true and batch_p2p_comm false with several chunks a stage, "
             "and the reverse with one, each decided by a rule",
     .examine = examine_choice,
     .why = {.holds = "The rule needs both sizes above 1 and nothing else. What a user writes is kept, and not checked "
                      "until the schedule begins.",
             .holds_where = "At some sizes the plan chooses otherwise.",
             .does_not_hold = "At every size the plan chooses otherwise.",
             .not_run = ""}},
    {.id = "composed",
     .document = Document::bridge_skill_card,
     .text = "One configuration overlaps tensor, pipeline and data parallelism at once",
     .runs = true,
     .rule = "with the skill card's settings a mode exposes less of its transfers, by the noticeable share of them or "
             "more, than with every overlap off; waiting for a peer is not counted",
     .examine = examine_composed,
     .why = {.holds = "The three overlaps do not exclude each other.",
             .holds_where = "All three are on, and not all three gain. Transfers of the pipeline stay exposed while it "
                            "fills and drains, and in the steady state compute waits for sends to free their outputs "
                            "(pp_steady and pp_ends).",
             .does_not_hold = "No mode exposes less of its transfers than with every overlap off.",
             .not_run = ""}},
}};

}  // namespace

std::span<const Claim> pipeline_claims() { return kPipelineClaims; }

}  // namespace underlap::bench
