// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <protozero/data_view.hpp>
#include <protozero/types.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/formats/perfetto/fields.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {
namespace perfetto {

/// A field number with its wire type, as packet readers return both.
constexpr std::uint32_t number(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t bytes(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint32_t fixed32(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed32);
}
constexpr std::uint32_t fixed64(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed64);
}

/// Whether `value` fits into `number`, which takes it.
template <class T>
bool narrow(std::int64_t value, T& number) {
  number = static_cast<T>(value);
  return number == value;
}

/// The fields of one debug annotation that an event of ours can carry.
struct Value {
  std::uint64_t name_iid = 0;
  std::int64_t number = 0;
  std::uint64_t string_iid = 0;
  std::vector<protozero::data_view> items;
};

/// Throws protozero::exception for a message that is broken.
Value value_of(protozero::data_view message);

}  // namespace perfetto

/// Values by the ids that a file gives them. Ids that are counted from 0 or 1, as most are, are found without hashing.
/// References hold until the next id is added. Memory is proportional to the number of ids.
template <class T>
class ById {
 public:
  const T* find(std::uint64_t id) const {
    if (id < small_.size() && small_[id]) return &*small_[id];
    const auto found = large_.find(id);
    return found == large_.end() ? nullptr : &found->second;
  }

  T& operator[](std::uint64_t id) {
    if (id < small_.size() && small_[id]) return *small_[id];
    if (const auto found = large_.find(id); found != large_.end()) return found->second;
    if (id >= kFirstSlots + kSlotsPerId * ++num_ids_) return large_[id];
    if (id >= small_.size()) small_.resize(static_cast<std::size_t>(id) + 1);
    return small_[id].emplace();
  }

 private:
  static constexpr std::uint64_t kFirstSlots = 16;
  static constexpr std::uint64_t kSlotsPerId = 4;

  std::vector<std::optional<T>> small_;
  std::unordered_map<std::uint64_t, T> large_;
  std::uint64_t num_ids_ = 0;
};

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
