// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/slice.hpp"

#include <protozero/pbf_reader.hpp>

namespace underlap::formats {
namespace {

using perfetto::Annotation;
using perfetto::Value;

const PerfettoWord& word_of(const ById<PerfettoWord>& words, std::uint64_t iid) {
  static const PerfettoWord kNone;
  const PerfettoWord* const found = words.find(iid);
  return found ? *found : kNone;
}

}  // namespace

// {name_iid: 5, int_value: 12}, {name_iid: 2, string_value_iid: 9}, {name_iid: 25, array_values: [{int_value: 8}]}
perfetto::Value perfetto::value_of(protozero::data_view message) {
  Value value;
  protozero::pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(annotation::kNameIid): value.name_iid = reader.get_uint64(); break;
      case number(annotation::kInt): value.number = reader.get_int64(); break;
      case number(annotation::kStringIid): value.string_iid = reader.get_uint64(); break;
      case bytes(annotation::kArrayValues):
      case bytes(annotation::kDictEntries): value.items.push_back(reader.get_view()); break;
      default: reader.skip();
    }
  return value;
}

PerfettoWord::PerfettoWord(std::string_view text)
    : id(intern(text)),
      kind(kind_from(text)),
      mode(mode_from(text)),
      direction(direction_from(text)),
      source(attribution_source_from(text)),
      collective(collective_from(text)),
      dtype(data_type_from(text)) {}

NameId PerfettoSequence::name(std::uint64_t iid) const {
  const NameId* const found = names.find(iid);
  return found ? *found : kNoName;
}
NameId PerfettoSequence::string(std::uint64_t iid) const { return word_of(strings, iid).id; }

void PerfettoSlice::add_category(std::uint64_t iid) {
  const PerfettoWord& category = word_of(sequence_.categories, iid);
  if (category.kind)
    slice.tag.kind = *category.kind;
  else if (!category.mode)
    fault = "slice of an unknown category";
}

void PerfettoSlice::add(const Value& value) {
  const Annotation* const name = sequence_.annotations.find(value.name_iid);
  if (!name) return;
  if (*name <= Annotation::step || *name == Annotation::chunk) return add_to_tag(*name, value);
  switch (*name) {
    case Annotation::operation: set_number(slice.operation, value.number); break;
    case Annotation::mode_source: set(slice.attribution.source, word(value).source); break;
    case Annotation::confidence_pct: set_number(confidence_pct_.emplace(), value.number); break;
    case Annotation::reason: slice.attribution.reason = sequence_.string(value.string_iid); break;
    case Annotation::grid: set_numbers(slice.shape.grid, value); break;
    case Annotation::threads: set_numbers(slice.shape.block, value); break;
    case Annotation::bytes: slice.shape.bytes = value.number; break;
    default: add_to_communication(*name, value);
  }
}

void PerfettoSlice::add_to_tag(Annotation name, const Value& value) {
  Tag& tag = slice.tag;
  switch (name) {
    case Annotation::mode: set(tag.mode, word(value).mode); break;
    case Annotation::purpose: tag.purpose = sequence_.string(value.string_iid); break;
    case Annotation::direction: set(tag.direction, word(value).direction); break;
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
    case Annotation::is_part: record().is_part = value.number != 0; break;
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

const PerfettoWord& PerfettoSlice::word(const Value& value) const {
  return word_of(sequence_.strings, value.string_iid);
}

CommunicationRecord& PerfettoSlice::record() {
  if (!communication) communication.emplace();
  return *communication;
}

template <class T>
void PerfettoSlice::set(T& field, const std::optional<T>& value) {
  if (value)
    field = *value;
  else
    fault = "slice with an unknown value";
}

template <class T>
void PerfettoSlice::set_number(T& field, std::int64_t value) {
  if (!perfetto::narrow(value, field)) fault = "slice with a number out of range";
}

void PerfettoSlice::set_group(std::uint64_t id) {
  if (const std::uint32_t* const group = sequence_.groups.find(id))
    record().group = *group;
  else
    fault = "communication in an unknown group";
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
  const Annotation* const name = sequence_.annotations.find(value.name_iid);
  if (!name) return;
  switch (*name) {
    case Annotation::collective: set(transfer.collective, word(value).collective); break;
    case Annotation::dtype: set(transfer.dtype, word(value).dtype); break;
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
