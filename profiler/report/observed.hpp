// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/overlap_evidence.hpp"
#include "profiler/trace/tag.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::report {

/// A knob that asks for overlap, and the communication that it is about.
struct OverlapKnob {
  std::string name;                            ///< as the plan has it
  std::string requested;                       ///< JSON text; null: left to the automatic rule
  std::string effective;                       ///< JSON text
  bool is_asked_for = false;                   ///< by the request or by a rule
  bool is_on = false;                          ///< in effect
  std::string gate;                            ///< why it is not in effect as requested; empty: it is
  std::int64_t group_size = 1;                 ///< ranks that exchange its operations
  bool waits_are_the_schedules = false;        ///< pipelines: waits for other stages, which no overlap could hide
  std::function<bool(const Tag&)> is_its_own;  ///< whether a communication with this tag is one of its operations
};

/// How the steps of a trace were run.
struct TracedRun {
  bool has_transfers = true;    ///< false: they were taken out
  bool one_connection = false;  ///< a GPU's streams shared one hardware queue
};

/// What a trace shows of a knob's overlap, by the share of its communication that ran under compute. Fails when it
/// ran there by chance: the overlap then counts as observed.
enum class ObservedStatus : std::uint8_t {
  observed,      ///< at least half
  partly,        ///< at least a twentieth
  not_observed,  ///< less
  not_in_trace,  ///< none of its operations is in a measured step, or they exchange nothing
};

/// "observed", "partly", "not_observed", "not_in_trace".
std::string_view to_string(ObservedStatus);
constexpr ObservedStatus last_value(ObservedStatus) { return ObservedStatus::not_in_trace; }

/// One knob: requested, in effect, observed. Times are summed over the ranks and their measured steps.
struct ObservedKnob {
  std::string knob;
  std::string requested;  ///< JSON text; null: left to the automatic rule
  std::string effective;  ///< JSON text
  /// 100 * hidden / communication; between the stages of a pipeline, where last arrivals are known, of its transfers
  /// alone. Absent without communication.
  std::optional<double> observed_pct;
  std::int64_t operations = 0;
  std::int64_t comm_ns = 0;
  std::int64_t hidden_ns = 0;
  std::optional<std::int64_t> hidden_transfer_ns;  ///< absent where no last arrival is known
  ObservedStatus status = ObservedStatus::not_in_trace;
  std::optional<analysis::ExposedCause> cause;  ///< of most of the exposed time; absent where nothing was exposed
  std::string reason;
};

/// Holds `knobs` against `trace`. One that is off, was not asked for and has no operation in the trace is left out.
/// `summary` is the trace's.
std::vector<ObservedKnob> observe(const std::vector<OverlapKnob>& knobs, const TracedRun& run, const Trace& trace,
                                  const analysis::Summary& summary);

/// The knobs as a table for a terminal.
Table observed_table(const std::vector<ObservedKnob>& knobs);

/// `analysis_json` (underlap.analysis/1) with the cell's name and the knobs added as `cell` and `observed`.
std::string with_observed(const std::string& analysis_json, const std::string& cell,
                          const std::vector<ObservedKnob>& knobs);
/// Adds `observed` to the schema of such JSON.
void add_observed_schema(nlohmann::ordered_json& analysis_schema);

}  // namespace underlap::report
