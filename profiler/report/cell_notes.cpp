// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/report_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace underlap::report {
namespace {

/// Texts with the cells that each holds for, in the order of the first of them.
class Texts {
 public:
  void add(const std::string& text, const std::string& cell) {
    auto found = std::ranges::find(all_, text, &std::pair<std::string, std::vector<std::string>>::first);
    if (found == all_.end()) found = all_.insert(all_.end(), {text, {}});
    if (std::ranges::find(found->second, cell) == found->second.end()) found->second.push_back(cell);
  }

  void number(const char* title, CellNotes& notes) const {
    for (const auto& [text, cells] : all_) {
      const std::string mark = fmt::format("[{}]", notes.lines.size() + 1);
      for (const std::string& cell : cells) {
        std::string& marks = notes.of_cells[cell];
        marks += (marks.empty() ? "" : " ") + mark;
      }
      notes.lines.push_back(fmt::format("{} {}: {}: {}", title, mark, cells_text(cells), text));
    }
  }

 private:
  static std::string cells_text(const std::vector<std::string>& cells) {
    return cells.size() == 1 ? cells.front() : fmt::format("{} and {} more", cells.front(), cells.size() - 1);
  }

  std::vector<std::pair<std::string, std::vector<std::string>>> all_;
};

// One of several reasons is enough for a row.
std::string first_of(const std::vector<std::string>& reasons) {
  if (reasons.size() < 2) return reasons.empty() ? "no reason recorded" : reasons.front();
  return fmt::format("{} ({} more reasons are in results.json)", reasons.front(), reasons.size() - 1);
}

/// "in 2 of 5 blocks the capture lacks records: 4 untagged, 1 lost, such as ..."; empty: it lacks none.
std::string capture_text(const CellResult& cell) {
  if (cell.capture_faults.empty()) return "";
  std::set<std::int32_t> blocks;
  std::map<std::string, std::int64_t> counts;
  for (const CaptureFault& fault : cell.capture_faults) {
    blocks.insert(fault.block);
    counts[fault.cause] += fault.count;
  }
  std::vector<std::string> causes;
  for (const auto& [cause, count] : counts) causes.push_back(fmt::format("{} {}", count, cause));
  return fmt::format("in {} of {} blocks the trace lacks records: {}; for example, {}", blocks.size(), blocks_of(cell),
                     fmt::join(causes, ", "), cell.capture_faults.front().example);
}

// Why the block's clocks were lowered, "power limit; SM clock 1980 -> 1590 MHz, clocks lowered for 12 ms"; empty: they
// were not.
std::string throttled_text(const GpuBlock& block) {
  std::set<std::string> reasons(block.after.throttle_reasons.begin(), block.after.throttle_reasons.end());
  if (block.power_limited_ns > 0) reasons.insert("power limit");
  if (block.thermal_limited_ns > 0) reasons.insert("thermal slowdown");
  if (reasons.empty()) return "";
  std::string text =
      fmt::format("{}; SM clock {} -> {} MHz", fmt::join(reasons, ", "), block.before.sm_mhz, block.after.sm_mhz);
  const std::int64_t limited_ns = block.power_limited_ns + block.thermal_limited_ns;
  if (limited_ns > 0) text += fmt::format(", clocks lowered for {:.0f} ms", static_cast<double>(limited_ns) * 1e-6);
  return text;
}

/// "in 3 of 5 blocks: power limit; SM clock 1980 -> 1410 MHz"; empty: it was not.
std::string throttled_text(const CellResult& cell) {
  std::set<std::int32_t> blocks;
  std::string first;
  for (const GpuBlock& block : cell.gpu_blocks) {
    const std::string text = throttled_text(block);
    if (text.empty()) continue;
    blocks.insert(block.block);
    if (first.empty()) first = text;
  }
  if (blocks.empty()) return "";
  return fmt::format("GPU clocks were lowered in {} of {} blocks: {}", blocks.size(), blocks_of(cell), first);
}

}  // namespace

std::string CellNotes::of(std::string_view cell) const {
  const auto found = of_cells.find(std::string(cell));
  return found == of_cells.end() ? "-" : found->second;
}

CellNotes notes_of(const RunResults& results) {
  Texts unmet, refused, incomplete, throttled;
  for (const CellResult& cell : results.cells)
    for (const std::string& request : cell.not_as_requested) unmet.add(request, cell.name);
  for (const CellResult& cell : results.cells) {
    if (const std::string text = capture_text(cell); !text.empty()) incomplete.add(text, cell.name);
    if (const std::string text = throttled_text(cell); !text.empty()) throttled.add(text, cell.name);
  }
  for (const RefusedCell& cell : results.refused) refused.add(first_of(cell.because), cell.name);
  CellNotes notes;
  refused.number("NOT RUN", notes);
  unmet.number("NOT AS REQUESTED", notes);
  incomplete.number("TRACE INCOMPLETE", notes);
  throttled.number("THROTTLED", notes);
  return notes;
}

}  // namespace underlap::report
