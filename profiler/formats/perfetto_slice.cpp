// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto_slice.hpp"

#include <cstddef>
#include <string_view>

namespace underlap::formats {
namespace {

using perfetto::Annotation;
using perfetto::Value;

const std::string& text_of(const PerfettoSequence::Words& words, std::uint64_t iid) {
  static const std::string kNone;
  const auto found = words.find(iid);
  return found == words.end() ? kNone : found->second.text;
}

NameId id_of(const PerfettoSequence::Words& words, std::uint64_t iid) {
  const auto found = words.find(iid);
  return found == words.end() ? kNoName : found->second.id;
}

}  // namespace

NameId PerfettoSequence::name(std::uint64_t iid) const { return id_of(names, iid); }
NameId PerfettoSequence::string(std::uint64_t iid) const { return id_of(strings, iid); }

void PerfettoSlice::add_category(std::uint64_t iid) {
  const std::string& text = text_of(sequence_.categories, iid);
  if (const auto kind = kind_from(text))
    slice.tag.kind = *kind;
  else if (!mode_from(text))
    fault = "slice of an unknown category";
}

void PerfettoSlice::add(const Value& value) {
  const auto name = sequence_.annotations.find(value.name_iid);
  if (name == sequence_.annotations.end()) return;
  if (name->second <= Annotation::step || name->second == Annotation::chunk) return add_to_tag(name->second, value);
  switch (name->second) {
    case Annotation::operation: set_number(slice.operation, value.number); break;
    case Annotation::mode_source: set(slice.attribution.source, attribution_source_from(word(value))); break;
    case Annotation::confidence_pct: set_number(confidence_pct_.emplace(), value.number); break;
    case Annotation::reason: slice.attribution.reason = sequence_.string(value.string_iid); break;
    case Annotation::grid: set_numbers(slice.shape.grid, value); break;
    case Annotation::threads: set_numbers(slice.shape.block, value); break;
    case Annotation::bytes: slice.shape.bytes = value.number; break;
    default: add_to_communication(name->second, value);
  }
}

void PerfettoSlice::add_to_tag(Annotation name, const Value& value) {
  Tag& tag = slice.tag;
  switch (name) {
    case Annotation::mode: set(tag.mode, mode_from(word(value))); break;
    case Annotation::purpose: tag.purpose = sequence_.string(value.string_iid); break;
    case Annotation::direction: set(tag.direction, direction_from(word(value))); break;
    case Annotation::layer: set_number(tag.layer, value.number); break;
    case Annotation::microbatch: set_number(tag.microbatch, value.number); break;
    case Annotation::bucket: set_number(tag.bucket, value.number); break;
    case Annotation::model_chunk: set_number(tag.chunk, value.number); break;
    case Annotation::chunk: set_number(bucket_or_chunk_.emplace(), value.number); break;
    case Annotation::step: set_number(tag.step, value.number); break;
    default: break;
  }
}

void PerfettoSlice::add_to_communication(Annotation name, const Value& value) {
  switch (name) {
    case Annotation::group: set_group(static_cast<std::uint64_t>(value.number)); break;
    case Annotation::sequence: record().sequence = static_cast<std::uint64_t>(value.number); break;
    case Annotation::last_arrival_ns: record().last_arrival_ns = value.number; break;
    case Annotation::cpu_ns: record().cpu_ns = value.number; break;
    case Annotation::transfers: add_transfers(value); break;
    default: break;
  }
}

void PerfettoSlice::finish() {
  // Earlier traces have one number for both.
  if (bucket_or_chunk_) (slice.tag.mode == Mode::pp ? slice.tag.chunk : slice.tag.bucket) = *bucket_or_chunk_;
  const std::uint8_t usual_pct = slice.attribution.source == AttributionSource::none ? 0 : 100;
  slice.attribution.confidence_pct = confidence_pct_.value_or(usual_pct);
  if (communication && !has_group_) fault = "communication without a group";
}

const std::string& PerfettoSlice::word(const Value& value) const {
  return text_of(sequence_.strings, value.string_iid);
}

CommunicationRecord& PerfettoSlice::record() {
  if (!communication) communication.emplace();
  return *communication;
}

template <class T>
void PerfettoSlice::set(T& field, std::optional<T> value) {
  if (value)
    field = *value;
  else
    fault = "slice with an unknown word";
}

template <class T>
void PerfettoSlice::set_number(T& field, std::int64_t value) {
  if (!perfetto::narrow(value, field)) fault = "slice with a number out of range";
}

void PerfettoSlice::set_group(std::uint64_t id) {
  const auto group = sequence_.groups.find(id);
  if (group == sequence_.groups.end())
    fault = "communication of an unknown group";
  else
    record().group = group->second;
  has_group_ = true;
}

void PerfettoSlice::set_numbers(std::array<std::uint32_t, 3>& numbers, const Value& list) {
  for (std::size_t i = 0; i < numbers.size() && i < list.items.size(); ++i)
    set_number(numbers[i], perfetto::value_of(list.items[i]).number);
}

void PerfettoSlice::add_transfers(const Value& list) {
  for (const protozero::data_view item : list.items) {
    TransferRecord& transfer = record().transfers.emplace_back();
    for (const protozero::data_view entry : perfetto::value_of(item).items)
      add_to_transfer(perfetto::value_of(entry), transfer);
  }
}

void PerfettoSlice::add_to_transfer(const Value& value, TransferRecord& transfer) {
  const auto name = sequence_.annotations.find(value.name_iid);
  if (name == sequence_.annotations.end()) return;
  switch (name->second) {
    case Annotation::collective: set(transfer.collective, collective_from(word(value))); break;
    case Annotation::dtype: set(transfer.dtype, data_type_from(word(value))); break;
    case Annotation::peer: set_number(transfer.peer, value.number); break;
    case Annotation::bytes: transfer.bytes = value.number; break;
    case Annotation::bytes_on_wire:
      transfer.bytes_on_wire = value.number;
      if (value.number < 0 || value.number > kMostBytes) fault = "slice with a number out of range";
      break;
    default: break;
  }
}

}  // namespace underlap::formats
