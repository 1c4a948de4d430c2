// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/operation.hpp"
#include "platform/table.hpp"
#include "profiler/trace/enum_names.hpp"

// Compares the GEMM times of hardware descriptions with published rates of single GEMMs: results/gemms/tables.yaml.
namespace underlap::bench {

/// Whether a table is independent of the model.
enum class GemmUse : std::uint8_t {
  held_against,  ///< no curve was made from it
  made_from,     ///< the curve of its hardware was made from it
};

/// Data that was multiplied; a GPU multiplies zeros, and other data of little entropy, at a higher clock.
enum class GemmOperands : std::uint8_t { random, not_stated };

/// How long the GPU had been busy when a GEMM was timed.
enum class GemmTiming : std::uint8_t {
  sustained,  ///< until the clock had settled at the power limit
  brief,      ///< less, or unknown
};

// Names in tables.yaml and results.json.
inline constexpr EnumNames<Precision, 2> kDtypeNames{{"bf16", "fp8"}};
inline constexpr EnumNames<GemmUse, 2> kUseNames{{"held_against", "made_from"}};
inline constexpr EnumNames<GemmOperands, 2> kOperandNames{{"random", "not_stated"}};
inline constexpr EnumNames<GemmTiming, 2> kTimingNames{{"sustained", "short"}};

struct GemmPoint {
  std::int64_t m = 0, n = 0, k = 0;  ///< of the [M, N] product
  double tflops = 0;                 ///< published; 2 M N K operations divided by its time

  double flops() const { return 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  double time_us() const { return flops() / (1e6 * tflops); }
};

/// Rates that one source publishes for one GPU and one type of operands.
struct GemmTable {
  std::string name;
  std::string hardware;  ///< name of the description that it is compared with
  Precision dtype = Precision::bf16;
  GemmOperands operands = GemmOperands::not_stated;
  GemmTiming timing = GemmTiming::brief;
  GemmUse use = GemmUse::held_against;
  std::string source;
  std::vector<GemmPoint> points;
};

/// One point compared with the model of the virtual-time backend.
struct GemmRow {
  const GemmTable* table = nullptr;
  GemmPoint point;
  double model_us = 0;

  double model_tflops() const { return point.flops() / (1e6 * model_us); }
  /// Error of the time: below 0 the model is faster than published.
  double error() const { return model_us / point.time_us() - 1; }
};

/// The cost of the program's own operation of that shape. Throws std::invalid_argument for a shape that it refuses.
Cost gemm_cost(Precision dtype, const GemmPoint& point);

/// Throws std::invalid_argument with every error, one line each: `where`:line:column: the error.
std::vector<GemmTable> parse_gemm_tables(const std::string& yaml, const std::string& where);

/// Compares every point of every table with its hardware description; tables that no curve was made from come first.
/// Rows point into `tables`.
std::vector<GemmRow> compare_gemm_times(const std::vector<GemmTable>& tables);

Table gemm_times_table(const std::vector<GemmRow>& rows);

/// Errors by table.
Table gemm_errors_table(const std::vector<GemmRow>& rows);

/// Median errors by table and K.
Table gemm_depths_table(const std::vector<GemmRow>& rows);

/// Tables and rows, schema underlap.gemm_times/1.
std::string gemm_times_json(const std::vector<GemmRow>& rows);

std::string gemm_times_markdown(const std::vector<GemmRow>& rows);

}  // namespace underlap::bench
