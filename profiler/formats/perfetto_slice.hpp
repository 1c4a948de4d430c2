// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <protozero/data_view.hpp>
#include <string>
#include <unordered_map>

#include "profiler/formats/perfetto_fields.hpp"
#include "profiler/formats/perfetto_values.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// What interning ids of one packet sequence mean.
struct PerfettoSequence {
  struct Word {
    NameId id = kNoName;
    std::string text;
  };
  using Words = std::unordered_map<std::uint64_t, Word>;

  bool valid = false;
  Words categories, names, strings;
  std::unordered_map<std::uint64_t, perfetto::Annotation> annotations;
  std::unordered_map<std::uint64_t, std::uint32_t> groups;  ///< id -> index into Trace::groups

  NameId name(std::uint64_t iid) const;
  NameId string(std::uint64_t iid) const;
};

/// What one transfer can put on a wire: sums over a trace still fit.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

/// One slice as its begin event tells it.
class PerfettoSlice {
 public:
  explicit PerfettoSlice(const PerfettoSequence& sequence) : sequence_(sequence) {}

  void add_category(std::uint64_t iid);
  void add(const perfetto::Value&);
  /// Call when all is added.
  void finish();

  Slice slice;
  std::optional<CommunicationRecord> communication;
  std::string fault;  ///< why the slice cannot be used; empty where it can

 private:
  const std::string& word(const perfetto::Value&) const;
  CommunicationRecord& record();
  template <class T>
  void set(T& field, std::optional<T> value);
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
