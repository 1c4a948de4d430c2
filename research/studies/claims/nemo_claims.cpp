// SPDX-License-Identifier: Apache-2.0
// Judges of the NeMo Framework user guide's claims on data-parallel overlap.
#include <fmt/format.h>

#include <algorithm>

#include "research/studies/claims/judge.hpp"

namespace underlap::bench {
namespace {

using S = const Subject&;

const std::string kGather = "param_all_gather";
const std::string kReduce = "grad_reduce_scatter";
const std::vector<std::string> kDirections{kGather, kReduce};
constexpr const char* kFp32Knob = "mixed_precision.grad_reduce_in_fp32";
constexpr const char* kFp8Knob = "mixed_precision.fp8_param_gather";

std::string gigabytes(double bytes) { return fmt::format("{:.2f}", bytes / 1e9); }

std::string direction_name(S s) { return fmt::format("{} of {}", s.part, s.cell.name); }

bool has_its_collectives(const ClaimCell& cell) {
  const auto has = [&](const std::string& purpose) { return purpose_of(cell, purpose).count > 0; };
  if (cell.plan.config.ddp.use_distributed_optimizer) return has(kGather) && has(kReduce) && !has("grad_all_reduce");
  return !has(kGather) && !has(kReduce) && has("grad_all_reduce");
}

Subjects cells_that_are_cut(const Evidence& evidence) {
  return where(every_cell(evidence), [](S s) { return s.cell.cut.has_value(); });
}

// Exposure in one direction of one cell: of all chunks, and of the one that no schedule can overlap with compute.
struct DirectionExposure {
  std::size_t chunks = 0;
  double exposed_ms = 0;
  double edge_ms = 0;

  double beyond_ms() const { return std::max(0.0, exposed_ms - edge_ms); }
};

DirectionExposure exposure_of(S s) {
  DirectionExposure found;
  for (const Chunk& chunk : s.cell.chunks) {
    if (chunk.purpose != s.part) continue;
    // The first gather, the last reduce-scatter.
    if (found.chunks == 0 || s.part == kReduce) found.edge_ms = chunk.time_ms;
    ++found.chunks;
    found.exposed_ms += chunk.exposed_ms;
  }
  return found;
}

double share_beyond(S s) { return exposure_of(s).beyond_ms() / step_of(s.cell); }

Subjects chunks_of_stages(const Evidence& evidence) {
  Subjects subjects;
  for (const Subject& whole : every_cell(evidence))
    for (const plan::ChunkBuckets& chunk : whole.cell.plan.buckets) subjects.emplace_back(whole).buckets = &chunk;
  return subjects;
}

std::string layers_of_a_chunk(S s) {
  const plan::ParallelConfig& p = s.cell.plan.config.parallel;
  return as_integer(s.cell.plan.config.model.num_layers / p.pipeline_model_parallel_size /
                    p.virtual_pipeline_model_parallel_size);
}

std::string largest_bucket_mb(S s) {
  const std::int64_t largest = *std::ranges::max_element(s.buckets->elements);
  return fmt::format("{:.0f}",
                     static_cast<double>(largest * (s.cell.plan.config.ddp.grad_reduce_in_fp32 ? 4 : 2)) / 1e6);
}

std::string data_parallel_note(const Evidence& evidence, double) {
  std::string note;
  for (const Subject& subject : cells_that_ran(evidence)) {
    const ModeTime of = mode_of(subject.cell, "dp");
    note = fmt::format("Of {} ms of data-parallel communication, {} ms are exposed in a step of {} ms.",
                       in_ms(of.comm_ms), in_ms(of.exposed_ms), in_ms(step_of(subject.cell)));
  }
  return note;
}

double hidden(const ClaimCell& cell, const std::string& purpose) {
  const report::PurposeSummary of = purpose_of(cell, purpose);
  return of.comm_ms > 0 ? 1 - of.exposed_ms / of.comm_ms : 0;
}

std::optional<bool> hides_where_it_is_on(S s) {
  const plan::DdpConfig& ddp = s.cell.plan.config.ddp;
  return (hidden(s.cell, s.part) > s.noticeable) ==
         (s.part == kGather ? ddp.overlap_param_gather : ddp.overlap_grad_reduce);
}

// Cells that reduce in fp32, each with the cell that reduces in bf16, which is faster.
Subjects beside_bf16(const Evidence& evidence) {
  return where(compared(kGradReduceInFp32, "false")(evidence),
               [](S s) { return s.cell.plan.config.ddp.grad_reduce_in_fp32; });
}

double bf16_ratio(S s) { return step_of(*s.other) / step_of(s.cell); }

std::optional<bool> is_faster_on_several_nodes(S s) {
  const plan::Config& config = s.cell.plan.config;
  if (!config.run.gpus_per_node || config.parallel.world_size() <= *config.run.gpus_per_node) return std::nullopt;
  return bf16_ratio(s) <= 1 - s.noticeable;
}

std::optional<bool> halves_the_gather(S s) {
  const ClaimCell* bf16 = partner_of(s.evidence, s.cell, "fp8_param_gather", "false");
  if (!s.cell.run || bf16 == nullptr || !bf16->run || !s.cell.plan.config.mixed_precision.fp8_param_gather)
    return std::nullopt;
  return purpose_of(s.cell, kGather).bytes_on_wire <= (0.5 + s.noticeable) * purpose_of(*bf16, kGather).bytes_on_wire;
}

std::string recipe_of(S s) { return s.cell.plan.config.mixed_precision.recipe; }
std::string ranks_text(S s) { return as_integer(s.cell.plan.config.parallel.data_parallel_size); }
std::string num_microbatches_text(S s) { return as_integer(s.cell.plan.config.train.num_microbatches); }

}  // namespace

std::vector<Judge> nemo_judges() {
  return {
      {.id = "collectives",
       .rows = purposes_that_ran,
       .columns = {cell_column(),
                   part_column("collective"),
                   {{"per step"}, [](S s) { return as_number(purpose_of(s.cell, s.part).count); }},
                   {{"wire GB per rank"}, [](S s) { return gigabytes(purpose_of(s.cell, s.part).bytes_on_wire); }},
                   {{"comm ms"}, [](S s) { return in_ms(purpose_of(s.cell, s.part).comm_ms); }}},
       .cases = cells_that_ran,
       .holds = [](S s) { return std::optional(has_its_collectives(s.cell)); }},
      {.id = "layer_grain",
       .rows = cells_that_are_cut,
       .columns = {cell_column(),
                   {{"layers"}, [](S s) { return as_integer(s.cell.plan.config.model.num_layers); }},
                   {{"parameters per layer"}, [](S s) { return as_integer(s.cell.cut->layer_elements); }},
                   {{"bucket_size"},
                    [](S s) {
                      const auto& size = s.cell.plan.config.ddp.bucket_size;
                      return size ? as_integer(*size) : "none";
                    }},
                   {{"buckets"}, [](S s) { return as_integer(s.cell.cut->buckets); }},
                   {{"middle bucket"}, [](S s) { return as_integer(s.cell.cut->middle_bucket_elements); }},
                   {{"buckets with several layers"},
                    [](S s) { return as_integer(s.cell.cut->buckets_of_several_layers); }},
                   {{"layers in several buckets"},
                    [](S s) { return as_integer(s.cell.cut->layers_in_several_buckets); }},
                   {{"reduce-scatters per step"}, [](S s) { return as_number(purpose_of(s.cell, kReduce).count); }}},
       .holds =
           [](S s) {
             return std::optional(s.cell.cut->buckets_of_several_layers == 0 &&
                                  s.cell.cut->layers_in_several_buckets == 0);
           }},
      {.id = "exposed_chunk",
       .rows = [](const Evidence& evidence) { return parted(cells_with_steps(evidence), kDirections); },
       .columns = {cell_column(),
                   part_column("direction"),
                   {{"chunks"}, [](S s) { return fmt::format("{}", exposure_of(s).chunks); }},
                   {{"exposed ms"}, [](S s) { return in_ms(exposure_of(s).exposed_ms); }},
                   {{"first/last chunk ms"}, [](S s) { return in_ms(exposure_of(s).edge_ms); }},
                   {{"other exposed ms"}, [](S s) { return in_ms(exposure_of(s).beyond_ms()); }},
                   {{"other exposed, % of the step"}, [](S s) { return in_percent(share_beyond(s)); }}},
       .name = direction_name,
       .holds = [](S s) { return std::optional(exposure_of(s).chunks > 0 && share_beyond(s) <= s.noticeable); }},
      {.id = "pipeline_grain",
       .rows = chunks_of_stages,
       .columns = {{{"stage"}, [](S s) { return as_integer(s.buckets->stage); }},
                   {{"chunk"}, [](S s) { return as_integer(s.buckets->chunk); }},
                   {{"layers"}, layers_of_a_chunk},
                   {{"buckets"}, [](S s) { return fmt::format("{}", s.buckets->elements.size()); }},
                   {{"largest bucket, MB of gradients"}, largest_bucket_mb}},
       .name = [](S s) { return fmt::format("stage {}, chunk {}", s.buckets->stage, s.buckets->chunk); },
       .holds = [](S s) { return std::optional(s.buckets->elements.size() == 1); },
       .note = data_parallel_note},
      {.id = "switches",
       .rows = cells_with_steps,
       .columns = {cell_column(),
                   {{"all-gather ms"}, [](S s) { return in_ms(purpose_of(s.cell, kGather).comm_ms); }},
                   {{"hidden %"}, [](S s) { return in_percent(hidden(s.cell, kGather)); }},
                   {{"reduce-scatter ms"}, [](S s) { return in_ms(purpose_of(s.cell, kReduce).comm_ms); }},
                   {{"hidden %"}, [](S s) { return in_percent(hidden(s.cell, kReduce)); }},
                   {{"step ms"}, [](S s) { return in_ms(step_of(s.cell)); }}},
       .cases = [](const Evidence& evidence) { return parted(cells_with_steps(evidence), kDirections); },
       .name = direction_name,
       .holds = hides_where_it_is_on},
  };
}

std::vector<Judge> nemo_precision_judges() {
  return {
      {.id = "bf16_reduction",
       .rows = beside_bf16,
       .columns = {{{"ranks"}, ranks_text},
                   {{"microbatches"}, num_microbatches_text},
                   {{"step ms, fp32"}, [](S s) { return in_ms(step_of(s.cell)); }},
                   {{"step ms, bf16"}, [](S s) { return in_ms(step_of(*s.other)); }},
                   {{"bf16 / fp32"}, [](S s) { return as_ratio(bf16_ratio(s)); }},
                   {{"exposed reduction ms, fp32"}, [](S s) { return in_ms(purpose_of(s.cell, kReduce).exposed_ms); }},
                   {{"exposed reduction ms, bf16"},
                    [](S s) { return in_ms(purpose_of(*s.other, kReduce).exposed_ms); }}},
       .name = [](S s) { return fmt::format("{} ranks, microbatches {}", ranks_text(s), num_microbatches_text(s)); },
       .holds = is_faster_on_several_nodes},
      {.id = "reduction_default",
       .rows = every_cell,
       .columns = {{{"recipe", Align::left}, recipe_of},
                   {{"grad_reduce_in_fp32"}, [](S s) { return effective_text(s, kFp32Knob); }},
                   {{"decided by"}, [](S s) { return knob_of(s.cell.plan, kFp32Knob).source; }},
                   {{"why", Align::left}, [](S s) { return knob_of(s.cell.plan, kFp32Knob).reason; }}},
       .name = recipe_of,
       .holds = [](S s) { return std::optional(is_chosen(s.cell.plan, kFp32Knob, true)); }},
      {.id = "fp8_gather",
       .rows = every_cell,
       .columns = {cell_column(),
                   {{"recipe", Align::left}, recipe_of},
                   {{"fp8_param_gather"}, [](S s) { return effective_text(s, kFp8Knob); }},
                   {{"decided by"}, [](S s) { return knob_of(s.cell.plan, kFp8Knob).source; }},
                   {{"gather GB per rank"},
                    [](S s) {
                      return s.cell.run ? gigabytes(purpose_of(s.cell, kGather).bytes_on_wire) : std::string("not run");
                    }}},
       .holds = halves_the_gather},
  };
}

}  // namespace underlap::bench
