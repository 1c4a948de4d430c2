// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ranks/rank_runner.hpp"
#include "platform/fields/field_values.hpp"
#include "profiler/report/block_figures.hpp"

namespace underlap::bench {

using fields::from_message, fields::Is, fields::to_message;

/// Messages between a run and its ranks. A rank answers each order after it carried it out: with `done`, with a
/// `result` for `take`, `arrivals` and `trace`, or with `failed`, after which it ends. While ranks connect to each
/// other, a rank publishes values for its peers (`put`) and requests theirs (`get`); the run answers with `met`.
/// Between runs a rank sends its clock's time and receives its clock's offset (`clock`). For each block a rank sends
/// only figures (`take`). If these depend on last arrivals that the rank does not know, the run sends them first
/// (`arrivals`). The trace is sent on request.
enum class RankMessage : std::uint32_t {
  start = 1,
  build,
  run,
  take,
  reserve,
  done,
  result,
  failed,
  put,
  get,
  met,
  clock,
  arrivals,
  trace
};

/// The first order: the rank's number, its matrix, and the cells that it takes part in.
struct StartOrder {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::vector<std::size_t> cells = {};
  std::int32_t first_step = 0;
  RankEnvironment environment = {};
  plan::Source source;
  std::string plans_hash;  ///< of the run's plans; the plans that the rank reads must have the same hash
};
void visit_fields(Is<StartOrder> auto& order, auto&& field) {
  field("rank", order.rank);
  field("world_size", order.world_size);
  field("cells", order.cells);
  field("first_step", order.first_step);
  field("address", order.environment.address);
  field("local_rank", order.environment.local_rank);
  field("sharing", order.environment.num_sharing);
  field("launched", order.environment.is_launched);
  field("yaml", order.source.yaml);
  field("where", order.source.where);
  field("overrides", order.source.overrides);
  field("plans_hash", order.plans_hash);
}

/// An order about a rank's clock; the answer is the time of that machine's steady clock, nanoseconds.
struct ClockOrder {
  std::optional<std::int64_t> offset_ns = {};  ///< what to add to it from now on; nullopt: as before
};
void visit_fields(Is<ClockOrder> auto& order, auto&& field) { field("offset_ns", order.offset_ns); }

/// An order about one cell.
struct CellOrder {
  std::size_t cell = 0;
  std::int32_t block = 0;
  std::int64_t steps = 0;
};
void visit_fields(Is<CellOrder> auto& order, auto&& field) {
  field("cell", order.cell);
  field("block", order.block);
  field("steps", order.steps);
}

/// A rank's report on a block, without the trace, which stays on the rank.
struct RankReport {
  RankRun run;                                  ///< without a trace, or with the part that lacks arrivals
  std::optional<report::BlockFigures> figures;  ///< nullopt: they depend on missing arrivals
};
std::string encode(const RankReport& report);
/// `origin` names the sender in messages.
RankReport decode_report(std::string_view payload, const std::string& origin);

/// A trace travels in the native format, without loss.
std::string encode(const Trace& trace);
Trace decode_trace(std::string_view payload, const std::string& origin);

/// Last arrivals, ns, for the part that a rank sent: profiler/analysis/arrivals.hpp.
using LastArrivals = std::vector<std::int64_t>;

/// Why a rank failed.
struct RankFailure {
  enum class Kind : std::uint8_t {
    bad_input,  ///< std::invalid_argument
    machine,    ///< any other error of the rank's own
    peer,       ///< PeerError: usually caused by another rank
  };
  Kind kind = Kind::machine;
  std::string what;
};
RankFailure failure_of(const std::exception& error);
void visit_fields(Is<RankFailure> auto& failure, auto&& field) {
  field("kind", failure.kind);
  field("what", failure.what);
}

/// A value that a rank publishes for its peers.
struct MeetingPut {
  std::string key;
  std::string value;  ///< any bytes
};
void visit_fields(Is<MeetingPut> auto& put, auto&& field) {
  field("key", put.key);
  field("value", put.value);
}

/// Values that a rank requests, and its timeout. The answer is SharedValues::Values.
struct MeetingGet {
  std::vector<std::string> keys;
  std::chrono::milliseconds timeout{0};
};
void visit_fields(Is<MeetingGet> auto& get, auto&& field) {
  field("keys", get.keys);
  field("patience_ms", get.timeout);
}

/// A hash of the plans of `cells`.
std::string plans_hash(std::span<const plan::Cell> cells);

}  // namespace underlap::bench
