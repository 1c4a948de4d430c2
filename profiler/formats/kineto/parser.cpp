// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/parser.hpp"

#include <simdjson.h>

#include <new>
#include <utility>

#include "profiler/formats/kineto/arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/kineto/json_brackets.hpp"
#include "profiler/formats/kineto/strings.hpp"

namespace underlap::formats {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kSeparators = " \t\r\n,";

// The members of an event, as they are written; "" for a missing one.
struct EventFields {
  std::string_view phase, category, name, pid, tid, time, duration, id;
};

std::optional<FlowKind> flow_kind_of(std::string_view category) {
  for (const std::string_view launch : {"ac2g", "async_cpu_to_gpu", "async_gpu", "HostToDevice"})
    if (category == launch) return FlowKind::launch;
  return flow_kind_from(category);
}

bool is_lower_case_of(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((text[i] | 0x20) != (lower[i] | 0x20)) return false;
  return true;
}

// Files of before 2022 begin categories with a capital and call them otherwise.
KinetoCategory category_of(std::string_view text) {
  using enum KinetoCategory;
  static constexpr std::array<std::pair<std::string_view, KinetoCategory>, 17> kCategories{
      {{"cpu_op", host},
       {"cuda_runtime", call},
       {"kernel", kernel},
       {"python_function", host},
       {"cuda_driver", call},
       {"gpu_memcpy", copy},
       {"gpu_memset", copy},
       {"user_annotation", annotation},
       {"gpu_user_annotation", gpu_annotation},
       {"cuda_sync", sync},
       {"operator", host},
       {"runtime", call},
       {"memcpy", copy},
       {"memset", copy},
       {"hip_runtime", call},
       {"xpu_runtime", call},
       {"trace", profiler}}};
  for (const auto& [name, category] : kCategories)
    if (is_lower_case_of(text, name)) return category;
  return host;
}

}  // namespace

class KinetoParser::State {
 public:
  State(KinetoLanes& lanes, bool reads_foreign)
      : lanes_(lanes), reads_foreign_(reads_foreign), arguments_(names_, reads_foreign ? &foreign_ : nullptr) {}

  void parse(KinetoBatch& batch, KinetoEvents& into) {
    into.clear();
    while (batch.begin < batch.end && is_separator(batch.buffer[batch.begin])) ++batch.begin;
    while (batch.begin < batch.end && is_separator(batch.buffer[batch.end - 1])) --batch.end;
    if (batch.begin == batch.end) return;
    try {
      read_array(batch, into);
    } catch (const simdjson::simdjson_error&) {
      into.clear();
      read_one_by_one(batch, into);
    }
  }

 private:
  static bool is_separator(char c) { return kSeparators.find(c) != std::string_view::npos; }

  void read_array(KinetoBatch& batch, KinetoEvents& into) {
    batch.buffer[batch.begin - 1] = '[';
    batch.buffer[batch.end] = ']';
    const std::size_t length = batch.end - batch.begin + 2;
    const char* const text = batch.buffer.data() + batch.begin - 1;
    ondemand::document document = iterate(text, length, batch.buffer.size() - batch.begin + 1);
    for (ondemand::object event : document.get_array()) add(event, into);
  }

  ondemand::document iterate(const char* text, std::size_t length, std::size_t capacity) {
    auto result = parser_.iterate(simdjson::padded_string_view(text, length, capacity));
    if (result.error() == simdjson::MEMALLOC) throw std::bad_alloc();
    return std::move(result).value();
  }

  void read_one_by_one(const KinetoBatch& batch, KinetoEvents& into) {
    const std::string_view text = batch.text();
    JsonBrackets brackets;
    std::size_t depth = 0, begin = 0, last_end = 0;
    const auto skip_between = [&](std::size_t end) {
      if (text.substr(last_end, end - last_end).find_first_not_of(kSeparators) == std::string_view::npos) return;
      ++into.events;
      ++into.skipped["event that is not a JSON object"];
    };
    brackets.scan(
        text,
        [&](std::size_t at) {
          if (depth++ == 0) begin = at;
        },
        [&](std::size_t at) {
          if (depth == 0) return false;
          if (--depth > 0) return true;
          skip_between(begin);
          last_end = at + 1;
          read_alone(text.substr(begin, last_end - begin), into);
          return true;
        });
    skip_between(text.size());
  }

  // Two events whose quotes do not pair make one of all between them.
  void read_alone(std::string_view event, KinetoEvents& into) {
    if (try_alone(event, into)) return;
    std::size_t begin = 0;
    for (std::size_t at = event.find('{', 1); at != std::string_view::npos; at = event.find('{', at + 1)) {
      if (!begins_kineto_event(event, at)) continue;
      try_or_count(event.substr(begin, event.rfind('}', at) + 1 - begin), into);
      begin = at;
    }
    try_or_count(event.substr(begin), into);
  }

  void try_or_count(std::string_view event, KinetoEvents& into) {
    if (try_alone(event, into) || try_alone(mended_json(event), into)) return;
    ++into.events;
    ++into.skipped["event that is not a JSON object"];
  }

  bool try_alone(std::string_view event, KinetoEvents& into) {
    alone_.assign(event);
    alone_.append(simdjson::SIMDJSON_PADDING, ' ');
    try {
      ondemand::document document = iterate(alone_.data(), event.size(), alone_.size());
      ondemand::object object = document.get_object();
      add(object, into);
      return true;
    } catch (const simdjson::simdjson_error&) {
      return false;
    }
  }

  // {"ph": "X", "cat": "kernel", "name": "...", "pid": 0, "tid": 7, "ts": 4458676983543.183, "dur": 41.407, "args": {}}
  void add(ondemand::object& event, KinetoEvents& into) {
    EventFields fields;
    arguments_.clear();
    for (ondemand::field field : event) take(field, fields);
    ++into.events;
    if (const std::string_view fault = add_row(fields, into); !fault.empty()) ++into.skipped[fault];
  }

  void take(ondemand::field& field, EventFields& fields) {
    const char* const key = field.key().raw();
    switch (key[0]) {
      case 'p':
        if (is_key(key, "ph"))
          fields.phase = token_text(field.value());
        else if (is_key(key, "pid"))
          fields.pid = token_of(field.value());
        break;
      case 'c':
        if (is_key(key, "cat")) fields.category = token_text(field.value());
        break;
      case 'n':
        if (is_key(key, "name")) fields.name = token_text(field.value());
        break;
      case 't':
        if (is_key(key, "tid"))
          fields.tid = token_of(field.value());
        else if (is_key(key, "ts"))
          fields.time = token_text(field.value());
        break;
      case 'd':
        if (is_key(key, "dur")) fields.duration = token_text(field.value());
        break;
      case 'i':
        if (is_key(key, "id")) fields.id = token_text(field.value());
        break;
      case 'a':
        if (is_key(key, "args") && needs_arguments(fields))
          arguments_.read(field.value(), fields.phase.empty() || fields.phase == "C");
        break;
      default: break;
    }
  }

  // Arguments of most events of the host are not used, and are most of the text. Where it is not known yet what the
  // event is, they may be.
  static bool needs_arguments(const EventFields& fields) {
    if (fields.phase == "s" || fields.phase == "f") return false;
    if (fields.phase != "X" || fields.category.empty() || fields.name.empty()) return true;
    const KinetoCategory category = category_of(fields.category);
    if (category == KinetoCategory::call) return true;
    return is_of_device(category) || fields.name == kRecordParamComms || fields.name.starts_with(kProcessGroupRange) ||
           fields.name.starts_with(kGlooRange);
  }

  // XLA ends the list with {}.
  static bool is_empty(const EventFields& fields) {
    return fields.phase.empty() && fields.name.empty() && fields.pid.empty() && fields.time.empty();
  }

  // Returns why the event cannot be used; "" where it can, or need not be.
  std::string_view add_row(const EventFields& fields, KinetoEvents& into) {
    if (reads_foreign_ && is_empty(fields)) return {};
    if (fields.phase.size() != 1) return "event without a phase";
    KinetoRow row{.category = category_of(fields.category), .phase = fields.phase[0]};
    switch (row.phase) {
      case 'i':
      case 'I':
      case 'R': return {};
      case 'M': return add_metadata(fields, row, into);
      case 's':
      case 'f':
      case 't': return add_flow(fields, row, into);
      case 'X':
      case 'B':
      case 'E':
      case 'C': break;
      default: return "event of an unsupported phase";
    }
    if (const std::string_view fault = read_times(fields, row); !fault.empty()) return fault;
    if (row.phase == 'C') return add_counters(fields, row, into);
    return add_slice(fields, row, into);
  }

  static std::string_view read_times(const EventFields& fields, KinetoRow& row) {
    if (fields.time.empty()) return "event without a time";
    const auto time = nanoseconds_of_microseconds(fields.time);
    if (!time || *time > kMostTimeNs || *time < -kMostTimeNs) return "invalid or overflowing time";
    row.time_ns = *time;
    if (fields.duration.empty()) return {};
    const auto duration = nanoseconds_of_microseconds(fields.duration);
    row.duration_ns = duration.value_or(0);
    return duration_fault(duration, !is_of_device(row.category));
  }

  // {"ph": "M", "name": "thread_name", "ts": 4458676416431.397, "pid": 0, "tid": 7, "args": {"name": "stream 7 "}}
  std::string_view add_metadata(const EventFields& fields, KinetoRow row, KinetoEvents& into) {
    const auto label = kineto_label_from(fields.name);
    if (!label || arguments_.name().empty()) return {};
    row.name = names_.id_of(arguments_.name());
    row.extra = static_cast<std::uint32_t>(*label);
    row.lane = lane_of(fields, KinetoCategory::host);
    into.rows.push_back(row);
    return {};
  }

  // {"ph": "s", "id": 57541, "pid": 2910249, "tid": 2919752, "ts": 4458676983526.767, "cat": "ac2g", "name": "ac2g"}
  std::string_view add_flow(const EventFields& fields, KinetoRow row, KinetoEvents& into) {
    const auto kind = flow_kind_of(fields.category);
    if (!kind || row.phase == 't') return {};
    if (const std::string_view fault = read_times(fields, row); !fault.empty()) return fault;
    row.id = integer_of(fields.id).value_or(-1);
    if (row.id < 0) return {};
    row.extra = static_cast<std::uint32_t>(*kind);
    row.lane = lane_of(fields, KinetoCategory::host);
    into.rows.push_back(row);
    return {};
  }

  // {"ph": "C", "name": "memory", "pid": 1, "ts": 2, "args": {"bytes": 1e3, "peak": 7}}: "memory bytes", "memory peak"
  std::string_view add_counters(const EventFields& fields, KinetoRow row, KinetoEvents& into) {
    row.lane = lane_of(fields, KinetoCategory::host);
    for (const auto& [name, value] : arguments_.values()) {
      row.name = names_.id_of(std::string(fields.name) + (arguments_.values().size() > 1 ? " " + name : ""));
      row.extra = static_cast<std::uint32_t>(into.values.size());
      into.values.push_back(value);
      into.rows.push_back(row);
    }
    return arguments_.values().empty() ? "counter without a value" : "";
  }

  std::string_view add_slice(const EventFields& fields, KinetoRow& row, KinetoEvents& into) {
    if (row.category == KinetoCategory::profiler) return {};
    row.name = names_.id_of(fields.name);
    row.lane = lane_of(fields, row.category);
    row.id = arguments_.correlation();
    row.is_range_of_collective = !is_of_device(row.category) && fields.name.starts_with(kProcessGroupRange);
    row.is_of_gloo = !is_of_device(row.category) && fields.name.starts_with(kGlooRange);
    if (row.is_range_of_collective || row.is_of_gloo) arguments_.name_collective(fields.name);
    row.has_collective = arguments_.has_collective();
    if (is_of_device(row.category)) {
      row.extra = static_cast<std::uint32_t>(into.work.size());
      into.work.push_back(arguments_.work());
      if (row.has_collective) into.work.back().collective = static_cast<std::uint32_t>(into.collectives.size());
    } else if (row.has_collective) {
      row.extra = static_cast<std::uint32_t>(into.collectives.size());
      row.id = arguments_.work().external_id;
    }
    if (row.has_collective) into.collectives.push_back(arguments_.collective());
    if (reads_foreign_ && foreign_.has_any()) {
      row.foreign = static_cast<std::uint32_t>(into.foreign.size());
      into.foreign.push_back(foreign_.foreign());
    }
    into.rows.push_back(row);
    return {};
  }

  KinetoId id_of(std::string_view token) {
    if (const auto number = integer_of(unquoted(token))) return {.number = *number};
    return {.text = names_.id_of(unquoted(token).empty() ? "none" : unquoted(token))};
  }

  // Events come in runs of one thread and one stream.
  std::uint32_t lane_of(const EventFields& fields, KinetoCategory category) {
    LastLane& last = last_lanes_.at(static_cast<std::size_t>(category));
    if (last.known && last.pid == fields.pid && last.tid == fields.tid) return last.index;
    const KinetoLane lane{.pid = id_of(fields.pid), .tid = id_of(fields.tid), .category = category};
    auto [found, is_new] = known_lanes_.try_emplace(lane, 0);
    if (is_new) found->second = lanes_.index_of(lane);
    last = {.pid = std::string(fields.pid), .tid = std::string(fields.tid), .index = found->second, .known = true};
    return last.index;
  }

  struct LastLane {
    std::string pid, tid;
    std::uint32_t index = 0;
    bool known = false;
  };

  KinetoLanes& lanes_;
  bool reads_foreign_;
  ondemand::parser parser_;
  KinetoNames names_;
  KinetoForeignArguments foreign_{names_};
  KinetoArguments arguments_;
  std::map<KinetoLane, std::uint32_t> known_lanes_;
  std::array<LastLane, 8> last_lanes_;
  std::string alone_;
};

KinetoParser::KinetoParser(KinetoLanes& lanes, bool reads_foreign)
    : state_(std::make_unique<State>(lanes, reads_foreign)) {}
KinetoParser::~KinetoParser() = default;

void KinetoParser::parse(KinetoBatch& batch, KinetoEvents& into) { state_->parse(batch, into); }

}  // namespace underlap::formats
