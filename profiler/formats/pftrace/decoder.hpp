// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <protozero/data_view.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "profiler/formats/perfetto/slice.hpp"
#include "profiler/formats/pftrace/clocks.hpp"
#include "profiler/formats/pftrace/events.hpp"

namespace underlap::formats::pftrace {

/// Collects the events of a Perfetto trace that another program wrote, packet by packet, and counts the unusable ones.
class Decoder {
 public:
  /// `most_bytes`: limit for what all packets together expand to: the decompressed bytes of nested packets, and the
  /// texts that arrays refer to. `check` is called while nested packets are read, and may throw to end reading.
  Decoder(std::size_t most_bytes, std::function<void()> check) : left_bytes_(most_bytes), check_(std::move(check)) {}

  /// A packet that is broken inside is counted.
  void add_packet(protozero::data_view);
  void skip(std::string_view reason) { ++events_.skipped[reason]; }

  Events finish();

 private:
  // What interning ids of one packet sequence mean, and what its packets leave out.
  struct Sequence {
    bool is_valid = false;
    std::optional<std::uint64_t> clock;
    std::optional<std::uint64_t> track;
    ById<NameId> categories, names, keys, strings, stages, kernels;

    static NameId name(const ById<NameId>& names, std::uint64_t iid) {
      const NameId* const found = names.find(iid);
      return found == nullptr ? kNoName : *found;
    }
  };
  struct Packet;
  struct EventFields;

  void apply(const Packet&);
  void add_packed(const Packet&);
  void set_defaults(protozero::data_view, Sequence&);
  void add_interned(protozero::data_view, Sequence&);
  void add_descriptor(protozero::data_view);
  void add_event(protozero::data_view, const Sequence&, std::int64_t time_ns);
  void add_stage(protozero::data_view, const Sequence&, std::int64_t time_ns);
  void add_annotation(protozero::data_view, const Sequence&, Arguments&);
  bool append_value(protozero::data_view, const Sequence&, int depth);
  void append(std::string_view text);
  void append_item(std::string_view interned);
  std::uint32_t track_of(std::uint64_t uuid);
  std::uint32_t add(const Arguments&);

  std::size_t left_bytes_;
  std::function<void()> check_;
  bool is_inside_packed_ = false;
  Events events_;
  Clocks clocks_;
  std::unordered_map<std::uint64_t, Sequence> sequences_;
  std::unordered_map<std::uint64_t, std::uint32_t> tracks_;  ///< by uuid
  std::string value_;                                        ///< of the annotation that is read
  bool is_too_long_ = false;                                 ///< the value
};

}  // namespace underlap::formats::pftrace
