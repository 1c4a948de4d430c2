// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "platform/text/escape.hpp"
#include "profiler/gate/reports.hpp"
#include "profiler/gate/words.hpp"

namespace underlap::gate {
namespace {

constexpr std::size_t kMostAnnotations = 10;

std::string outcome(const GateReport& report, const GateRow& row, bool inconclusive_passes) {
  const std::string moved = moved_text(row.moved);
  const std::string sentence = stamp_of(report) + row_sentence(row);
  if (row.verdict == Verdict::regression)
    return fmt::format("<failure type=\"regression\" message=\"{}\">{}</failure>", markup_text(sentence),
                       markup_text(moved.empty() ? sentence : stamp_of(report) + "what moved: " + moved));
  const std::string undecided = markup_text(sentence + "; " + what_would_decide(row));
  if (row.verdict == Verdict::inconclusive && row.decides && !inconclusive_passes)
    return fmt::format("<error type=\"inconclusive\" message=\"{}\"/>", undecided);
  if (row.verdict == Verdict::inconclusive) return fmt::format("<skipped message=\"{}\"/>", undecided);
  return "";
}

}  // namespace

std::string gate_junit(const GateReport& report, bool inconclusive_passes) {
  std::string cases;
  std::size_t failures = 0, errors = 0, skipped = 0;
  for (const GateRow& row : report.rows) {
    const std::string inner = outcome(report, row, inconclusive_passes);
    failures += inner.starts_with("<failure");
    errors += inner.starts_with("<error");
    skipped += inner.starts_with("<skipped");
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", markup_text(row.cell),
                         markup_text(stamp_of(report) + row.metric), inner);
  }
  std::string notes = method_text(report);
  for (const std::string& warning : report.warnings) notes += "\n" + warning;
  if (!report.forced.empty()) notes += "\nnot comparable, forced: " + report.forced;
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"underlap gate\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}    <system-out>{}</system-out>\n  </testsuite>\n"
      "</testsuites>\n",
      report.rows.size(), failures, errors, skipped, cases, markup_text(notes));
}

std::string gate_annotations(const GateReport& report) {
  std::string text;
  std::size_t errors = 0, warnings = 0;
  for (const GateRow& row : report.rows) {
    const bool is_error = row.verdict == Verdict::regression;
    if (!is_error && (row.verdict == Verdict::pass || !row.decides)) continue;
    if ((is_error ? errors : warnings)++ >= kMostAnnotations) continue;
    const std::string moved = is_error ? moved_text(row.moved) : what_would_decide(row);
    text +=
        fmt::format("::{} title={}::{}\n", is_error ? "error" : "warning",
                    annotation_text(fmt::format("overlap {}, {}", to_string(row.verdict), row.cell), true),
                    annotation_text(stamp_of(report) + row_sentence(row) + (moved.empty() ? "" : "; " + moved), false));
  }
  return text;
}

}  // namespace underlap::gate
