// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_messages.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "bench/machine/machine.hpp"
#include "platform/cbor.hpp"
#include "platform/errors.hpp"
#include "profiler/formats/perfetto/encoder.hpp"
#include "profiler/formats/perfetto/reader.hpp"
#include "profiler/report/fields/field_values.hpp"

namespace underlap::bench {
namespace {

using Json = nlohmann::json;

}  // namespace

std::string encode(const StartOrder& order) {
  return to_cbor({{"rank", order.rank},
                  {"world_size", order.world_size},
                  {"cells", order.cells},
                  {"first_step", order.first_step},
                  {"address", order.surroundings.address},
                  {"local_rank", order.surroundings.local_rank},
                  {"sharing", order.surroundings.num_sharing},
                  {"launched", order.surroundings.is_launched},
                  {"yaml", order.source.yaml},
                  {"where", order.source.where},
                  {"overrides", order.source.overrides},
                  {"plans_hash", order.plans_hash}});
}

StartOrder decode_start(std::string_view payload) {
  const Json json = parse_cbor(payload);
  return {.rank = json.at("rank"),
          .world_size = json.at("world_size"),
          .cells = json.at("cells").get<std::vector<std::size_t>>(),
          .first_step = json.at("first_step"),
          .surroundings = {.address = json.at("address"),
                           .local_rank = json.at("local_rank"),
                           .num_sharing = json.at("sharing"),
                           .is_launched = json.at("launched")},
          .source = {json.at("yaml"), json.at("where"), json.at("overrides").get<std::vector<plan::Override>>()},
          .plans_hash = json.at("plans_hash")};
}

std::string encode(const CellOrder& order) {
  return to_cbor({{"cell", order.cell}, {"block", order.block}, {"steps", order.steps}});
}

CellOrder decode_cell_order(std::string_view payload) {
  const Json json = parse_cbor(payload);
  return {.cell = json.at("cell"), .block = json.at("block"), .steps = json.at("steps")};
}

std::string encode(const ClockOrder& order) {
  Json json = {{"offset_ns", nullptr}};
  if (order.offset_ns) json["offset_ns"] = *order.offset_ns;
  return to_cbor(json);
}

ClockOrder decode_clock_order(std::string_view payload) {
  const Json json = parse_cbor(payload);
  ClockOrder order;
  if (!json.at("offset_ns").is_null()) order.offset_ns = json.at("offset_ns").get<std::int64_t>();
  return order;
}

std::string encode(const RankReport& report) {
  const RankRun& run = report.run;
  Json json = {{"first_step", run.first_step},
               {"losses", run.losses},
               {"transfer_cpu_ns", nullptr},
               {"tensor_bytes", run.tensor_bytes},
               {"notes", run.notes},
               {"invalid_because", run.invalid_because},
               {"capture_faults", report::schema::values_of(run.capture_faults)},
               {"gpu_block", nullptr},
               {"gpu", run.gpu},
               {"figures", nullptr},
               {"open", nullptr}};
  if (run.transfer_cpu_ns) json["transfer_cpu_ns"] = *run.transfer_cpu_ns;
  if (run.gpu_block) json["gpu_block"] = report::schema::values_of(*run.gpu_block);
  if (report.figures)
    json["figures"] = report::encode(*report.figures);
  else
    json["open"] = encode(run.trace);
  return to_cbor(json);
}

RankReport decode_report(std::string_view payload, const std::string& origin) {
  const Json json = parse_cbor(payload);
  RankReport report;
  report.run.first_step = json.at("first_step");
  report.run.tensor_bytes = json.at("tensor_bytes").get<std::int64_t>();
  report.run.losses = json.at("losses").get<std::vector<double>>();
  report.run.notes = json.at("notes").get<std::vector<std::string>>();
  report.run.invalid_because = json.at("invalid_because").get<std::vector<std::string>>();
  report.run.gpu = json.at("gpu").get<std::string>();
  report::schema::take(json.at("capture_faults"), report.run.capture_faults);
  if (!json.at("gpu_block").is_null()) report::schema::take(json.at("gpu_block"), report.run.gpu_block.emplace());
  if (!json.at("transfer_cpu_ns").is_null())
    report.run.transfer_cpu_ns = json.at("transfer_cpu_ns").get<std::int64_t>();
  if (!json.at("figures").is_null())
    report.figures = report::decode_figures(json.at("figures").get_ref<const std::string&>());
  else
    report.run.trace = decode_trace(json.at("open").get_ref<const std::string&>(), origin);
  return report;
}

std::string encode(const Trace& trace) { return formats::PerfettoEncoder().encode(trace); }

Trace decode_trace(std::string_view payload, const std::string& origin) {
  Trace trace = formats::read_perfetto(std::as_bytes(std::span(payload.data(), payload.size())), origin);
  if (trace.import.num_skipped() > 0) throw MachineError(origin + " sent a trace with records that cannot be read");
  trace.import = {};
  trace.metadata = {};
  return trace;
}

std::string encode(const std::vector<std::int64_t>& last_arrivals_ns) { return to_cbor(last_arrivals_ns); }

std::vector<std::int64_t> decode_arrivals(std::string_view payload) {
  return parse_cbor(payload).get<std::vector<std::int64_t>>();
}

RankFailure failure_of(const std::exception& error) {
  using Kind = RankFailure::Kind;
  if (dynamic_cast<const PeerError*>(&error) != nullptr) return {Kind::peer, error.what()};
  if (dynamic_cast<const std::invalid_argument*>(&error) != nullptr) return {Kind::bad_input, error.what()};
  return {Kind::machine, error.what()};
}

std::string encode(const RankFailure& failure) {
  return to_cbor({{"kind", static_cast<int>(failure.kind)}, {"what", failure.what}});
}

RankFailure decode_failure(std::string_view payload) {
  const Json json = parse_cbor(payload);
  return {static_cast<RankFailure::Kind>(json.at("kind").get<int>()), json.at("what")};
}

std::string encode(const MeetingPut& put) { return to_cbor({{"key", put.key}, {"value", put.value}}); }

MeetingPut decode_put(std::string_view payload) {
  const Json json = parse_cbor(payload);
  return {.key = json.at("key"), .value = json.at("value")};
}

std::string encode(const MeetingGet& get) {
  return to_cbor({{"keys", get.keys}, {"patience_ms", get.patience.count()}});
}

MeetingGet decode_get(std::string_view payload) {
  const Json json = parse_cbor(payload);
  return {.keys = json.at("keys").get<std::vector<std::string>>(),
          .patience = std::chrono::milliseconds(json.at("patience_ms").get<std::int64_t>())};
}

std::string encode(const std::vector<std::optional<std::string>>& values) {
  Json json = Json::array();
  for (const auto& value : values) json.push_back(value ? Json(*value) : Json());
  return to_cbor(json);
}

std::vector<std::optional<std::string>> decode_met(std::string_view payload) {
  std::vector<std::optional<std::string>> values;
  for (const Json& value : parse_cbor(payload))
    values.push_back(value.is_null() ? std::nullopt : std::optional(value.get<std::string>()));
  return values;
}

std::string plans_hash(std::span<const plan::Cell> cells) {
  std::string text;
  for (const plan::Cell& cell : cells) text += cell.name + "\n" + plan::to_json(cell.plan) + "\n";
  return name_hash(text);
}

}  // namespace underlap::bench
