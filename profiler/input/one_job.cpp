// SPDX-License-Identifier: Apache-2.0
#include "profiler/input/one_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "profiler/analysis/windows.hpp"

namespace underlap::input {

void OneJob::add(const std::string& file, const Trace& trace) {
  for (const std::int32_t rank : analysis::ranks_of(trace))
    if (const auto [entry, is_new] = file_of_rank_.emplace(rank, file); !is_new)
      throw std::invalid_argument(fmt::format(
          "{} and {} both hold rank {}; give the traces of one cell, or the run's folder for all cells in turn",
          entry->second, file, rank));
  check_said(file, trace, "world_size", "ranks");
  check_said(file, trace, "device_name", "device");
  if (trace.metadata.contains("backend") || trace.size() == 0) return;
  Span span{trace.start_ns().front(), trace.end_ns(0), file};
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i)) continue;
    span.begin_ns = std::min(span.begin_ns, trace.start_ns()[i]);
    span.end_ns = std::max(span.end_ns, trace.end_ns(i));
  }
  spans_.push_back(std::move(span));
}

void OneJob::check_said(const std::string& file, const Trace& trace, const char* key, const char* what) {
  const auto found = trace.metadata.find(key);
  if (found == trace.metadata.end()) return;
  const auto [first, is_new] = said_.try_emplace(key, Said{found->second, file});
  if (is_new || first->second.value == found->second) return;
  throw std::invalid_argument(fmt::format("{} and {} are of different jobs: {} {} and {}; give traces of one job",
                                          first->second.file, file, what, first->second.value, found->second));
}

void OneJob::check_times() const {
  std::vector<Span> spans = spans_;
  std::ranges::sort(spans, {}, &Span::begin_ns);
  for (std::size_t i = 1; i < spans.size(); ++i) {
    const auto before =
        std::ranges::max_element(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(i), {}, &Span::end_ns);
    if (spans[i].begin_ns <= before->end_ns) continue;
    const double apart_s = (static_cast<double>(spans[i].begin_ns) - static_cast<double>(before->end_ns)) / 1e9;
    throw std::invalid_argument(
        fmt::format("{} begins {:.3g} s after {} has ended, so they cannot be ranks of one job; give traces that were "
                    "taken together",
                    spans[i].file, apart_s, before->file));
  }
}

}  // namespace underlap::input
