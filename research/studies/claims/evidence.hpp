// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/cell_summary.hpp"

namespace underlap::bench {

/// One collective, or hop of a ring, in the last measured step, mean over the ranks.
struct Chunk {
  std::string purpose;  ///< e.g. param_all_gather, grad_reduce_scatter, fc2_fprop_reduce_scatter
  double time_ms = 0;
  double exposed_ms = 0;
};

/// Communication of one mode in a step, or in a part of it, mean over the ranks.
struct ModeTime {
  double comm_ms = 0;
  double exposed_ms = 0;
  double exposed_transfer_ms = 0;  ///< exposed, after the last member arrived: without waiting for a peer
};

/// Pipeline communication by phase of a rank: until its first backward pass starts, until its last forward pass ends,
/// and until the end of the step.
struct PipelinePhases {
  ModeTime fill, steady, flush;
};

/// How buckets and layers overlap.
struct LayerCut {
  std::int64_t buckets = 0;
  std::int64_t buckets_of_several_layers = 0;  ///< with weights of more than one layer
  std::int64_t layers_in_several_buckets = 0;
  std::int64_t layer_elements = 0;          ///< weights of one layer
  std::int64_t middle_bucket_elements = 0;  ///< median of the buckets, padding included; the upper one of two
};

/// For a model that is one chunk on one stage.
LayerCut layer_cut(const plan::Config& config);

/// One cell of a claim's matrix.
struct ClaimCell {
  std::string name;
  std::map<std::string, std::string> values;  ///< axis -> value, as JSON text
  plan::Plan plan;
  std::optional<LayerCut> cut;             ///< nullopt if the model is split into stages
  std::optional<report::CellSummary> run;  ///< nullopt if the cell was only planned
  std::vector<Chunk> chunks;               ///< by start; empty with stages, whose ranks differ, or if only planned
  std::set<std::string> computed;          ///< purposes of computed operations; empty if it was only planned
  std::map<std::string, ModeTime> modes;   ///< of the last step, by "dp", "tp", "pp", "cp"; empty where it was planned
  double compute_ms = 0;                   ///< of the last step, mean over the ranks: with a kernel that computes
  double cp_under_attention_ms = 0;        ///< likewise: communication of mode cp that overlaps an attention kernel
  std::optional<PipelinePhases> phases;    ///< of the last step; nullopt without stages, or if only planned
};

/// Results of planning a claim's matrix, and of running it if this version can.
struct Evidence {
  std::string link;  ///< source of the times, as named in results: "modelled: h100-sxm"; several are joined by "; ";
                     ///< empty if nothing ran
  std::vector<ClaimCell> cells;
  std::vector<std::string> not_run;   ///< why this version does not run the matrix; empty if it does or need not
  std::vector<plan::KnobInfo> knobs;  ///< every key that a configuration may hold
};

/// Plans the matrix in `file`, and runs it in memory if `runs` is set and this version can: a settling step and
/// run.steps measured ones of each cell, in virtual time. Bit-for-bit deterministic.
/// If the matrix is not to run, an error that occurs in one cell but not in all is evidence.
/// Throws std::invalid_argument for a file that is missing or wrong, or that requests another backend.
Evidence gather_evidence(const std::string& file, bool runs);

}  // namespace underlap::bench
