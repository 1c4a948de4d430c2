// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_messages.hpp"

#include <stdexcept>

#include "bench/machine/machine_info.hpp"
#include "platform/errors.hpp"
#include "profiler/formats/perfetto/encoder.hpp"
#include "profiler/formats/perfetto/reader.hpp"
#include "profiler/report/results_schema.hpp"

namespace underlap::bench {
void visit_fields(Is<RankRun> auto& run, auto&& field) {
  field("first_step", run.first_step);
  field("losses", run.losses);
  field("transfer_cpu_ns", run.transfer_cpu_ns);
  field("tensor_bytes", run.tensor_bytes);
  field("notes", run.notes);
  field("invalid_because", run.invalid_because);
  field("capture_faults", run.capture_faults);
  field("gpu_block", run.gpu_block);
  field("gpu", run.gpu);
}

std::string encode(const RankReport& report) {
  nlohmann::json json = fields::keyed_values(report.run);
  if (report.figures)
    json["figures"] = report::encode(*report.figures);
  else
    json["open"] = encode(report.run.trace);
  return to_cbor(json);
}

// {"first_step": 3, "losses": [5.54, 5.53], "notes": [], ..., "figures": BYTES}, as CBOR
RankReport decode_report(std::string_view payload, const std::string& origin) {
  const nlohmann::json json = parse_cbor(payload);
  RankReport report;
  fields::take_keyed(json, report.run);
  if (json.contains("figures"))
    report.figures = report::decode_figures(json.at("figures").get_ref<const std::string&>());
  else
    report.run.trace = decode_trace(json.at("open").get_ref<const std::string&>(), origin);
  return report;
}

std::string encode(const Trace& trace) { return formats::PerfettoEncoder().encode(trace); }

Trace decode_trace(std::string_view payload, const std::string& origin) {
  Trace trace = formats::read_perfetto(payload, origin);
  if (trace.import.num_skipped() > 0) throw MachineError(origin + " sent a trace with records that cannot be read");
  trace.import = {};
  trace.metadata = {};
  return trace;
}

RankFailure failure_of(const std::exception& error) {
  using Kind = RankFailure::Kind;
  if (dynamic_cast<const PeerError*>(&error) != nullptr) return {Kind::peer, error.what()};
  if (dynamic_cast<const std::invalid_argument*>(&error) != nullptr) return {Kind::bad_input, error.what()};
  return {Kind::machine, error.what()};
}

std::string plans_hash(std::span<const plan::Cell> cells) {
  std::string text;
  for (const plan::Cell& cell : cells) text += cell.name + "\n" + plan::to_json(cell.plan) + "\n";
  return name_hash(text);
}

}  // namespace underlap::bench
