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

/// What goes between a run and its ranks. The run orders, and a rank answers each order when it has done it: with
/// `done`, with a `result` for `take`, `arrivals` and `trace`, or with `failed`, after which it ends. While it connects
/// with its peers, a rank puts what these must know (`put`) and asks for what they have put (`get`), and the run
/// answers (`met`). Between runs it says what time it is (`clock`), and takes the offset of its clock. Of what it
/// records its figures travel (`take`; `arrivals` first tells it when the last members came, where it could not know),
/// and the trace where it is asked for.
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

/// The first order: who the rank is, which matrix it belongs to, and which cells of it are its own.
struct StartOrder {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::vector<std::size_t> cells = {};
  std::int32_t first_step = 0;
  RankEnvironment environment = {};
  plan::Source source;
  std::string plans_hash;  ///< of the plans that the run works with; what the rank reads must give the same
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

/// An order about a rank's clock; its answer says what that machine's steady clock read, nanoseconds.
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

/// What a rank says of a block: all but its trace, which it keeps.
struct RankReport {
  RankRun run;                                  ///< without a trace, or with the part that lacks arrivals
  std::optional<report::BlockFigures> figures;  ///< nullopt: it waits for those arrivals
};
std::string encode(const RankReport& report);
/// `origin` names the sender in messages.
RankReport decode_report(std::string_view payload, const std::string& origin);

/// A trace travels in the native format, without loss.
std::string encode(const Trace& trace);
Trace decode_trace(std::string_view payload, const std::string& origin);

/// The last arrivals, ns, of the part that a rank sent: profiler/analysis/waits/rank_arrivals.hpp.
using LastArrivals = std::vector<std::int64_t>;

/// Why a rank gave up.
struct RankFailure {
  enum class Kind : std::uint8_t {
    bad_input,  ///< std::invalid_argument
    machine,    ///< any other error of the rank's own
    peer,       ///< PeerError: the cause is mostly another rank's
  };
  Kind kind = Kind::machine;
  std::string what;
};
RankFailure failure_of(const std::exception& error);
void visit_fields(Is<RankFailure> auto& failure, auto&& field) {
  field("kind", failure.kind);
  field("what", failure.what);
}

/// What a rank puts where its peers find it.
struct MeetingPut {
  std::string key;
  std::string value;  ///< any bytes
};
void visit_fields(Is<MeetingPut> auto& put, auto&& field) {
  field("key", put.key);
  field("value", put.value);
}

/// What a rank asks for, and how long it waits. The answer is MeetingPlace::Values.
struct MeetingGet {
  std::vector<std::string> keys;
  std::chrono::milliseconds timeout{0};
};
void visit_fields(Is<MeetingGet> auto& get, auto&& field) {
  field("keys", get.keys);
  field("patience_ms", get.timeout);
}

/// A hash of everything that the plans of `cells` say.
std::string plans_hash(std::span<const plan::Cell> cells);

}  // namespace underlap::bench
