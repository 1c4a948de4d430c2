// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::bench {

/// The error of an averaged gradient relative to its fp64 value, by group size and method of summation.
///
/// Gradient of element i on rank r: scale_i * (signal_i + noise_to_signal * noise_ri), with standard normal signal and
/// noise and log-normal scale_i. These model the part that all ranks share, the noise of their own samples, and
/// magnitudes that differ by orders between parameters, as in layers and embeddings. The figures are assumptions, not
/// measured gradients.
struct ReductionErrorStudy {
  std::vector<std::int32_t> group_sizes{2, 4, 8, 16, 32, 64, 128, 256};  ///< each 1 to 4096
  std::int64_t elements = 65536;
  std::vector<std::uint64_t> seeds{1, 2, 3};
  double noise_to_signal = 4;  ///< standard deviation of one rank's noise divided by that of the common signal
  double scale_median = 1e-4;  ///< median of scale_i
  double scale_log_sigma =
      1.0;  ///< standard deviation of its natural logarithm; far above 1 few elements decide the norm
};

/// A way to sum, with the type on the wire and that of the partial sums.
enum class ReductionMethod : std::uint8_t {
  bf16_wire_bf16_sum,  ///< rounded after every addition in rank order, as a ring does hop by hop
  bf16_wire_fp32_sum,  ///< bf16 gradients, summed in fp32, rounded once
  fp32,                ///< fp32 on the wire and in the sum
};

std::string_view to_string(ReductionMethod);

/// Errors of one group size and method compared with fp64, medians over the seeds.
struct ReductionErrorRow {
  std::int32_t group_size = 0;
  ReductionMethod method = ReductionMethod::fp32;
  double relative_l2_error = 0;  ///< |reduced - exact| / |exact|, Euclidean over the elements
  report::Interval over_seeds;   ///< lowest and highest relative_l2_error of a seed
  double bias = 0;               ///< <reduced - exact, exact> / <exact, exact>: negative if the result shrank
};

/// Runs the study with the arithmetic of the host backend's reduce-scatter (impl/device/reduce.hpp). Rows by group
/// size, then method. Deterministic. Cost: seeds * elements * (largest group + 3 * sum of the group sizes) additions.
/// Throws std::invalid_argument if a field is out of range.
std::vector<ReductionErrorRow> run_reduction_error(const ReductionErrorStudy& study);

/// Reads a study, e.g. bench/matrices/dp_reduction_error.yaml; a missing key keeps its default. Throws
/// std::invalid_argument with every error, one line each: `where`:line:column: the error.
ReductionErrorStudy parse_reduction_error_study(const std::string& yaml, const std::string& where);

Table reduction_error_table(const std::vector<ReductionErrorRow>& rows);

/// The study and its rows, schema underlap.reduction_error/1.
std::string reduction_error_json(const ReductionErrorStudy& study, const std::vector<ReductionErrorRow>& rows);

std::string reduction_error_markdown(const ReductionErrorStudy& study, const std::vector<ReductionErrorRow>& rows);

}  // namespace underlap::bench
