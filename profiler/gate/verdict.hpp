// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace underlap::gate {

enum class Verdict : std::uint8_t { pass, regression, inconclusive };

/// "pass", "regression", "inconclusive".
std::string_view to_string(Verdict);
constexpr Verdict last_value(Verdict) { return Verdict::inconclusive; }

/// One metric of one cell: a figure for each run, which is a fresh process. Larger is worse.
struct Row {
  std::vector<double> baseline;
  std::vector<double> candidate;
  double tolerance = 0;  ///< the largest change that passes, in the figures' unit
  double weight = 1;     ///< share of the chance of a false alarm that this row may use, relative to the others'
  /// Rows of one pool share what a run adds to all of them, and lend each other what they know of the rest of the
  /// spread.
  std::uint32_t pool = 0;
};

struct JudgeOptions {
  double level = 0.95;
  bool paired = false;             ///< run i of the candidate alternated with run i of the baseline
  bool exact = false;              ///< figures without noise: virtual time
  std::optional<double> run_sd{};  ///< standard deviation between runs that a person states, in the figures' unit
};

/// The result of the runs for one row.
struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  double change = 0;                    ///< candidate - baseline
  std::optional<double> lower;          ///< one-sided limits of the change at the level; absent where the spread is
  std::optional<double> upper;          ///< not known
  double p = 1;                         ///< chance of such a change upwards without one
  double p_family = 1;                  ///< the same among all rows (Holm)
  bool is_beyond_chance = false;        ///< slower, over the whole family
  std::optional<double> smallest_seen;  ///< the least change that these runs would find in four of five cases
  std::optional<std::int32_t> runs_to_decide;  ///< runs a side that would, at the spread seen
};

/// Judges all rows as one family.
///
/// pass where the upper limit is below the tolerance; regression where the row is slower beyond chance over the family
/// and not passed; else inconclusive. With one run a side the spread is unknown: without `exact` or `run_sd` no row is
/// a regression. A row without figures on either side throws std::invalid_argument, as do rows of different numbers of
/// runs where `paired`.
/// The spread between runs has two parts: one common to all rows of a run, one specific to each row.
/// Fails when figures of runs are far from normal, as with rare stalls: limits and chances are then wrong.
/// Source: Smyth 2004 (moderated t); Satterthwaite 1946 and Cochran 1964 (two variances); Holm 1979.
std::vector<Judgement> judge(std::span<const Row> rows, const JudgeOptions& options = {});

}  // namespace underlap::gate
