// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <protozero/data_view.hpp>
#include <string_view>

#include "profiler/formats/by_id.hpp"
#include "profiler/formats/perfetto/fields.hpp"
#include "profiler/formats/perfetto/values.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// An interned text, and its value if it is one of our words. Decoded once per text instead of once per slice.
struct PerfettoWord {
  NameId id = kNoName;
  std::optional<Kind> kind{};
  std::optional<Mode> mode{};
  std::optional<Direction> direction{};
  std::optional<AttributionSource> source{};
  std::optional<Collective> collective{};
  std::optional<DataType> dtype{};

  PerfettoWord() = default;
  explicit PerfettoWord(std::string_view text);
};

/// What interning ids of one packet sequence mean.
struct PerfettoSequence {
  bool valid = false;
  ById<PerfettoWord> categories, strings;
  ById<NameId> names;
  ById<perfetto::Annotation> annotations;
  ById<std::uint32_t> groups;  ///< id -> index into Trace::groups

  NameId name(std::uint64_t iid) const;
  NameId string(std::uint64_t iid) const;
};

/// What one transfer can put on a wire: sums over a trace still fit.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

/// Builds one slice from its begin event.
class PerfettoSlice {
 public:
  explicit PerfettoSlice(const PerfettoSequence& sequence) : sequence_(sequence) {}

  void add_category(std::uint64_t iid);
  void add(const perfetto::Value&);
  /// Call when all is added.
  void finish();

  Slice slice;
  std::optional<CommunicationRecord> communication;
  std::string_view fault;  ///< why the slice cannot be used; empty where it can

 private:
  const PerfettoWord& word(const perfetto::Value&) const;
  CommunicationRecord& record();
  template <class T>
  void set(T& field, const std::optional<T>& value);
  template <class T>
  void set_number(T& field, std::int64_t value);
  void add_to_tag(perfetto::Annotation, const perfetto::Value&);
  void add_to_communication(perfetto::Annotation, const perfetto::Value&);
  void set_group(std::uint64_t id);
  void set_numbers(std::array<std::uint32_t, 3>&, const perfetto::Value& list);
  void add_transfers(const perfetto::Value& list);
  void add_to_transfer(const perfetto::Value&, TransferRecord&);

  const PerfettoSequence& sequence_;
  bool has_group_ = false;
  std::optional<std::uint8_t> confidence_pct_;
  std::optional<std::int32_t> bucket_or_chunk_;
};

}  // namespace underlap::formats
