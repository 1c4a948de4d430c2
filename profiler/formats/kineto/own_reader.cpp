// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/own_reader.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "profiler/formats/json_object.hpp"
#include "profiler/formats/kineto/arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/kineto/strings.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::formats {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::uint32_t kSkipped = ~std::uint32_t{0};             // in the place of one that was skipped
constexpr std::int64_t kMostBytesOnWire = std::int64_t{1} << 50;  // sums over a trace still fit

// Why an event cannot be used, although it is JSON.
struct Fault {
  const char* reason;
};

template <class T>
T known(std::optional<T> word) {
  if (!word) throw Fault{"event with an unknown value"};
  return *word;
}

std::string_view text_of(ondemand::value value) { return std::string_view(value.get_string()); }

NameId name_of_exact(ondemand::value value) {
  if (value.type() == ondemand::json_type::string) return intern(text_of(value));
  try {
    return intern(bytes_of_hex(std::string_view(value.get_object()["hex"].get_string())));
  } catch (const std::out_of_range&) {
    throw Fault{"event with an unknown value"};
  }
}

std::int64_t integer(ondemand::value value) {
  if (const auto number = integer_of(token_of(value))) return *number;
  throw Fault{"event with a value of the wrong type"};
}

template <class T>
T number_of(ondemand::value value) {
  const std::int64_t wide = integer(value);
  if (!std::in_range<T>(wide)) throw Fault{"event with a number out of range"};
  return static_cast<T>(wide);
}

// {"collective": "all_reduce", "dtype": "f32", "peer": -1, "bytes": 4096, "bytes_on_wire": 4096}
TransferRecord transfer_of(ondemand::value value) {
  TransferRecord transfer;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = field.unescaped_key();
    if (key == "collective")
      transfer.collective = known(collective_from(text_of(field.value())));
    else if (key == "dtype")
      transfer.dtype = known(data_type_from(text_of(field.value())));
    else if (key == "peer")
      transfer.peer = number_of<std::int32_t>(field.value());
    else if (key == "bytes")
      transfer.bytes = integer(field.value());
    else if (key == "bytes_on_wire")
      transfer.bytes_on_wire = integer(field.value());
  }
  if (transfer.bytes_on_wire < 0 || transfer.bytes_on_wire > kMostBytesOnWire)
    throw Fault{"event with a number out of range"};
  return transfer;
}

// [8, 1, 1, 544, 1, 1, 0]: grid, block, bytes
void set_shape(LaunchShape& shape, ondemand::value list) {
  std::array<std::int64_t, 7> numbers{};
  std::size_t count = 0;
  for (ondemand::value number : list.get_array())
    if (count < numbers.size()) numbers.at(count++) = integer(number);
  const auto small = [&](std::size_t i) {
    if (!std::in_range<std::uint32_t>(numbers.at(i))) throw Fault{"event with a number out of range"};
    return static_cast<std::uint32_t>(numbers.at(i));
  };
  shape = {.grid = {small(0), small(1), small(2)}, .block = {small(3), small(4), small(5)}, .bytes = numbers[6]};
}

bool add_to_tag(Tag& tag, std::string_view key, ondemand::value value) {
  for (const auto& [name, member] : kineto::kTagNumbers)
    if (key == name) return (tag.*member = number_of<std::int32_t>(value), true);
  if (key == "kind") return (tag.kind = known(kind_from(text_of(value))), true);
  if (key == "mode") return (tag.mode = known(mode_from(text_of(value))), true);
  if (key == "direction") return (tag.direction = known(direction_from(text_of(value))), true);
  if (key == "purpose") return (tag.purpose = name_of_exact(value), true);
  return false;
}

// The contents of one event.
struct Event {
  std::string_view phase, time, duration, name;
  std::int64_t tid = -1;
  double counter_value = 0;
  bool has_own = false;
  bool has_own_name = false;
  Slice slice;
  std::optional<CommunicationRecord> communication;
  std::vector<kineto::FlowFrom> flows;

  void take(ondemand::field& field) {
    const std::string_view key = field.unescaped_key();
    if (key == "ph")
      phase = token_text(field.value());
    else if (key == "ts")
      time = token_text(field.value());
    else if (key == "dur")
      duration = token_text(field.value());
    else if (key == "name")
      name = token_text(field.value());
    else if (key == "tid")
      tid = integer_of(token_of(field.value())).value_or(-1);
    else if (key == "args")
      take_arguments(field.value());
  }

  void take_arguments(ondemand::value arguments) {
    for (ondemand::field field : arguments.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == kineto::kOwnKey) {
        has_own = true;
        for (ondemand::field own : field.value().get_object()) take_own(own);
      } else if (key == "value") {
        counter_value = std::strtod(std::string(token_text(field.value())).c_str(), nullptr);
      }
    }
  }

  // {"track": 1, "kind": "communication", "mode": "dp", "bucket": 0, "step": 3, "operation": 12, "group": 0,
  //  "sequence": 4, "transfers": [{...}], "flows": [{"kind": "launch", "from": 7}]}
  void take_own(ondemand::field& field) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (key == "track")
      slice.track = number_of<std::uint32_t>(value);
    else if (key == "name")
      slice.name = name_of_exact(value), has_own_name = true;
    else if (key == "operation")
      slice.operation = number_of<std::uint32_t>(value);
    else if (key == "source")
      slice.attribution.source = known(attribution_source_from(text_of(value)));
    else if (key == "confidence_pct")
      slice.attribution.confidence_pct = number_of<std::uint8_t>(value);
    else if (key == "reason")
      slice.attribution.reason = name_of_exact(value);
    else if (key == "shape")
      set_shape(slice.shape, value);
    else if (key == "flows")
      take_flows(value);
    else if (!add_to_tag(slice.tag, key, value))
      take_of_communication(key, value);
  }

  void take_flows(ondemand::value list) {
    for (ondemand::value item : list.get_array()) {
      ondemand::object flow = item.get_object();
      const FlowKind kind = known(flow_kind_from(text_of(flow["kind"].value())));
      flows.emplace_back(kind, number_of<std::uint32_t>(flow["from"].value()));
    }
  }

  void take_of_communication(std::string_view key, ondemand::value value) {
    if (!communication) communication.emplace();
    CommunicationRecord& record = *communication;
    if (key == "group")
      record.group = number_of<std::uint32_t>(value);
    else if (key == "sequence")
      record.sequence = std::uint64_t(value.get_uint64());
    else if (key == "last_arrival_ns")
      record.last_arrival_ns = integer(value);
    else if (key == "cpu_ns")
      record.cpu_ns = integer(value);
    else if (key == "is_part")
      record.is_part = integer(value) != 0;
    else if (key == "transfers")
      for (ondemand::value transfer : value.get_array()) record.transfers.push_back(transfer_of(transfer));
    else
      throw Fault{"event with an unknown value"};
  }
};

bool is_of_one_event(simdjson::error_code error) {
  return error == simdjson::INCORRECT_TYPE || error == simdjson::NO_SUCH_FIELD || error == simdjson::NUMBER_ERROR ||
         error == simdjson::NUMBER_OUT_OF_RANGE;
}

class OwnEvents {
 public:
  OwnEvents(kineto::OwnHeader header, std::int64_t base_ns)
      : trace_(std::move(header.trace)), base_ns_(base_ns), clock_offset_ns_(header.clock_offset_ns) {}

  // Each event has a line of its own: where a piece is no JSON, its lines are read by themselves.
  void add(std::string_view piece) {
    std::size_t num_read = 0;
    if (add_array(piece, num_read)) return;
    for (std::size_t line = 0; !piece.empty(); ++line) {
      const std::size_t end = std::min(piece.find('\n'), piece.size());
      const std::string_view event = without_separators(piece.substr(0, end));
      piece.remove_prefix(std::min(end + 1, piece.size()));
      if (event.empty()) continue;
      if (num_read > 0)
        --num_read;
      else if (std::size_t none = 0; !add_array(event, none))
        lose(event);
    }
  }

  void skip(std::string_view reason) { ++trace_.import.skipped[std::string(reason)]; }
  const Trace& trace() const { return trace_; }

  // Flows name slices of the file, also later ones.
  Trace finish() {
    for (const auto& [from, to, kind] : flows_) {
      if (from >= places_.size() || places_[from] == kSkipped)
        skip("flow of an unusable slice");
      else
        trace_.flows.push_back({places_[from], to, kind});
    }
    return std::move(trace_);
  }

 private:
  static std::string_view without_separators(std::string_view text) {
    constexpr std::string_view kAround = " \t\r\n,";
    text.remove_prefix(std::min(text.find_first_not_of(kAround), text.size()));
    text.remove_suffix(text.size() - (text.find_last_not_of(kAround) + 1));
    return text;
  }

  void lose(std::string_view event) {
    if (event.find(kineto::kOwnKey) != std::string_view::npos) places_.push_back(kSkipped);
    skip("event that is not a JSON object");
  }

  // Whether all of it could be read; `num_read` counts the events that could.
  bool add_array(std::string_view events, std::size_t& num_read) {
    text_.assign(1, '[');
    text_ += without_separators(events);
    text_ += ']';
    const std::size_t length = text_.size();
    text_.append(simdjson::SIMDJSON_PADDING, ' ');
    try {
      ondemand::document document = parser_.iterate(simdjson::padded_string_view(text_.data(), length, text_.size()));
      for (ondemand::object event : document.get_array()) {
        add(event);
        ++num_read;
      }
      return true;
    } catch (const simdjson::simdjson_error&) {
      return false;
    }
  }

  void add(ondemand::object& object) {
    event_ = {};
    const std::size_t place = places_.size();
    try {
      for (ondemand::field field : object) event_.take(field);
      if (event_.phase == "C")
        add_counter();
      else if (event_.phase == "X" && event_.has_own)
        add_slice();
    } catch (const Fault& fault) {
      lose_slice(place, fault.reason);
    } catch (const simdjson::simdjson_error& error) {
      if (!is_of_one_event(error.error())) throw;
      lose_slice(place, "event with a value of the wrong type");
    }
  }

  void lose_slice(std::size_t place, const char* reason) {
    if (event_.has_own && places_.size() == place) places_.push_back(kSkipped);
    skip(reason);
  }

  static std::int64_t nanoseconds(std::string_view microseconds) {
    const auto ns = nanoseconds_of_microseconds(microseconds);
    if (!ns || !is_time(*ns)) throw Fault{"invalid or overflowing time"};
    return *ns;
  }

  std::int64_t start_ns() const {
    std::int64_t time = nanoseconds(event_.time);
    if (__builtin_add_overflow(time, base_ns_, &time) || __builtin_sub_overflow(time, clock_offset_ns_, &time) ||
        !is_time(time))
      throw Fault{"invalid or overflowing time"};
    return time;
  }

  void add_counter() {
    const std::int64_t track = event_.tid;
    if (track < 0 || static_cast<std::size_t>(track) >= trace_.tracks.size()) throw Fault{"event on an unknown track"};
    trace_.counters.push_back({static_cast<std::uint32_t>(track), start_ns(), event_.counter_value});
    ++trace_.import.events;
  }

  void add_slice() {
    Slice& slice = event_.slice;
    slice.start_ns = start_ns();
    slice.duration_ns = nanoseconds(event_.duration);
    if (!event_.has_own_name) slice.name = names_.id_of(event_.name);
    if (slice.duration_ns < 0) throw Fault{"negative duration"};
    if (!is_time(slice.start_ns + slice.duration_ns)) throw Fault{"invalid or overflowing time"};
    if (slice.track >= trace_.tracks.size()) throw Fault{"event on an unknown track"};
    if (event_.communication && event_.communication->group >= trace_.groups.size())
      throw Fault{"communication in an unknown group"};
    places_.push_back(static_cast<std::uint32_t>(trace_.size()));
    for (const auto& [kind, from] : event_.flows) flows_.push_back({from, places_.back(), kind});
    if (event_.communication)
      trace_.add(slice, std::move(*event_.communication));
    else
      trace_.add(slice);
    ++trace_.import.events;
  }

  struct FlowTo {
    std::uint32_t from = 0;  ///< in the file
    std::uint32_t to = 0;    ///< in the trace
    FlowKind kind = FlowKind::launch;
  };

  Trace trace_;
  std::int64_t base_ns_;
  std::int64_t clock_offset_ns_;
  ondemand::parser parser_;
  std::string text_;
  KinetoNames names_;
  Event event_;
  std::vector<std::uint32_t> places_;  ///< by slice of the file: its place in the trace
  std::vector<FlowTo> flows_;
};

}  // namespace

Trace read_own_events(KinetoSplitter& splitter, kineto::OwnHeader header, std::int64_t base_ns,
                      const std::string& origin, Reading& reading, std::int64_t free_memory) {
  constexpr std::int64_t kSliceBytes = 100;
  OwnEvents events(std::move(header), base_ns);
  for (auto found = splitter.next(); found != KinetoSplitter::Found::end; found = splitter.next()) {
    if (found != KinetoSplitter::Found::events) continue;
    KinetoBatch batch = splitter.take_batch();
    events.add(batch.text());
    splitter.recycle(std::move(batch.buffer));
    reading.show(events.trace());
    if (static_cast<std::int64_t>(events.trace().size()) > free_memory / kSliceBytes)
      throw std::invalid_argument(origin +
                                  ": its trace needs more memory than is free; read it on a machine with more");
  }
  if (!splitter.fault().empty()) events.skip(splitter.fault());
  return events.finish();
}

}  // namespace underlap::formats
