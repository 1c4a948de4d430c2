// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ranks/rank_runner.hpp"

namespace underlap::bench {

/// What goes between a run and its ranks. The run orders, and a rank answers each order when it has done it: with
/// `done`, with a `result` for `take`, or with `failed`, after which it ends.
enum class RankMessage : std::uint32_t { start = 1, build, run, take, reserve, done, result, failed };

/// The first order: who the rank is, which matrix it belongs to, and which cells of it are its own.
struct StartOrder {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::vector<std::size_t> cells = {};
  std::int32_t first_step = 0;
  std::string meeting_folder;
  plan::Source source;
  std::string plans_hash;  ///< of the plans that the run works with; what the rank reads must give the same
};
std::string encode(const StartOrder& order);
StartOrder decode_start(std::string_view payload);

/// An order about one cell.
struct CellOrder {
  std::size_t cell = 0;
  std::int32_t block = 0;
  std::int64_t steps = 0;
};
std::string encode(const CellOrder& order);
CellOrder decode_cell_order(std::string_view payload);

/// The trace travels in the native format, without loss.
std::string encode(const RankRun& run);
/// `origin` names the sender in messages.
RankRun decode_run(std::string_view payload, const std::string& origin);

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
std::string encode(const RankFailure& failure);
RankFailure decode_failure(std::string_view payload);

/// A hash of everything that the plans of `cells` say.
std::string plans_hash(std::span<const plan::Cell> cells);

}  // namespace underlap::bench
