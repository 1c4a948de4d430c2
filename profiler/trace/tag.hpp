// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profiler/trace/name.hpp"

namespace underlap {

/// The kind of parallelism that a communication serves.
enum class Mode : std::uint8_t { none, dp, tp, pp, cp, ep, fsdp, other };
inline constexpr std::size_t kNumModes = 8;

/// What a slice does, whatever its CUDA activity kind: a tagged peer copy is communication. none: nothing on a device,
/// as a call, a range or a wait.
enum class Kind : std::uint8_t { compute, communication, copy, none };

/// Which pass of the training step an operation belongs to.
enum class Direction : std::uint8_t { none, forward, backward, optimizer };

/// Why an operation runs. Set where the operation is enqueued, carried unchanged into the trace.
struct Tag {
  Kind kind = Kind::compute;
  Mode mode = Mode::none;
  Direction direction = Direction::none;
  NameId purpose = kNoName;      ///< e.g. grad_reduce_scatter, param_all_gather
  std::int32_t layer = -1;       ///< -1: belongs to no layer
  std::int32_t microbatch = -1;  ///< -1: belongs to no microbatch
  std::int32_t bucket = -1;      ///< of gradients or parameters, in its chunk's buffer; -1: none
  std::int32_t chunk = -1;       ///< of the model on its pipeline stage; -1: none
  std::int32_t step = -1;        ///< step of the run; -1: outside any step

  friend bool operator==(const Tag&, const Tag&) = default;
};

std::string_view to_string(Mode);
std::string_view to_string(Kind);
std::string_view to_string(Direction);

/// The reverse of to_string; nullopt for a word that is none of them.
std::optional<Mode> mode_from(std::string_view);
std::optional<Kind> kind_from(std::string_view);
std::optional<Direction> direction_from(std::string_view);

}  // namespace underlap
