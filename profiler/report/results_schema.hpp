// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platform/fields/field_wrappers.hpp"
#include "profiler/report/answer.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/results.hpp"

// The fields of the types of the results file, each with its key: the one list that both writer and reader follow, in
// the order of the file.

namespace underlap::analysis {

using fields::Is, fields::NewerField;

void visit_fields(Is<CommunicationSplit> auto& split, auto&& field) {
  field("comm_ns", split.comm_ns);
  field("exposed_ns", split.exposed_ns);
  field("hidden_ns", split.hidden_ns);
  field("exposed_wait_ns", split.exposed_wait_ns);
  field("pipeline_dependency_ns", NewerField{split.pipeline_dependency_ns});
  field("exposed_transfer_ns", split.exposed_transfer_ns);
  field("exposed_unsplit_ns", NewerField{split.exposed_unsplit_ns});
  field("bytes_on_wire", split.bytes_on_wire);
  field("count", split.count);
}

void visit_fields(Is<Split> auto& split, auto&& field) {
  field("window_ns", split.window_ns);
  field("compute_only_ns", split.compute_only_ns);
  field("hidden_ns", split.hidden_ns);
  field("copy_only_ns", split.copy_only_ns);
  field("idle_ns", split.idle_ns);
  field("exposed_wait_ns", split.exposed_wait_ns);
  field("exposed_unsplit_ns", NewerField{split.exposed_unsplit_ns});
  field("exposed_ns_by_modes", split.exposed_ns_by_modes);
  field("modes", split.modes);
  field("purposes", split.purposes);
}

void visit_fields(Is<ComputeParts> auto& parts, auto&& field) {
  field("same_kernels_ns", parts.same_kernels_ns);
  field("other_kernels_ns", parts.other_kernels_ns);
  field("concurrency_ns", parts.concurrency_ns);
}

void visit_fields(Is<KernelChange> auto& change, auto&& field) {
  field("contention_ns", change.contention_ns);
  field("decomposition_ns", change.decomposition_ns);
}

}  // namespace underlap::analysis

namespace underlap::report {

using fields::AsObject, fields::Is, fields::JsonText, fields::NewerField;

void visit_fields(Is<StepSample> auto& sample, auto&& field) {
  field("block", sample.block);
  field("step", sample.step);
  field("step_ns", sample.step_ns);
  field("loss", sample.loss);
  field("transfer_cpu_ns", sample.transfer_cpu_ns);
  field("ranks", sample.ranks);
}

void visit_fields(Is<ComputeSinceOff> auto& compute, auto&& field) {
  field("off_cell", compute.off_cell);
  field("windows", compute.windows);
  field("from", compute.change.from);
  field("to", compute.change.to);
  field("purposes", compute.change.purposes);
}

void visit_fields(Is<LaunchedRank> auto& rank, auto&& field) {
  field("node", rank.node);
  field("local_rank", rank.local_rank);
  field("cpus", rank.cpus);
  field("visible_devices", rank.visible_devices);
  field("numa_nodes", NewerField{rank.numa_nodes});
}

void visit_fields(Is<OwnAllocation> auto& own, auto&& field) {
  field("started_utc", own.started_utc);
  field("cpu_model", own.cpu_model);
  field("ranks", own.ranks);
}

void visit_fields(Is<StepWork> auto& work, auto&& field) {
  field("tokens", work.tokens);
  field("flops", work.flops);
  field("peak_tflops", work.peak_tflops);
  field("peak_of", work.peak_of);
}

void visit_fields(Is<RefusedCell> auto& cell, auto&& field) {
  field("name", cell.name);
  field("values", AsObject{cell.values});
  field("because", cell.because);
}

void visit_fields(Is<PlannedReferences> auto& references, auto&& field) {
  field("off", references.off);
  field("no_comm", references.no_comm);
  field("overlaps", references.overlaps);
}

void visit_fields(Is<GpuState> auto& state, auto&& field) {
  field("sm_mhz", state.sm_mhz);
  field("memory_mhz", state.memory_mhz);
  field("power_w", state.power_w);
  field("temperature_c", state.temperature_c);
  field("throttle_reasons", state.throttle_reasons);
}

void visit_fields(Is<GpuBlock> auto& block, auto&& field) {
  field("block", block.block);
  field("rank", block.rank);
  field("before", block.before);
  field("after", block.after);
  field("power_limited_ns", block.power_limited_ns);
  field("thermal_limited_ns", block.thermal_limited_ns);
}

void visit_fields(Is<CaptureFault> auto& fault, auto&& field) {
  field("block", fault.block);
  field("rank", fault.rank);
  field("cause", fault.cause);
  field("count", fault.count);
  field("example", fault.example);
}

void visit_fields(Is<CellResult> auto& cell, auto&& field) {
  field("name", cell.name);
  field("values", AsObject{cell.values});
  field("plan", JsonText{cell.plan_json});
  field("references", NewerField{cell.references});
  field("no_comm", cell.no_comm);
  field("paced", cell.paced);
  field("num_ranks", NewerField{cell.num_ranks});
  field("num_ranks_played", NewerField{cell.num_ranks_played});
  field("peak_memory_bytes", NewerField{cell.peak_memory_bytes});
  field("tensor_bytes", NewerField{cell.tensor_bytes});
  field("device_memory_bytes", NewerField{cell.device_memory_bytes});
  field("memory_advice", NewerField{cell.memory_advice});
  field("work", NewerField{cell.work});
  field("not_as_requested", NewerField{cell.not_as_requested});
  field("label", cell.label);
  field("max_loss_difference", cell.max_loss_difference);
  field("bound_ns", cell.bound_ns);
  field("bound_ideal_ns", NewerField{cell.bound_ideal_ns});
  field("bound_kernel_ns", NewerField{cell.bound_kernel_ns});
  field("bound_source", cell.bound_source);
  field("kernel_ns", NewerField{cell.kernel_ns});
  field("kernel_windows", NewerField{cell.kernel_windows});
  field("compute_since_off", NewerField{cell.compute_since_off});
  field("trace_file", cell.trace_file);
  field("trace_bytes", cell.trace_bytes);
  field("notes", NewerField{cell.notes});
  field("clock_residual_ns", NewerField{cell.clock_residual_ns});
  field("invalid_because", NewerField{cell.invalid_because});
  field("capture_faults", NewerField{cell.capture_faults});
  field("gpu_blocks", NewerField{cell.gpu_blocks});
  field("failed_because", NewerField{cell.failed_because});
  field("own_allocation", NewerField{cell.own_allocation});
  field("warmup_losses", cell.warmup_losses);
  field("samples", cell.samples);
}

void visit_fields(Is<RunInfo> auto& info, auto&& field) {
  field("command", info.command);
  field("commit", info.commit);
  field("version", info.version);
  field("started_utc", info.started_utc);
  field("host_name_hash", info.host_name_hash);
  field("cpu_model", info.cpu_model);
  field("gpu_model", NewerField{info.gpu_model});
  field("num_cpus", info.num_cpus);
  field("operating_system", info.operating_system);
  field("compiler", info.compiler);
  field("library_versions", info.library_versions);
  field("backend", info.backend);
  field("link", info.link);
  field("clock", info.clock);
  field("seed", info.seed);
  field("config_hash", info.config_hash);
  field("input_hashes", NewerField{info.input_hashes});
  field("commit_utc", NewerField{info.commit_utc});
  field("series", NewerField{info.series});
  field("series_run", NewerField{info.series_run});
  field("series_runs", NewerField{info.series_runs});
  field("series_side", NewerField{info.series_side});
  field("launcher", NewerField{info.launcher});
  field("launched_ranks", NewerField{info.launched_ranks});
  field("flops", NewerField{info.flops});
}

void visit_fields(Is<BlockLoad> auto& load, auto&& field) {
  field("block", load.block);
  field("cpus", load.cpus);
  field("wall_ns", load.wall_ns);
  field("own_cpu_ns", load.own_cpu_ns);
  field("other_cpu_ns", load.other_cpu_ns);
  field("stolen_cpu_ns", load.stolen_cpu_ns);
}

void visit_fields(Is<RunResults> auto& results, auto&& field) {
  field("run", results.info);
  field("blocks_planned", results.blocks_planned);
  field("blocks_done", results.blocks_done);
  field("resumed_at_blocks", NewerField{results.resumed_at_blocks});
  field("load", NewerField{results.load});
  field("refused", NewerField{results.refused});
  field("cells", results.cells);
}

void visit_fields(Is<Interval> auto& interval, auto&& field) {
  field("low", interval.low);
  field("high", interval.high);
}

void visit_fields(Is<Estimate> auto& estimate, auto&& field) {
  field("value", estimate.value);
  field("interval", estimate.interval);
  field("blocks", estimate.blocks);
}

void visit_fields(Is<PurposeSummary> auto& purpose, auto&& field) {
  field("comm_ms", purpose.comm_ms);
  field("exposed_ms", purpose.exposed_ms);
  field("exposed_wait_ms", purpose.exposed_wait_ms);
  field("pipeline_dependency_ms", purpose.pipeline_dependency_ms);
  field("exposed_transfer_ms", purpose.exposed_transfer_ms);
  field("exposed_unsplit_ms", purpose.exposed_unsplit_ms);
  field("bytes_on_wire", purpose.bytes_on_wire);
  field("count", purpose.count);
}

void visit_fields(Is<AxisRatio> auto& along, auto&& field) {
  field("other_cell", along.other_cell);
  field("step_ratio", along.step_ratio);
  field("half_width", along.half_width);
  field("is_resolved", along.is_resolved);
  field("blocks_needed", along.blocks_needed);
}

void visit_fields(Is<Stall> auto& stall, auto&& field) {
  field("block", stall.block);
  field("step", stall.step);
  field("took_ns", stall.took_ns);
  field("usual_ns", stall.usual_ns);
  field("rank", stall.rank);
  field("part", stall.part);
  field("longer_ns", stall.longer_ns);
}

void visit_fields(Is<CellSummary> auto& summary, auto&& field) {
  field("off_cell", summary.off_cell);
  field("no_comm_cell", summary.no_comm_cell);
  field("steps", summary.steps);
  field("step_ms", summary.step_ms);
  field("comm_ms", summary.comm_ms);
  field("exposed_ms", summary.exposed_ms);
  field("exposed_worst_ms", summary.exposed_worst_ms);
  field("overlap_pct", summary.overlap_pct);
  field("bytes_on_wire", summary.bytes_on_wire);
  field("transfer_cpu_ms", summary.transfer_cpu_ms);
  field("step_ratio_to_off", summary.step_ratio_to_off);
  field("efficiency", summary.efficiency);
  field("step_ratio_to_bound", summary.step_ratio_to_bound);
  field("step_ratio_to_bound_and_cpu", summary.step_ratio_to_bound_and_cpu);
  field("step_ratio_to_bound_ideal", summary.step_ratio_to_bound_ideal);
  field("ratios_along", summary.ratios_along);
  field("final_loss", summary.final_loss);
  field("tokens_per_s", summary.tokens_per_s);
  field("tflops_per_gpu", summary.tflops_per_gpu);
  field("mfu", summary.mfu);
  field("stalls", summary.stalls);
  field("modes", summary.modes);
  field("purposes", summary.purposes);
}

void visit_fields(Is<NamedTime> auto& time, auto&& field) {
  field("name", time.name);
  field("ns", time.ns);
}

void visit_fields(Is<PairAnswer> auto& answer, auto&& field) {
  field("verdict", answer.verdict);
  field("is_modelled", answer.is_modelled);
  field("change", answer.change);
  field("interval", answer.interval);
  field("limit", answer.limit);
  field("resolution", answer.resolution);
  field("blocks_needed", answer.blocks_needed);
  field("mode", answer.mode);
  field("hidden", answer.hidden);
  field("hidden_off", answer.hidden_off);
  field("exposed_ms", answer.exposed_ms);
  field("exposed_purpose", answer.exposed_purpose);
  field("exposed_purpose_ms", answer.exposed_purpose_ms);
  field("no_longer_exposed_ms", answer.no_longer_exposed_ms);
  field("taken_back", answer.taken_back);
}

}  // namespace underlap::report
