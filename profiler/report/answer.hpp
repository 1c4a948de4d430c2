// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/report/cell_summary.hpp"
#include "profiler/report/where_time_went.hpp"

namespace underlap::report {

/// What overlap did to a cell's step, as far as a run shows.
enum class Verdict : std::uint8_t {
  faster,     ///< all of the ratio's interval lies below 1; where modelled blocks give none, the ratio does
  slower,     ///< above 1
  unclear,    ///< the interval holds 1, or there is none; or less than without communication, which gains nothing
  equal,      ///< modelled, and not a nanosecond apart
  not_valid,  ///< the times of one of the two cells are not to be used
};

/// "faster", "slower", "unclear", "equal", "not_valid".
std::string_view to_string(Verdict);
constexpr Verdict last_value(Verdict) { return Verdict::not_valid; }

/// The answer that one pair of cells gives: a cell with some overlap on, and its off cell. Shares are of 1.
struct PairAnswer {
  std::string cell;
  std::string off_cell{};
  Verdict verdict = Verdict::unclear;
  bool is_modelled = false;          ///< no time of it was measured
  double change = 0;                 ///< of the step: step / step_off - 1, so that -0.1 is 10 % less time
  std::optional<Interval> interval;  ///< of the change; absent for one block, and where modelled blocks are equal
  /// The change that removing all communication makes, by the no_comm cell; absent without one. Overlap can hide no
  /// more than that: a change below it is noise in part, and is never what a sentence names.
  std::optional<double> limit{};
  std::int32_t blocks = 0;  ///< that both cells have
  /// If the verdict is unclear: a difference that more blocks would resolve, and how many blocks in all
  std::optional<double> resolution{};
  std::optional<std::int64_t> blocks_needed{};
  /// Of the cell's communication, absent without recorder or without communication. `mode` is empty for several modes.
  std::string mode{};
  std::optional<double> hidden{};      ///< share that ran under compute
  std::optional<double> hidden_off{};  ///< the same in the off cell
  std::optional<double> exposed_ms{};
  std::string exposed_purpose{};  ///< the one with most of it; empty where nothing is exposed
  double exposed_purpose_ms = 0;
  /// Why the step gained little: set if it certainly gained less than half of the exposed time that is gone. The parts
  /// that took that time back: "longer kernels", "chunks, sums and casts", "compute" (for results that do not separate
  /// these), "copies", "idle time"; largest first.
  double no_longer_exposed_ms = 0;
  std::vector<NamedTime> taken_back{};

  /// The change that sentences name: at least the limit.
  double credible_change() const { return limit && change < *limit ? std::min(*limit, 0.0) : change; }
};

/// The answers of a run, one for each cell that has another cell as its off cell, in the order of the cells.
/// `summaries` are those of `results`.
std::vector<PairAnswer> answers_of(const RunResults& results, const std::vector<CellSummary>& summaries);

/// An answer as a sentence, after its cell's name: "both: 18 % faster [10, 35]; hides 73 % of dp communication; 9.0 ms
/// stay exposed, mostly grad_reduce_scatter".
std::string answer_text(const PairAnswer& answer);

/// All answers in one line: in how many pairs the step is faster and slower with overlap, and where most; of a single
/// pair its sentence. Empty where there is none.
std::string headline(const std::vector<PairAnswer>& answers);

/// The `most` most important answers: significant changes of the step first, by size. In their original order if there
/// are at most `most` answers.
std::vector<PairAnswer> foremost(std::vector<PairAnswer> answers, std::size_t most);

}  // namespace underlap::report
