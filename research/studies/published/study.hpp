// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"

namespace underlap::bench {

/// How a published figure follows from steps in virtual time.
enum class PublishedQuantity : std::uint8_t {
  model_tflops,     ///< model FLOPs per GPU and second, as Megatron-LM counts them: full attention, no recomputation
  causal_tflops,    ///< the same with only the computed half of attention, as Megatron-Bridge counts them
  hardware_tflops,  ///< executed FLOPs: those of Megatron-LM with all recomputation
  iteration_from_layer,  ///< seconds of a step, given the time of one layer
};

/// "model_tflops", "causal_tflops", "hardware_tflops", "iteration_from_layer".
std::string_view to_string(PublishedQuantity);

/// One published figure.
struct PublishedRow {
  std::string name;
  std::string cell;      ///< the model, a value of the matrix's axis `model`; with several cells the fastest that fits
  double published = 0;  ///< TFLOP/s or seconds
  /// The row, or this one itself, whose figure is the unit of this one: this compares how a configuration scales.
  /// Empty: the figure is absolute.
  std::string relative_to;
};

/// One published table and the matrix that reproduces it.
struct PublishedTable {
  std::string matrix;  ///< NAME.yaml in the folder of matrices
  std::string title;
  std::string source;
  PublishedQuantity quantity = PublishedQuantity::model_tflops;
  double within = 0.1;               ///< target for the largest error, as a fraction
  std::string part;                  ///< throughputs: value of the matrix's axis `part`; empty if it has no such axis
  double speed = 1;                  ///< share of the described peak that GEMMs reach, and attention unless it is given
  std::string fitted_to;             ///< the row, here or in an earlier table, that a figure was fitted to; or empty
  std::string fitted_figure;         ///< that figure, if it belongs to the machine's description and is not `speed`
  std::string unit;                  ///< iteration_from_layer: the model, on the axis, whose layer time is given
  double layer_ms = 0;               ///< its published forward and backward pass, recomputation included
  double attention_forward_us = 0;   ///< for one head of one sequence, if it was not fused; 0: as described
  double attention_backward_us = 0;  ///< likewise
  double optimizer_bytes = 0;        ///< traffic of separate passes for each parameter of a rank beyond a fused one
  double loss_bytes = 0;             ///< the same for each logit of a rank and microbatch
  std::vector<std::string> assumed;  ///< sentences: what the source does not specify, and what differs here
  std::vector<PublishedRow> rows;
};

/// Figures that others published, and the results of virtual time for them.
struct PublishedStudy {
  std::string matrices;  ///< their folder
  std::vector<PublishedTable> tables;
  std::vector<std::string> left_out;  ///< sentences: what is not compared, and why
};

/// One row and the modelled result for it.
struct ModelledRow {
  PublishedRow row;
  std::string chosen;  ///< value of the matrix's axis `choice` of the fastest cell that fits; empty where it has none
  double step_s = 0;
  double modelled = 0;        ///< in the unit of the published figure
  bool is_fit = false;        ///< something was fitted to it, so it does not test the model
  double unit_published = 1;  ///< the published figure of the row that it is relative to
  double unit_modelled = 1;   ///< the modelled figure of that row

  double scaled_published() const { return row.published / unit_published; }
  double scaled_modelled() const { return modelled / unit_modelled; }
  double error() const { return scaled_modelled() / scaled_published() - 1; }
};

struct ModelledTable {
  PublishedTable table;
  std::string link;  ///< source of the times
  double speed = 1;  ///< share of the described peak of GEMMs: the table's, or the one that gives its layer time
  std::vector<ModelledRow> rows;

  /// Largest absolute error of the rows that nothing was fitted to, as a fraction.
  double largest_error() const;
  /// Pairs of rows in another order than published, among pairs that differ by more than `margin`, a fraction.
  int misordered_pairs(double margin) const;
};

/// Reads a study, e.g. bench/matrices/published.yaml; matrices are in the folder `published` next to the file `where`.
/// Throws std::invalid_argument with every error, one line each: `where`:line:column: the error.
PublishedStudy parse_published_study(const std::string& yaml, const std::string& where);

/// Simulates every matrix, bit-for-bit the same on any machine. Throws std::invalid_argument for a matrix that is
/// missing, wrong, not of virtual time, or without a cell for a row.
std::vector<ModelledTable> run_published(const PublishedStudy& study);

/// All rows of all tables; rows that are relative to another row are multiples of it.
Table published_table(const std::vector<ModelledTable>& tables);

/// Schema underlap.published/1.
std::string published_json(const std::vector<ModelledTable>& tables);

std::string published_markdown(const PublishedStudy& study, const std::vector<ModelledTable>& tables);

}  // namespace underlap::bench
