// SPDX-License-Identifier: Apache-2.0
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/fields/json_schema.hpp"
#include "profiler/compare/compare_report.hpp"

namespace underlap::compare {
namespace {

using analysis::CommunicationSplit, analysis::Split;
using fields::AsObject, fields::Derived, fields::Each, fields::Is, fields::NullIf, fields::Object;
using OptionalNs = std::optional<std::int64_t>;

constexpr std::string_view kCompareSchema = "underlap.compare/1";

/// A time of both sides; absent where a side does not know it.
struct BothTimes {
  OptionalNs from_ns;
  OptionalNs to_ns;

  OptionalNs delta_ns() const { return from_ns && to_ns ? OptionalNs(*to_ns - *from_ns) : std::nullopt; }
};

void visit_fields(Is<BothTimes> auto& times, auto&& field) {
  field("from_ns", times.from_ns);
  field("to_ns", times.to_ns);
  field("delta_ns", times.delta_ns());
}

// All that is exposed of a mode, also while others' communication runs.
void add_mode(const CommunicationSplit& from, const CommunicationSplit& to, auto&& field) {
  const auto if_split = [](const CommunicationSplit& split, std::int64_t ns) {
    return analysis::is_split(split.exposed_unsplit_ns, split.exposed_ns) ? OptionalNs(ns) : std::nullopt;
  };
  field("exposed", BothTimes{from.exposed_ns, to.exposed_ns});
  field("exposed_wait", BothTimes{if_split(from, from.exposed_wait_ns), if_split(to, to.exposed_wait_ns)});
  field("exposed_transfer", BothTimes{if_split(from, from.exposed_transfer_ns), if_split(to, to.exposed_transfer_ns)});
  field("exposed_unsplit", BothTimes{from.exposed_unsplit_ns, to.exposed_unsplit_ns});
}

std::vector<std::pair<std::string, BothTimes>> sums_of(const TraceChange& change, std::string OperationChange::*by) {
  std::vector<std::pair<std::string, BothTimes>> sums;
  for (const StepSum& sum : sums_by(change.operations, by))
    sums.push_back({sum.name, {sum.from_step_ns, sum.to_step_ns}});
  return sums;
}

}  // namespace

// The fields of the JSON.

void visit_fields(std::derived_from<OperationChange> auto& operation, auto&& field) {
  field("name", operation.name);
  field("kind", operation.kind);
  field("mode", operation.mode);
  field("purpose", operation.purpose);
  field("stream", operation.stream);
  field("first_layer", operation.first_layer);
  field("last_layer", operation.last_layer);
  field("match", operation.match);
  field("count", Object{[&](auto&& put) {
          put("from", operation.from_count);
          put("to", operation.to_count);
          if constexpr (requires { operation.added; }) {
            put("added", operation.added);
            put("removed", operation.removed);
          }
        }});
  field("busy", BothTimes{operation.from_busy_ns, operation.to_busy_ns});
  field("step", BothTimes{operation.from_step_ns, operation.to_step_ns});
}

void visit_fields(Is<TraceChange> auto& change, auto&& field) {
  const auto both = [&](auto part) { return BothTimes{std::invoke(part, change.from), std::invoke(part, change.to)}; };
  const auto both_if_known = [&](auto part) {
    BothTimes times = both(part);
    if (!waits_are_known(change.from)) times.from_ns.reset();
    if (!waits_are_known(change.to)) times.to_ns.reset();
    return times;
  };
  const auto add_times = [](const auto& of_mode, auto&& put) {
    const BothTimes times{of_mode.second.first, of_mode.second.second};
    visit_fields(times, put);
  };
  const auto add_communication = [](const auto& of_mode, auto&& put) {
    add_mode(of_mode.second.first, of_mode.second.second, put);
  };
  const auto by_stream = sums_of(change, &OperationChange::stream);
  const auto by_purpose = sums_of(change, &OperationChange::purpose);
  field("windows", change.windows);
  field("left_out", change.left_out);
  field("matched_by", std::string_view(change.is_matched_by_tags ? "tags" : "order"));
  field("window", both(&Split::window_ns));
  field("compute", both(&Split::compute_ns));
  field("contention_ns", change.compute.contention_ns());
  field("decomposition_ns", change.compute.decomposition_ns());
  field("concurrency_ns", change.compute.concurrency_change_ns());
  field("exposed", both(&Split::exposed_ns));
  field("exposed_by_modes", Each{paired(change.from.exposed_ns_by_modes, change.to.exposed_ns_by_modes), add_times});
  field("exposed_wait", both_if_known(&Split::exposed_wait_ns));
  field("exposed_transfer", both_if_known(&Split::exposed_transfer_ns));
  field("exposed_unsplit", both(&Split::exposed_unsplit_ns));
  field("copy_only", both(&Split::copy_only_ns));
  field("idle", both(&Split::idle_ns));
  field("modes", Each{paired(change.from.modes, change.to.modes), add_communication});
  field("by_stream", AsObject{by_stream});
  field("by_purpose", AsObject{by_purpose});
  field("operations", change.operations);
  field("net_operations", change.net);
}

void visit_fields(Is<Comparison> auto& comparison, auto&& field) {
  field("name", comparison.name);
  field("sentence", Derived{[&] { return sentence_of(comparison); }});
  field("from_step_ns", comparison.from_step_ns);
  field("to_step_ns", comparison.to_step_ns);
  field("from_exposed_ns", comparison.from_exposed_ns);
  field("to_exposed_ns", comparison.to_exposed_ns);
  field("change", comparison.change);
}

void visit_fields(Is<CompareReport> auto& report, auto&& field) {
  field("from", report.from);
  field("to", report.to);
  field("forced", NullIf{report.forced, report.forced.empty()});
  field("notes", report.notes);
  field("differences", report.differences);
  field("comparisons", report.comparisons);
}

std::string compare_json(const CompareReport& report) { return fields::document_text(kCompareSchema, report); }

std::string compare_json_schema() { return fields::schema_text<CompareReport>(kCompareSchema); }

}  // namespace underlap::compare
