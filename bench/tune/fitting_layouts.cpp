// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/fitting_layouts.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "bench/tune/space.hpp"
#include "impl/plan/memory/advice.hpp"
#include "platform/threads/on_all_cores.hpp"

namespace underlap::bench {
namespace {

/// Start of the search in a layout: the usual value of every overlap knob.
Choices usual_overlap(const TuneJob& job, const plan::Config& layout) {
  Choices usual;
  for (const plan::SearchAxis& axis : overlap_axes(job, layout)) {
    const auto written = job.start().find(axis.knob);
    const std::string& value = written == job.start().end() ? axis.values.front() : written->second;
    if (!value.empty()) usual[axis.knob] = value;
  }
  return usual;
}

// The layout with the least recomputation that makes it fit; nullopt if it never fits.
std::optional<Candidate> fitting(const TuneJob& job, const Choices& layout, std::string& refusal) {
  const plan::Plan bare = job.plan(layout);
  if (!bare.errors.empty()) return refusal = bare.errors.front().message, std::nullopt;
  Candidate candidate{.choices = merged(layout, usual_overlap(job, bare.config))};
  candidate.plan = job.plan(candidate.choices);
  if (!is_valid(candidate.plan)) return refusal = refusal_of(candidate.plan), std::nullopt;
  if (fits(job, candidate.plan)) return candidate;
  const std::vector<Choices> more = recomputations(job, candidate.plan.config);
  const auto too_large = [&](const Choices& some) { return !fits(job, job.plan(merged(candidate.choices, some))); };
  // Each choice should need less memory than the one before. Fails when one needs more: the result then fits, but may
  // recompute more than needed.
  if (too_large(more.back())) return std::nullopt;  // most that do not fit
  candidate.choices =
      merged(candidate.choices, *std::partition_point(std::next(more.begin()), std::prev(more.end()), too_large));
  candidate.plan = job.plan(candidate.choices);
  if (!is_valid(candidate.plan)) return refusal = refusal_of(candidate.plan), std::nullopt;
  return candidate;
}

Candidate with_most_recomputation(const TuneJob& job, const Choices& layout) {
  Candidate candidate{.choices = layout, .plan = job.plan(layout)};
  if (!candidate.plan.errors.empty()) return candidate;
  candidate.choices = merged(layout, usual_overlap(job, candidate.plan.config));
  candidate.choices = merged(candidate.choices, recomputations(job, candidate.plan.config).back());
  candidate.plan = job.plan(candidate.choices);
  return candidate;
}

// The fewest GPUs, by doubling, on which a layout fits.
std::optional<std::int64_t> enough_gpus(const TuneJob& job) {
  constexpr std::int64_t kMostTimes = 64;
  for (std::int64_t times = 2; times <= kMostTimes; times *= 2) {
    const TuneJob larger = job.with_gpus(times * job.num_gpus());
    const std::vector<Choices> layouts = layouts_of(larger);
    std::atomic<bool> is_found = false;
    on_all_cores(layouts.size(), [&](std::size_t i) {
      if (is_found) return;
      const Candidate most = with_most_recomputation(larger, layouts[i]);
      if (is_valid(most.plan) && fits(larger, most.plan)) is_found = true;
    });
    if (is_found) return larger.num_gpus();
  }
  return std::nullopt;
}

SmallestNeed smallest_need(const TuneJob& job, const std::vector<Choices>& layouts) {
  std::vector<Candidate> smallest(layouts.size());
  on_all_cores(layouts.size(), [&](std::size_t i) {
    const Candidate most = with_most_recomputation(job, layouts[i]);
    if (is_valid(most.plan)) smallest[i] = most;
  });
  std::erase_if(smallest, [](const Candidate& candidate) { return candidate.choices.empty(); });
  if (smallest.empty()) return {};
  const Candidate& least =
      *std::ranges::min_element(smallest, {}, [](const Candidate& c) { return c.plan.peak_memory.total(); });
  return {.choices = least.choices,
          .bytes = least.plan.peak_memory.total(),
          .enough_gpus = enough_gpus(job),
          .advice = plan::advice_on_memory(least.plan.config, job.limit_bytes())};
}

// Drops layouts with four times the stages, or more, that the same layout needs to fit without recomputation: more
// stages than needed cost transfers and a bubble. Fails when what twice the stages gain, four times gain again.
std::size_t drop_deep_pipelines(std::vector<Candidate>& layouts) {
  constexpr std::int32_t kDeep = 4;
  std::map<std::string, std::int32_t> enough;
  for (const Candidate& layout : layouts) {
    if (layout.plan.config.recompute.method != plan::RecomputeMethod::none) continue;
    const std::int32_t stages = layout.plan.config.parallel.num_stages();
    const auto [known, is_new] = enough.try_emplace(within_stage(layout), stages);
    known->second = std::min(known->second, stages);
  }
  return std::erase_if(layouts, [&](const Candidate& layout) {
    const auto known = enough.find(within_stage(layout));
    return known != enough.end() && layout.plan.config.parallel.num_stages() >= kDeep * known->second;
  });
}

}  // namespace

bool fits(const TuneJob& job, const plan::Plan& plan) { return plan.peak_memory.total() <= job.limit_bytes(); }

// On all cores, since parsing takes as long as a short step.
FittingLayouts fitting_layouts(const TuneJob& job) {
  const std::vector<Choices> layouts = layouts_of(job);
  FittingLayouts result{.fitting = {}, .layouts = layouts.size(), .refused = {}};
  std::vector<std::optional<Candidate>> found(layouts.size());
  std::vector<std::string> refusals(layouts.size());
  on_all_cores(layouts.size(), [&](std::size_t i) { found[i] = fitting(job, layouts[i], refusals[i]); });
  for (std::size_t i = 0; i < layouts.size(); ++i)
    if (found[i])
      result.fitting.push_back(std::move(*found[i]));
    else if (refusals[i].empty())
      ++result.too_large;
    else
      ++result.refused[refusals[i]];
  if (result.fitting.empty() && result.too_large > 0) result.smallest_need = smallest_need(job, layouts);
  result.too_deep = drop_deep_pipelines(result.fitting);
  return result;
}

}  // namespace underlap::bench
