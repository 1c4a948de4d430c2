// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/stalls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/analysis/steps/job_steps.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::report {
namespace {

struct Part {
  const char* name;
  std::int64_t (*of)(const analysis::Split&);
};
constexpr std::array<Part, 3> kOwnParts{{{"compute", [](const analysis::Split& s) { return s.compute_ns(); }},
                                         {"copy", [](const analysis::Split& s) { return s.copy_only_ns; }},
                                         {"idle", [](const analysis::Split& s) { return s.idle_ns; }}}};
constexpr Part kCommunication{"communication", [](const analysis::Split& s) { return s.exposed_ns(); }};

// A rank that others wait for may begin its next window late, and theirs are long: the longest of all counts.
std::int64_t length_of(const StepSample& sample) {
  std::int64_t longest = sample.step_ns;
  for (const analysis::Split& split : sample.ranks) longest = std::max(longest, split.window_ns);
  return longest;
}

std::int64_t usual(const CellResult& cell, std::size_t rank, const Part& part) {
  std::vector<double> values;
  for (const StepSample& sample : cell.samples)
    if (rank < sample.ranks.size()) values.push_back(static_cast<double>(part.of(sample.ranks[rank])));
  return std::llround(median(values));
}

// Takes the part of any rank of `sample` that is longest beyond its median.
void offer(Stall& stall, const CellResult& cell, const StepSample& sample, const Part& part) {
  for (std::size_t rank = 0; rank < sample.ranks.size(); ++rank) {
    const std::int64_t longer = part.of(sample.ranks[rank]) - usual(cell, rank, part);
    if (longer <= stall.longer_ns) continue;
    stall.rank = static_cast<std::int32_t>(rank);
    stall.part = part.name;
    stall.longer_ns = longer;
  }
}

// A rank that stalls does so in its own work, while the others wait for it in communication. So a stall is attributed
// to communication only if nothing else explains half of the delay, and then to no single rank. Fails when a rank
// stalls in several parts, each less than half: communication is then named.
void find_stopped_place(Stall& stall, const CellResult& cell, const StepSample& sample) {
  for (const Part& part : kOwnParts) offer(stall, cell, sample, part);
  if (2 * stall.longer_ns >= stall.took_ns - stall.usual_ns) return;
  stall.longer_ns = 0;
  offer(stall, cell, sample, kCommunication);
  stall.rank.reset();
}

std::string milliseconds(std::int64_t ns) {
  const double ms = static_cast<double>(ns) / 1e6;
  return fmt::format("{:.{}f}", ms, ms >= 10 ? 0 : 2);
}

}  // namespace

std::vector<Stall> stalls_of(const CellResult& cell) {
  std::vector<Stall> stalls;
  if (cell.samples.empty()) return stalls;
  std::vector<std::int64_t> durations;
  for (const StepSample& sample : cell.samples) durations.push_back(length_of(sample));
  const double middle = median(std::vector<double>(durations.begin(), durations.end()));
  for (const std::size_t i : analysis::stalled_steps(durations)) {
    const StepSample& sample = cell.samples[i];
    Stall& stall = stalls.emplace_back();
    stall.block = sample.block;
    stall.step = sample.step;
    stall.took_ns = length_of(sample);
    stall.usual_ns = std::llround(middle);
    find_stopped_place(stall, cell, sample);
  }
  return stalls;
}

std::string stall_text(const Stall& stall) {
  std::string text = fmt::format("block {} step {} took {} ms (typically {} ms)", stall.block, stall.step,
                                 milliseconds(stall.took_ns), milliseconds(stall.usual_ns));
  if (stall.part.empty()) return text;
  const std::string who = stall.rank ? fmt::format("rank {} was", *stall.rank) : "its ranks were";
  return fmt::format("{}: {} stopped during {}", text, who, stall.part);
}

Steps stalled_steps(const CellResult& cell) {
  Steps steps;
  for (const Stall& stall : stalls_of(cell)) steps.emplace(stall.block, stall.step);
  return steps;
}

Steps stalled_steps(const CellResult& one, const CellResult& other) {
  Steps steps = stalled_steps(one);
  steps.merge(stalled_steps(other));
  return steps;
}

}  // namespace underlap::report
