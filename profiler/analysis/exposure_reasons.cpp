// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/exposure_reasons.hpp"

#include <fmt/format.h>

#include "profiler/trace/enum_names.hpp"
#include "profiler/trace/kernel_name.hpp"

namespace underlap::analysis {
namespace {

constexpr EnumNames<ExposureReason, kNumExposureReasons> kReasons{
    {"late_rank", "pipeline", "same_stream", "late_launch", "event", "no_other_work", "unknown"}};

std::string short_name(NameId name) { return name == kNoName ? "" : short_work_name(name_of(name)); }

}  // namespace

std::string_view to_string(ExposureReason reason) { return kReasons[reason]; }

std::int64_t ExposureReasons::exposed_ns() const {
  std::int64_t sum = 0;
  for (const ExposureReasonSum& row : sums) sum += row.exposed_ns;
  return sum;
}

std::string clause_of(const ExposedCommunication& one) {
  ExposureReasonSum sum;
  sum.reason = one.reason;
  sum.waits_for = one.waits_for;
  sum.holds_up = one.holds_up;
  return clause_of(sum);
}

std::string clause_of(const ExposureReasonSum& sum) {
  const std::string what = short_name(sum.waits_for);
  switch (sum.reason) {
    case ExposureReason::late_rank: return "it waits for a late rank";
    case ExposureReason::pipeline: return "it waits for another pipeline stage to compute";
    case ExposureReason::same_stream:
      return what.empty() ? "compute shares its stream" : fmt::format("it runs after {} on the same stream", what);
    case ExposureReason::late_launch:
      return what.empty() ? "the host launches it late"
                          : fmt::format("the host launches it late, after waiting in {}", what);
    case ExposureReason::event:
      return what.empty() ? "it waits for another stream" : fmt::format("it waits for {} on another stream", what);
    case ExposureReason::no_other_work: {
      const std::string next = short_name(sum.holds_up);
      if (next.empty()) return "no independent work is left";
      return what.empty()
                 ? fmt::format("no independent work is left; {} waits for it", next)
                 : fmt::format("no independent work is left: it runs after {}, and {} waits for it", what, next);
    }
    case ExposureReason::unknown: break;
  }
  return "the trace does not show why";
}

}  // namespace underlap::analysis
