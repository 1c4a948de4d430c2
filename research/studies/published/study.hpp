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
  model_tflops,     ///< model FLOPs of a GPU and second, as Megatron-LM counts them: full attention, no recomputation
  causal_tflops,    ///< the same with the half of attention that is computed, as Megatron-Bridge counts them
  hardware_tflops,  ///< FLOPs that it was made to compute: those of Megatron-LM with all that is recomputed
  iteration_from_layer,  ///< seconds of a step, given the time of one layer
};

/// "model_tflops", "causal_tflops", "hardware_tflops", "iteration_from_layer".
std::string_view to_string(PublishedQuantity);

/// One published figure.
struct PublishedRow {
  std::string name;
  std::string cell;      ///< the model, a value of the matrix's axis `model`; of several cells the fastest that fits
  double published = 0;  ///< TFLOP/s or seconds
  /// The row, or this one itself, whose figure this one is taken as a multiple of: how a configuration scales is then
  /// what is compared. Empty: the figure as it is.
  std::string relative_to;
};

/// One published table and the matrix that repeats it.
struct PublishedTable {
  std::string matrix;  ///< NAME.yaml in the folder of matrices
  std::string title;
  std::string source;
  PublishedQuantity quantity = PublishedQuantity::model_tflops;
  double within = 0.1;               ///< largest error that is aimed at, as a fraction
  std::string part;                  ///< throughputs: value of the matrix's axis `part`; empty where it has none
  double speed = 1;                  ///< of the described peak, what GEMMs keep up, and attention unless it is given
  std::string fitted_to;             ///< the row, here or in a table before, that a figure was fitted to; or empty
  std::string fitted_figure;         ///< that figure, where it is one of the machine's description and not `speed`
  std::string unit;                  ///< iteration_from_layer: the model, of the axis, whose layer is given
  double layer_ms = 0;               ///< its published forward and backward pass, what is recomputed among it
  double attention_forward_us = 0;   ///< of one head of one sequence, where it was not fused; 0: as described
  double attention_backward_us = 0;  ///< likewise
  double optimizer_bytes = 0;        ///< that separate passes move for each parameter of a rank beyond a fused one
  double loss_bytes = 0;             ///< the same for each logit of a rank and microbatch
  std::vector<std::string> assumed;  ///< sentences: what the source does not say, and what is done otherwise
  std::vector<PublishedRow> rows;
};

/// Figures that others published, and what virtual time gives for them.
struct PublishedStudy {
  std::string matrices;  ///< their folder
  std::vector<PublishedTable> tables;
  std::vector<std::string> left_out;  ///< sentences: what is not compared, and why
};

/// One row beside its model.
struct ModelledRow {
  PublishedRow row;
  std::string chosen;  ///< value of the matrix's axis `choice` of the fastest cell that fits; empty where it has none
  double step_s = 0;
  double modelled = 0;        ///< in the unit of what was published
  bool is_fit = false;        ///< something was fitted to it: it says nothing about the model
  double unit_published = 1;  ///< the published figure of the row that it is relative to
  double unit_modelled = 1;   ///< its modelled one

  double scaled_published() const { return row.published / unit_published; }
  double scaled_modelled() const { return modelled / unit_modelled; }
  double error() const { return scaled_modelled() / scaled_published() - 1; }
};

struct ModelledTable {
  PublishedTable table;
  std::string link;  ///< whose times these are
  double speed = 1;  ///< of the described peak of GEMMs: the table's, or what gives its layer
  std::vector<ModelledRow> rows;

  /// Largest error, without its sign, of the rows that nothing was fitted to; as a fraction.
  double largest_error() const;
  /// Pairs of rows whose order is not the published one, of pairs that differ by more than `margin` as a fraction.
  int misordered_pairs(double margin) const;
};

/// Reads a study, e.g. bench/matrices/published.yaml; matrices lie in the folder `published` beside the file `where`.
/// Throws std::invalid_argument with every error, a line each: `where`:line:column: what is wrong.
PublishedStudy parse_published_study(const std::string& yaml, const std::string& where);

/// Plays every matrix: to the bit the same on any machine.
/// Throws std::invalid_argument for a matrix that is missing or wrong, not of virtual time, or without a cell of a row.
std::vector<ModelledTable> run_published(const PublishedStudy& study);

/// All rows of all tables; those that are relative to a row as multiples of it.
Table published_table(const std::vector<ModelledTable>& tables);

/// Schema underlap.published/1.
std::string published_json(const std::vector<ModelledTable>& tables);

std::string published_markdown(const PublishedStudy& study, const std::vector<ModelledTable>& tables);

}  // namespace underlap::bench
