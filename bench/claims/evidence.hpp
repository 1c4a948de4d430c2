// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/summary.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// One bucket's collective in the last measured step of rank 0.
struct Chunk {
  std::string purpose;  ///< param_all_gather, grad_reduce_scatter
  double time_ms = 0;
  double exposed_ms = 0;
};

/// How buckets and layers cut each other.
struct LayerCut {
  std::int64_t buckets = 0;
  std::int64_t buckets_of_several_layers = 0;  ///< with weights of more than one layer
  std::int64_t layers_in_several_buckets = 0;
  std::int64_t layer_elements = 0;          ///< weights of one layer
  std::int64_t middle_bucket_elements = 0;  ///< median of the buckets, padding included; the upper one of two
};

/// Of a model that is one chunk on one stage.
LayerCut layer_cut(const plan::Config& config);

/// One cell of a claim's matrix.
struct ClaimCell {
  std::string name;
  std::map<std::string, std::string> values;  ///< axis -> value, as JSON text
  plan::Plan plan;
  std::optional<LayerCut> cut;     ///< nullopt where the model is cut into stages
  std::optional<CellSummary> run;  ///< nullopt where the cell was planned alone
  std::vector<Chunk> chunks;       ///< by start; empty where it was planned alone
};

/// What planning a claim's matrix, and running it where this version can, brought to light.
struct Evidence {
  std::string link;  ///< whose times these are, as results name it: "modelled: h100-sxm"; empty where nothing ran
  std::vector<ClaimCell> cells;
  std::vector<std::string> not_run;   ///< why this version does not run the matrix; empty where it does or need not
  std::vector<plan::KnobInfo> knobs;  ///< every key that a configuration may hold
};

/// Plans the matrix in `file`, and runs it in memory where `runs` and this version can: a settling step and run.steps
/// measured ones of each cell, in virtual time. Deterministic, to the bit.
/// Throws std::invalid_argument for a file that is missing or wrong, or that asks for another backend.
Evidence gather_evidence(const std::string& file, bool runs);

}  // namespace underlap::bench
