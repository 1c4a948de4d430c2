// SPDX-License-Identifier: Apache-2.0
// The attributes of a slice: its categories and debug annotations.
#include <array>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "profiler/formats/perfetto/encoder.hpp"
#include "profiler/formats/perfetto/fields.hpp"

namespace underlap::formats {
namespace {

using namespace perfetto;
using protozero::pbf_writer;

std::uint64_t iid_of(Annotation name) { return 1 + static_cast<std::uint64_t>(name); }

template <class Enum>
NameId word(Enum value) {
  return intern(to_string(value));
}

}  // namespace

void PerfettoEncoder::annotate(Annotation name, std::int64_t value) {
  pbf_writer event(event_);
  pbf_writer entry(event, event::kAnnotations);
  entry.add_uint64(annotation::kNameIid, iid_of(name));
  entry.add_int64(annotation::kInt, value);
}

void PerfettoEncoder::annotate_word(Annotation name, NameId text) {
  const std::uint64_t iid = string_iid(text);
  pbf_writer event(event_);
  pbf_writer entry(event, event::kAnnotations);
  entry.add_uint64(annotation::kNameIid, iid_of(name));
  entry.add_uint64(annotation::kStringIid, iid);
}

void PerfettoEncoder::write_tag(const Slice& slice) {
  const Tag& tag = slice.tag;
  pbf_writer event(event_);
  event.add_uint64(event::kCategoryIids, category_iid(tag.kind));
  if (tag.mode != Mode::none) event.add_uint64(event::kCategoryIids, category_iid(tag.mode));
  if (tag.mode != Mode::none) annotate_word(Annotation::mode, word(tag.mode));
  if (tag.purpose != kNoName) annotate_word(Annotation::purpose, tag.purpose);
  if (tag.direction != Direction::none) annotate_word(Annotation::direction, word(tag.direction));
  const std::array<std::pair<Annotation, std::int32_t>, 5> numbers{{{Annotation::layer, tag.layer},
                                                                    {Annotation::microbatch, tag.microbatch},
                                                                    {Annotation::bucket, tag.bucket},
                                                                    {Annotation::model_chunk, tag.chunk},
                                                                    {Annotation::step, tag.step}}};
  for (const auto& [name, number] : numbers)
    if (number != -1) annotate(name, number);
  if (slice.operation != 0) annotate(Annotation::operation, slice.operation);
}

// Of a mode that is not known nothing is sure either.
void PerfettoEncoder::write_attribution(const Attribution& attribution) {
  if (attribution.source != AttributionSource::tag) annotate_word(Annotation::mode_source, word(attribution.source));
  const std::uint8_t usual_pct = attribution.source == AttributionSource::none ? 0 : 100;
  if (attribution.confidence_pct != usual_pct) annotate(Annotation::confidence_pct, attribution.confidence_pct);
  if (attribution.reason != kNoName) annotate_word(Annotation::reason, attribution.reason);
}

void PerfettoEncoder::write_shape(const LaunchShape& shape) {
  const auto annotate_numbers = [&](Annotation name, const std::array<std::uint32_t, 3>& numbers) {
    if (numbers == std::array<std::uint32_t, 3>{}) return;
    pbf_writer event(event_);
    pbf_writer list(event, event::kAnnotations);
    list.add_uint64(annotation::kNameIid, iid_of(name));
    for (const std::uint32_t number : numbers) {
      pbf_writer item(list, annotation::kArrayValues);
      item.add_int64(annotation::kInt, number);
    }
  };
  annotate_numbers(Annotation::grid, shape.grid);
  annotate_numbers(Annotation::threads, shape.block);
  if (shape.bytes != 0) annotate(Annotation::bytes, shape.bytes);
}

void PerfettoEncoder::write_communication(const CommunicationRecord& record) {
  annotate(Annotation::group, static_cast<std::int64_t>(group_ids_[record.group]));
  if (group_members_[record.group] != kNoName) annotate_word(Annotation::members, group_members_[record.group]);
  annotate(Annotation::sequence, static_cast<std::int64_t>(record.sequence));
  if (record.last_arrival_ns != -1) annotate(Annotation::last_arrival_ns, record.last_arrival_ns);
  if (record.cpu_ns != -1) annotate(Annotation::cpu_ns, record.cpu_ns);
  if (record.is_part) annotate(Annotation::is_part, 1);
  if (!record.transfers.empty()) write_transfers(record.transfers);
}

void PerfettoEncoder::write_transfers(const std::vector<TransferRecord>& transfers) {
  pbf_writer event(event_);
  pbf_writer list(event, event::kAnnotations);
  list.add_uint64(annotation::kNameIid, iid_of(Annotation::transfers));
  for (const TransferRecord& transfer : transfers) {
    pbf_writer item(list, annotation::kArrayValues);
    const auto add = [&](Annotation name, std::uint32_t field, std::int64_t value) {
      pbf_writer entry(item, annotation::kDictEntries);
      entry.add_uint64(annotation::kNameIid, iid_of(name));
      entry.add_int64(field, value);
    };
    const auto iid = [&](NameId text) { return static_cast<std::int64_t>(string_iid(text)); };
    add(Annotation::collective, annotation::kStringIid, iid(word(transfer.collective)));
    add(Annotation::dtype, annotation::kStringIid, iid(word(transfer.dtype)));
    add(Annotation::peer, annotation::kInt, transfer.peer);
    add(Annotation::bytes, annotation::kInt, transfer.bytes);
    add(Annotation::bytes_on_wire, annotation::kInt, transfer.bytes_on_wire);
  }
}

}  // namespace underlap::formats
