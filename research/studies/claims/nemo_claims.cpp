// SPDX-License-Identifier: Apache-2.0
// What the NeMo Framework user guide says of data-parallel overlap.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "research/studies/claims/claim.hpp"

namespace underlap::bench {
namespace {

const std::string kGather = "param_all_gather";
const std::string kReduce = "grad_reduce_scatter";

std::string gigabytes(double bytes) { return fmt::format("{:.2f}", bytes / 1e9); }

// 1

Finding examine_nemo_collectives(const Evidence& evidence, double) {
  Finding finding{
      .found = {{{"cell", Align::left}, {"collective", Align::left}, {"a step"}, {"wire GB a rank"}, {"comm ms"}}, {}},
      .cases = {},
      .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run) continue;
    for (const auto& [purpose, of] : cell.run->purposes)
      finding.found.rows.push_back(
          {cell.name, purpose, fmt::format("{:g}", of.count), gigabytes(of.bytes_on_wire), in_ms(of.comm_ms)});
    const auto has = [&](const std::string& purpose) { return purpose_of(cell, purpose).count > 0; };
    const bool is_sharded = has(kGather) && has(kReduce) && !has("grad_all_reduce");
    const bool is_whole = !has(kGather) && !has(kReduce) && has("grad_all_reduce");
    finding.cases.push_back({cell.name, cell.plan.config.ddp.use_distributed_optimizer ? is_sharded : is_whole});
  }
  return finding;
}

// 2

Finding examine_layer_grain(const Evidence& evidence, double) {
  Finding finding{.found = {{{"cell", Align::left},
                             {"layers"},
                             {"parameters a layer"},
                             {"bucket_size"},
                             {"buckets"},
                             {"middle bucket"},
                             {"of several layers"},
                             {"layers in several buckets"},
                             {"reduce-scatters a step"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.cut) continue;
    const auto& size = cell.plan.config.ddp.bucket_size;
    finding.found.rows.push_back(
        {cell.name, fmt::format("{}", cell.plan.config.model.num_layers), fmt::format("{}", cell.cut->layer_elements),
         size ? fmt::format("{}", *size) : "none", fmt::format("{}", cell.cut->buckets),
         fmt::format("{}", cell.cut->middle_bucket_elements), fmt::format("{}", cell.cut->buckets_of_several_layers),
         fmt::format("{}", cell.cut->layers_in_several_buckets), fmt::format("{:g}", purpose_of(cell, kReduce).count)});
    finding.cases.push_back(
        {cell.name, cell.cut->buckets_of_several_layers == 0 && cell.cut->layers_in_several_buckets == 0});
  }
  return finding;
}

// 3

// One direction of one cell: all its chunks, and the one that has no compute beside it whatever the schedule.
struct DirectionExposure {
  std::size_t chunks = 0;
  double exposed_ms = 0;
  double edge_ms = 0;
};

DirectionExposure exposure_of(const ClaimCell& cell, const std::string& purpose) {
  DirectionExposure found;
  for (const Chunk& chunk : cell.chunks) {
    if (chunk.purpose != purpose) continue;
    // The first gather, the last reduce-scatter.
    if (found.chunks == 0 || purpose == kReduce) found.edge_ms = chunk.time_ms;
    ++found.chunks;
    found.exposed_ms += chunk.exposed_ms;
  }
  return found;
}

Finding examine_exposed_chunk(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"cell", Align::left},
                             {"direction", Align::left},
                             {"chunks"},
                             {"exposed ms"},
                             {"the one chunk ms"},
                             {"beyond it ms"},
                             {"beyond it, % of the step"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run || !cell.run->step_ms) continue;
    for (const std::string& purpose : {kGather, kReduce}) {
      const DirectionExposure of = exposure_of(cell, purpose);
      const double beyond = std::max(0.0, of.exposed_ms - of.edge_ms);
      const double share = beyond / cell.run->step_ms->value;
      finding.found.rows.push_back({cell.name, purpose, fmt::format("{}", of.chunks), in_ms(of.exposed_ms),
                                    in_ms(of.edge_ms), in_ms(beyond), in_percent(share)});
      finding.cases.push_back({fmt::format("{} of {}", purpose, cell.name), of.chunks > 0 && share <= noticeable});
    }
  }
  return finding;
}

// 4

Finding examine_pipeline_grain(const Evidence& evidence, double) {
  Finding finding{
      .found = {{{"stage"}, {"chunk"}, {"layers"}, {"buckets"}, {"MB, gradients of the largest bucket"}}, {}},
      .cases = {},
      .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const plan::Config& config = cell.plan.config;
    const plan::ParallelConfig& p = config.parallel;
    const std::int64_t layers =
        config.model.num_layers / p.pipeline_model_parallel_size / p.virtual_pipeline_model_parallel_size;
    const std::int64_t width = config.ddp.grad_reduce_in_fp32 ? 4 : 2;
    for (const plan::ChunkBuckets& chunk : cell.plan.buckets) {
      const std::int64_t largest = *std::max_element(chunk.elements.begin(), chunk.elements.end());
      finding.found.rows.push_back({fmt::format("{}", chunk.stage), fmt::format("{}", chunk.chunk),
                                    fmt::format("{}", layers), fmt::format("{}", chunk.elements.size()),
                                    fmt::format("{:.0f}", static_cast<double>(largest * width) / 1e6)});
      finding.cases.push_back(
          {fmt::format("stage {}, chunk {}", chunk.stage, chunk.chunk), chunk.elements.size() == 1});
    }
    if (cell.run) {
      const ModeTime of = cell.modes.contains("dp") ? cell.modes.at("dp") : ModeTime{};
      finding.note = fmt::format("Of {} ms of data-parallel communication {} are exposed, in a step of {} ms.",
                                 in_ms(of.comm_ms), in_ms(of.exposed_ms), in_ms(cell.run->step_ms->value));
    }
  }
  return finding;
}

// 5

Finding examine_switches(const Evidence& evidence, double noticeable) {
  Finding finding{
      .found =
          {{{"cell", Align::left}, {"all-gather ms"}, {"hidden %"}, {"reduce-scatter ms"}, {"hidden %"}, {"step ms"}},
           {}},
      .cases = {},
      .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run || !cell.run->step_ms) continue;
    const auto hidden = [&](const std::string& purpose) {
      const report::PurposeSummary of = purpose_of(cell, purpose);
      return of.comm_ms > 0 ? 1 - of.exposed_ms / of.comm_ms : 0;
    };
    const plan::DdpConfig& ddp = cell.plan.config.ddp;
    finding.found.rows.push_back({cell.name, in_ms(purpose_of(cell, kGather).comm_ms), in_percent(hidden(kGather)),
                                  in_ms(purpose_of(cell, kReduce).comm_ms), in_percent(hidden(kReduce)),
                                  in_ms(cell.run->step_ms->value)});
    finding.cases.push_back(
        {fmt::format("{} of {}", kGather, cell.name), (hidden(kGather) > noticeable) == ddp.overlap_param_gather});
    finding.cases.push_back(
        {fmt::format("{} of {}", kReduce, cell.name), (hidden(kReduce) > noticeable) == ddp.overlap_grad_reduce});
  }
  return finding;
}

// 6

bool is_on_several_nodes(const plan::Config& config) {
  return config.run.gpus_per_node && config.parallel.world_size() > *config.run.gpus_per_node;
}

Finding examine_bf16_reduction(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"ranks"},
                             {"microbatches"},
                             {"step ms, fp32"},
                             {"step ms, bf16"},
                             {"bf16 / fp32"},
                             {"reduce exposed ms, fp32"},
                             {"reduce exposed ms, bf16"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const ClaimCell* bf16 = partner_of(evidence, cell, kGradReduceInFp32, "false");
    if (!cell.plan.config.ddp.grad_reduce_in_fp32 || bf16 == nullptr) continue;
    if (!cell.run || !bf16->run || !cell.run->step_ms || !bf16->run->step_ms) continue;
    const plan::Config& config = cell.plan.config;
    const double ratio = bf16->run->step_ms->value / cell.run->step_ms->value;
    finding.found.rows.push_back(
        {fmt::format("{}", config.parallel.data_parallel_size), fmt::format("{}", config.train.num_microbatches),
         in_ms(cell.run->step_ms->value), in_ms(bf16->run->step_ms->value), fmt::format("{:.3f}", ratio),
         in_ms(purpose_of(cell, kReduce).exposed_ms), in_ms(purpose_of(*bf16, kReduce).exposed_ms)});
    if (is_on_several_nodes(config))
      finding.cases.push_back(
          {fmt::format("{} ranks, microbatches {}", config.parallel.data_parallel_size, config.train.num_microbatches),
           ratio <= 1 - noticeable});
  }
  return finding;
}

// 7

Finding examine_reduction_default(const Evidence& evidence, double) {
  Finding finding{
      .found = {{{"recipe", Align::left}, {"grad_reduce_in_fp32"}, {"decided by"}, {"why", Align::left}}, {}},
      .cases = {},
      .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const plan::Knob& knob = knob_of(cell.plan, "mixed_precision.grad_reduce_in_fp32");
    const std::string& recipe = cell.plan.config.mixed_precision.recipe;
    finding.found.rows.push_back({recipe, to_json_text(knob.effective), knob.source, knob.reason});
    finding.cases.push_back({recipe, knob.source == "auto" && knob.effective == plan::Value(true)});
  }
  return finding;
}

// 8

Finding examine_fp8_gather(const Evidence& evidence, double noticeable) {
  Finding finding{
      .found =
          {{{"cell", Align::left}, {"recipe", Align::left}, {"fp8_param_gather"}, {"decided by"}, {"gather GB a rank"}},
           {}},
      .cases = {},
      .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const plan::Knob& knob = knob_of(cell.plan, "mixed_precision.fp8_param_gather");
    finding.found.rows.push_back(
        {cell.name, cell.plan.config.mixed_precision.recipe, to_json_text(knob.effective), knob.source,
         cell.run ? gigabytes(purpose_of(cell, kGather).bytes_on_wire) : std::string("not run")});
    const ClaimCell* bf16 = partner_of(evidence, cell, "fp8_param_gather", "false");
    if (!cell.run || bf16 == nullptr || !bf16->run || !cell.plan.config.mixed_precision.fp8_param_gather) continue;
    finding.cases.push_back({cell.name, purpose_of(cell, kGather).bytes_on_wire <=
                                            (0.5 + noticeable) * purpose_of(*bf16, kGather).bytes_on_wire});
  }
  return finding;
}

constexpr std::array<Claim, 8> kNemoClaims{{
    {.id = "collectives",
     .document = Document::nemo_user_guide,
     .text = "The distributed optimizer turns data-parallel communication into a reduce-scatter of gradients and an "
             "all-gather of parameters",
     .runs = true,
     .rule = "with the distributed optimizer a step has reduce-scatters and all-gathers and no all-reduce of "
             "gradients, without it all-reduces alone",
     .examine = examine_nemo_collectives,
     .why = {.holds = "Each rank updates the slice that it owns, so it needs the sum of that slice alone, and the "
                      "others need the updated slice: an all-reduce cut in two, with the optimizer between. With bf16 "
                      "parameters and fp32 gradients the two halves have different sizes.",
             .holds_where = "In some of the cells a step has other collectives than those.",
             .does_not_hold = "No cell has the collectives that the claim names.",
             .not_run = ""}},
    {.id = "layer_grain",
     .document = Document::nemo_user_guide,
     .text = "Data-parallel communication is cut per transformer layer",
     .runs = true,
     .rule = "no bucket holds weights of two layers, and no layer lies in two buckets",
     .examine = examine_layer_grain,
     .why = {.holds = "Every bucket closes at the border of a layer at these sizes.",
             .holds_where = "A bucket closes with the parameter that makes it bucket_size or larger, whatever layer "
                            "that is in. Where a layer's weights happen to come to that size, buckets and layers "
                            "coincide; elsewhere they do not.",
             .does_not_hold = "A bucket closes with the parameter that makes it bucket_size or larger, whatever layer "
                              "that is in: the grain is a count of parameters. Buckets may come to the size of a layer "
                              "and still hold the end of one and the start of the next; a small model has one bucket.",
             .not_run = ""}},
    {.id = "exposed_chunk",
     .document = Document::nemo_user_guide,
     .text = "With overlap one chunk of data-parallel communication is exposed",
     .runs = true,
     .rule = "what a direction exposes beyond one chunk, its first all-gather or its last reduce-scatter, is at most "
             "the noticeable share of the step",
     .examine = examine_exposed_chunk,
     .why = {.holds = "It is one chunk each way, so two a step: nothing computes before the first gather, and nothing "
                      "after the last gradient. Here every other transfer is shorter than the compute beside it.",
             .holds_where = "It is one chunk each way, so two a step: nothing computes before the first gather, and "
                            "nothing after the last gradient. The others hide while two things hold: each is shorter "
                            "than the compute beside it, which fails where there is little compute for the bytes; and "
                            "that compute can run, which fails where norm kernels of rows above 8192 leave fewer "
                            "multiprocessors than a collective holds, so that everything behind the norm waits for "
                            "the collective's end; these rows are shorter.",
             .does_not_hold = "In every cell transfers are longer than the compute beside them, or hold "
                              "multiprocessors that this compute waits for, so more than one chunk is exposed.",
             .not_run = ""}},
    {.id = "pipeline_grain",
     .document = Document::nemo_user_guide,
     .text = "With pipeline parallelism the grain is the layers of a virtual pipeline stage",
     .runs = true,
     .rule = "each model chunk of each stage has one bucket",
     .examine = examine_pipeline_grain,
     .why = {.holds = "Every chunk has one bucket, however large it is.",
             .holds_where = "Megatron Core cuts buckets on the first chunk of the first stage alone, where bucket_size "
                            "counts parameters and no layers. Every other chunk is one bucket: its layers travel "
                            "together, once the last of them has its gradient. extensions.bucket_every_stage cuts them "
                            "all.",
             .does_not_hold = "Every chunk has several buckets.",
             .not_run = ""}},
    {.id = "switches",
     .document = Document::nemo_user_guide,
     .text = "overlap_grad_sync and overlap_param_gather switch the overlap on",
     .runs = true,
     .rule = "a direction hides more than the noticeable share of its communication exactly where its switch is on",
     .examine = examine_switches,
     .why = {.holds = "Each switch acts on its own direction. overlap_grad_sync is NeMo's name of Megatron's "
                      "overlap_grad_reduce; either is read. Unlike Megatron, where the gather's overlap needs the "
                      "reduction's, each may be on alone here.",
             .holds_where =
                 "A switch sends its buckets early. They hide only if the compute beside them can run: where norm "
                 "kernels leave fewer multiprocessors than a collective holds, compute waits for its end.",
             .does_not_hold = "No direction does what its switch says.",
             .not_run = ""}},
    {.id = "bf16_reduction",
     .document = Document::nemo_user_guide,
     .text = "Reducing gradients in bf16 and not in fp32 makes training at large scale faster",
     .runs = true,
     .rule = "on more than one node the step with bf16 is shorter than that with fp32 by the noticeable share or more",
     .examine = examine_bf16_reduction,
     .why = {.holds =
                 "Half the bytes take half the link's time where the reduction is exposed, and accumulating, scaling "
                 "and updating touch less memory. The price is precision: results/dp_reduction_error says how "
                 "much.",
             .holds_where = "Half the bytes shorten the step by half of what the reduction exposed, which was little "
                            "where it was hidden, and by the memory that accumulating, scaling and updating touch. "
                            "With several microbatches one reduction serves more compute and weighs less. The price "
                            "is precision: results/dp_reduction_error says how much.",
             .does_not_hold = "The reduction is hidden with either type, so its size matters little; and the price "
                              "would be precision (results/dp_reduction_error).",
             .not_run = ""}},
    {.id = "reduction_default",
     .document = Document::nemo_user_guide,
     .text = "Gradients are reduced in fp32 by default",
     .runs = false,
     .rule = "with no request grad_reduce_in_fp32 is true, and no user decided it",
     .examine = examine_reduction_default,
     .why = {.holds = "Every recipe has it so.",
             .holds_where = "The recipe decides: those of bf16 reduce in fp32, and what follows them does likewise. "
                            "fp16_mixed reduces in fp16. Megatron Core's own default, without a recipe, is the type "
                            "of the parameters.",
             .does_not_hold = "No recipe has it so.",
             .not_run = ""}},
    {.id = "fp8_gather",
     .document = Document::nemo_user_guide,
     .text = "fp8_param_gather halves the all-gather",
     .runs = true,
     .rule = "the gathers' bytes on the wire are half of those in bf16, to the noticeable share",
     .examine = examine_fp8_gather,
     .why = {.holds = "One byte a parameter in place of two.",
             .holds_where = "Only some recipes gather all their parameters in one byte.",
             .does_not_hold = "Embeddings, norms and the layers that a recipe keeps in bf16 travel in two bytes as "
                              "before.",
             .not_run = ""}},
}};

}  // namespace

std::span<const Claim> nemo_claims() { return kNemoClaims; }

}  // namespace underlap::bench
