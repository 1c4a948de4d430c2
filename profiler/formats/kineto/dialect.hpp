// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/kineto/header.hpp"
#include "profiler/formats/kineto/parts.hpp"

namespace underlap::formats {

/// A slice while its dialect decides what it is.
struct KinetoSlice {
  KinetoRow row;
  KinetoLane lane;                             ///< with the category of the row
  KinetoWork work = {};                        ///< of a slice of a device
  std::optional<KinetoCollective> collective;  ///< of work
  bool is_dropped = false;
};

/// Classifies the rows of Chrome traces of tools other than PyTorch's profiler, which have no categories.
///
/// Each file is read with its own dialect object.
class KinetoDialect {
 public:
  virtual ~KinetoDialect() = default;

  /// The name of the format.
  virtual std::string_view format() const = 0;
  /// Advice for a file without events: "give a trace written by ...".
  virtual std::string_view advice() const = 0;

  /// Decides what a slice is, in the order of the file. `parts` has the names of processes and threads so far, and its
  /// trace has the slices before this one. Sets row.category; row.id is the correlation of work and calls.
  virtual void interpret(KinetoSlice&, const KinetoForeign&, const KinetoParts& parts) = 0;

  /// Finishes what needs all events, before links, ranks and collectives are joined. The header takes ranks and groups
  /// that files next to the trace state.
  virtual void finish(KinetoParts&, KinetoHeader&) = 0;

  /// Why the trace cannot be analyzed; "" if it can be. After finish().
  virtual std::string refusal(const Trace&) const = 0;
};

}  // namespace underlap::formats
