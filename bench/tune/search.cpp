// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/search.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <mutex>
#include <span>
#include <stdexcept>

#include "bench/tune/candidate.hpp"
#include "bench/tune/space.hpp"
#include "platform/threads/on_all_cores.hpp"

namespace underlap::bench {
namespace {

// Layouts that are estimated between checks whether further ones can be among the best.
constexpr std::size_t kAtOnce = 8;
// Layouts whose overlap knobs are tried. Fails when a slower layout would gain more by its knobs than
// these do.
constexpr std::size_t kRefined = 12;

class Search {
 public:
  Search(const TuneJob& job, SimulatedSteps& steps, const SearchProgress& progress)
      : job_(job), steps_(steps), progress_(progress) {}

  SearchResult run() {
    FittingLayouts found = fitting_layouts(job_);
    SearchCounts& counts = result_.counts;
    counts.layouts = found.layouts;
    counts.refused = std::move(found.refused);
    counts.too_large = found.too_large;
    counts.beaten = found.too_deep;
    result_.smallest_need = std::move(found.smallest_need);
    std::vector<Candidate>& layouts = found.fitting;
    find_least_steps(layouts);
    std::vector<Candidate> estimated = estimate(layouts);
    refine(estimated);
    return finish(std::move(estimated));
  }

  SearchResult run_exhaustively() {
    std::vector<Candidate> all = combinations();
    play_in_full(all);
    return finish(std::move(all));
  }

 private:
  void set_best(const Candidate& candidate) {
    best_ns_ = candidate.step_ns;
    best_ = candidate.choices;
  }

  void report(const std::string& what, std::size_t done, std::size_t count) const {
    if (progress_) progress_({what, done, count, best_ns_, best_});
  }

  // Not kept among the steps: many layouts share one, and all of them take less time than a few steps.
  void find_least_steps(std::vector<Candidate>& layouts) {
    std::map<std::string, std::vector<std::size_t>> by_compute;
    for (std::size_t i = 0; i < layouts.size(); ++i) by_compute[compute_of(layouts[i])].push_back(i);
    std::vector<std::vector<std::size_t>> alike;
    for (auto& [compute, members] : by_compute) alike.push_back(std::move(members));
    on_all_cores(alike.size(), [&](std::size_t g) {
      const std::optional<LeastSteps> least = least_steps(layouts[alike[g].front()]);
      if (!least) return;
      for (const std::size_t i : alike[g]) {
        const plan::Config& config = layouts[i].plan.config;
        const std::int64_t stages = config.parallel.chunks_of_stage();
        layouts[i].least_ns = least->ns(config.train.num_microbatches, stages);
        layouts[i].least_of_rest_ns = layouts[i].least_ns - least->ns(shortened(config).fewer, stages);
      }
    });
    std::ranges::stable_sort(layouts, {}, &Candidate::least_ns);
  }

  // Nullopt if the layout cannot be simulated; the simulation reports the reason.
  std::optional<LeastSteps> least_steps(const Candidate& candidate) const {
    try {
      return LeastSteps(candidate.plan.config, job_.hardware_of(candidate.plan.config));
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  }

  // First one of the layouts that differ in virtual stages alone, then those that may still be among the best.
  std::vector<Candidate> estimate(const std::vector<Candidate>& layouts) {
    std::map<std::string, std::vector<const Candidate*>> alike;
    for (const Candidate& layout : layouts) alike[stages_of(layout)].push_back(&layout);
    std::set<const Candidate*> first;
    for (auto& [stages, members] : alike) {
      std::ranges::stable_sort(members, {}, chunks_of_stage);
      first.insert(members[members.size() / 2]);
    }
    std::vector<Candidate> estimated, some, others;
    for (const Candidate& layout : layouts) (first.contains(&layout) ? some : others).push_back(layout);
    estimate(some, estimated);
    std::map<std::string, const Candidate*> known;
    for (const Candidate& candidate : estimated) known.emplace(stages_of(candidate), &candidate);
    const std::int64_t limit_ns = to_beat(estimated);
    result_.counts.beaten += std::erase_if(others, [&](const Candidate& other) {
      const auto same = known.find(stages_of(other));
      return same == known.end() || with_chunks_of(other, *same->second) >= limit_ns;
    });
    estimate(others, estimated);
    return estimated;
  }

  static std::int64_t chunks_of_stage(const Candidate* candidate) {
    return candidate->plan.config.parallel.chunks_of_stage();
  }

  // A step as long as that of `known`, if only the bubble of the pipeline differs, less a margin. Fails if more or
  // fewer transfers between stages save more than the margin.
  static std::int64_t with_chunks_of(const Candidate& candidate, const Candidate& known) {
    constexpr double kMargin = 0.97;
    const auto with_bubble = [](const Candidate& of) {
      const plan::Config& config = of.plan.config;
      return 1 + static_cast<double>(config.parallel.num_stages() - 1) /
                     static_cast<double>(config.train.num_microbatches * config.parallel.chunks_of_stage());
    };
    return static_cast<std::int64_t>(kMargin * static_cast<double>(known.step_ns) * with_bubble(candidate) /
                                     with_bubble(known));
  }

  // Adds those of `layouts` that may be among the best to `estimated`, which is sorted.
  void estimate(const std::vector<Candidate>& layouts, std::vector<Candidate>& estimated) {
    for (std::size_t begin = 0; begin < layouts.size(); begin += kAtOnce) {
      if (layouts[begin].least_ns >= to_beat(estimated)) {
        result_.counts.beaten += layouts.size() - begin;
        break;
      }
      const std::size_t end = std::min(begin + kAtOnce, layouts.size());
      std::vector<Candidate> some(layouts.begin() + static_cast<std::ptrdiff_t>(begin),
                                  layouts.begin() + static_cast<std::ptrdiff_t>(end));
      result_.counts.estimated += some.size();
      leave_hopeful(some, to_beat(estimated));
      estimate_steps("layouts", some);
      for (Candidate& candidate : some)
        if (candidate.step_ns > 0) estimated.push_back(std::move(candidate));
      std::ranges::sort(estimated, is_shorter);
      if (!estimated.empty()) set_best(estimated.front());
    }
  }

  // The step time that a layout has to beat to be one of the best.
  static std::int64_t to_beat(const std::vector<Candidate>& estimated) {
    return estimated.size() < kBestShown ? std::numeric_limits<std::int64_t>::max() : estimated[kBestShown - 1].step_ns;
  }

  // Removes layouts that cannot beat `limit_ns`. For most, a short step plus the least time of the other microbatches
  // exceeds it.
  void leave_hopeful(std::vector<Candidate>& candidates, std::int64_t limit_ns) {
    std::vector<SimulatedStep> steps;
    for (const Candidate& candidate : candidates)
      steps.push_back(short_step_of(candidate, shortened(candidate.plan.config).fewer));
    const std::vector<StepTime> times = simulate("layouts", steps);
    for (std::size_t i = candidates.size(); i-- > 0;)
      if (!times[i].failure.empty() || times[i].ns + candidates[i].least_of_rest_ns >= limit_ns)
        candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void estimate_steps(const std::string& what, std::vector<Candidate>& candidates) {
    std::vector<SimulatedStep> steps;
    for (const Candidate& candidate : candidates) {
      const auto [fewer, more] = shortened(candidate.plan.config);
      for (const std::int64_t num : {fewer, more})
        if (num > 0) steps.push_back(short_step_of(candidate, num));
    }
    const std::vector<StepTime> times = simulate(what, steps);
    std::size_t next = 0;
    for (Candidate& candidate : candidates) {
      const bool is_short = shortened(candidate.plan.config).more > 0;
      const StepTime& fewer = times[next++];
      const StepTime& more = is_short ? times[next++] : fewer;
      candidate.failure = fewer.failure.empty() ? more.failure : fewer.failure;
      candidate.step_ns = candidate.failure.empty() ? extrapolated(candidate.plan.config, fewer.ns, more.ns) : 0;
    }
  }

  SimulatedStep short_step_of(const Candidate& candidate, std::int64_t num_microbatches) const {
    return {fmt::format("nearly, with {} microbatches: {}", num_microbatches, text_of(candidate.choices)),
            [config = with_microbatches(candidate.plan.config, num_microbatches),
             &hardware = job_.hardware_of(candidate.plan.config)] { return nearly_step_ns(config, hardware); }};
  }

  SimulatedStep whole_step_of(const Candidate& candidate) const {
    return {text_of(candidate.choices),
            [config = candidate.plan.config, &hardware = job_.hardware_of(candidate.plan.config)] {
              return step_ns(config, hardware);
            }};
  }

  /// State of the search over a candidate's overlap settings, one knob after the other.
  struct Descent {
    Candidate* candidate;
    std::vector<plan::SearchAxis> axes;
    std::set<std::string> changed = {};  // knobs whose value was changed
  };
  using Helpful = std::map<std::string, std::set<std::string>>;  // knobs, by kind_of()

  // Searches all knobs in the first layout of each kind. In the others it searches those that helped there, which give
  // most of the gain. The others start with the tensor-parallel overlap of the first layout of their size, if that
  // helps. The best overlap of products of one shape is the best in every layout with that shape. So it is searched in
  // the first such layout, and the rest adopt it if it is better than their own.
  void refine(std::vector<Candidate>& candidates) {
    result_.counts.refined = std::min(kRefined, candidates.size());
    std::map<std::string, const Candidate*> of_kind, of_size, of_shape;
    std::vector<Descent> first, others, rest;
    for (std::size_t i = 0; i < result_.counts.refined; ++i) {
      Candidate& candidate = candidates[i];
      const bool is_first = of_kind.try_emplace(kind_of(candidate), &candidate).second;
      of_size.try_emplace(size_of(candidate), &candidate);
      const bool has_new_shape = of_shape.try_emplace(shape_of(candidate), &candidate).second;
      (is_first        ? first
       : has_new_shape ? others
                       : rest)
          .push_back({&candidate, overlap_axes(job_, candidate.plan.config)});
    }
    const Helpful helpful = descend_twice(first);
    for (Descent& descent : others) leave_helpful(descent, helpful.at(kind_of(*descent.candidate)));
    for (Descent& descent : rest) {
      leave_helpful(descent, helpful.at(kind_of(*descent.candidate)));
      std::erase_if(descent.axes, [](const plan::SearchAxis& axis) { return is_of_tensor_overlap(axis.knob); });
    }
    for (const std::vector<Descent>* some : {&others, &rest})
      take_over_tensor_overlap(*some, [&](const Candidate& candidate) { return of_size.at(size_of(candidate)); });
    descend(others);
    take_over_tensor_overlap(rest, [&](const Candidate& candidate) { return of_shape.at(shape_of(candidate)); });
    descend(rest);
    std::ranges::sort(candidates, is_shorter);
  }

  static void leave_helpful(Descent& descent, const std::set<std::string>& knobs) {
    std::erase_if(descent.axes, [&](const plan::SearchAxis& axis) { return !knobs.contains(axis.knob); });
  }

  // A knob that helped may help more, or no longer, with the values chosen after it.
  Helpful descend_twice(std::vector<Descent>& descents) {
    descend(descents);
    Helpful helpful;
    for (Descent& descent : descents) {
      helpful[kind_of(*descent.candidate)] = descent.changed;
      leave_helpful(descent, descent.changed);
    }
    descend(descents);
    return helpful;
  }

  // Chooses the best value of each knob in turn, for all descents in parallel. Fails when two knobs help only together:
  // neither is then chosen.
  void descend(std::vector<Descent>& descents) {
    std::size_t longest = 0;
    for (const Descent& descent : descents) longest = std::max(longest, descent.axes.size());
    for (std::size_t i = 0; i < longest; ++i) {
      std::vector<Candidate> variants;
      std::vector<std::size_t> ends;
      for (const Descent& descent : descents) {
        if (i < descent.axes.size())
          std::ranges::move(variants_of(*descent.candidate, descent.axes[i]), std::back_inserter(variants));
        ends.push_back(variants.size());
      }
      estimate_steps("overlap settings", variants);
      std::size_t begin = 0;
      for (std::size_t d = 0; d < descents.size(); begin = ends[d++])
        if (take_best(*descents[d].candidate, std::span(variants).subspan(begin, ends[d] - begin)))
          descents[d].changed.insert(descents[d].axes[i].knob);
    }
  }

  // Replaces the candidate by its best variant if that is shorter. Returns whether it was.
  bool take_best(Candidate& candidate, std::span<Candidate> variants) {
    Candidate* best = nullptr;
    for (Candidate& variant : variants)
      if (variant.step_ns > 0 && (best == nullptr || is_shorter(variant, *best))) best = &variant;
    if (best == nullptr || best->step_ns >= candidate.step_ns) return false;
    best->least_ns = candidate.least_ns;
    candidate = std::move(*best);
    if (candidate.step_ns < best_ns_) set_best(candidate);
    return true;
  }

  // Adopts the other layout's setting if it is better. A layout that cannot use it stays unchanged.
  void take_over_tensor_overlap(const std::vector<Descent>& descents,
                                const std::function<const Candidate*(const Candidate&)>& other) {
    std::vector<Candidate> variants;
    std::vector<Candidate*> of;
    for (const Descent& descent : descents) {
      Candidate variant{.choices = descent.candidate->choices};
      std::erase_if(variant.choices, [](const auto& choice) { return is_of_tensor_overlap(choice.first); });
      for (const auto& [knob, value] : other(*descent.candidate)->choices)
        if (is_of_tensor_overlap(knob)) variant.choices[knob] = value;
      variant.plan = job_.plan(variant.choices);
      if (!is_valid(variant.plan) || !fits(job_, variant.plan)) continue;
      variants.push_back(std::move(variant));
      of.push_back(descent.candidate);
    }
    estimate_steps("overlap settings", variants);
    for (std::size_t i = 0; i < variants.size(); ++i) take_best(*of[i], std::span(variants).subspan(i, 1));
  }

  // The candidate with each other value of a knob, if that gives a different plan that fits.
  std::vector<Candidate> variants_of(const Candidate& candidate, const plan::SearchAxis& axis) const {
    std::vector<Candidate> variants;
    std::set<std::string> seen{effect_of(candidate.plan)};
    for (const std::string& value : axis.values) {
      Candidate variant{.choices = candidate.choices};
      variant.choices[axis.knob] = value;
      if (value.empty()) variant.choices.erase(axis.knob);
      if (variant.choices == candidate.choices) continue;
      variant.plan = job_.plan(variant.choices);
      if (is_valid(variant.plan) && fits(job_, variant.plan) && seen.insert(effect_of(variant.plan)).second)
        variants.push_back(std::move(variant));
    }
    return variants;
  }

  void play_in_full(std::vector<Candidate>& candidates) {
    std::vector<SimulatedStep> steps;
    for (const Candidate& candidate : candidates) steps.push_back(whole_step_of(candidate));
    const std::vector<StepTime> times = simulate("whole steps", steps);
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].step_ns = times[i].ns;
    std::erase_if(candidates, [](const Candidate& candidate) { return candidate.step_ns == 0; });
    std::ranges::sort(candidates, is_shorter);
    if (!candidates.empty()) set_best(candidates.front());
  }

  std::vector<Candidate> combinations() {
    std::vector<Candidate> all;
    std::set<std::string> seen;
    const std::vector<Choices> layouts = layouts_of(job_);
    result_.counts.layouts = layouts.size();
    for (const Choices& layout : layouts) {
      const plan::Plan bare = job_.plan(layout);
      if (!bare.errors.empty()) {
        ++result_.counts.refused[bare.errors.front().message];
        continue;
      }
      for (const Choices& more : recomputations(job_, bare.config))
        append_combinations(merged(layout, more), overlap_axes(job_, bare.config), 0, all, seen);
    }
    return all;
  }

  void append_combinations(const Choices& choices, const std::vector<plan::SearchAxis>& axes, std::size_t axis,
                           std::vector<Candidate>& all, std::set<std::string>& seen) const {
    if (axis < axes.size()) {
      for (const std::string& value : axes[axis].values)
        append_combinations(value.empty() ? choices : merged(choices, {{axes[axis].knob, value}}), axes, axis + 1, all,
                            seen);
      return;
    }
    Candidate candidate{.choices = choices, .plan = job_.plan(choices)};
    if (!is_valid(candidate.plan) || !fits(job_, candidate.plan)) return;
    if (!seen.insert(effect_of(candidate.plan)).second) return;
    if (all.size() == kMostCombinations)
      throw std::invalid_argument(
          fmt::format("--exhaustive: more than {} combinations; set knobs that should not be searched in {}",
                      kMostCombinations, "the file"));
    all.push_back(std::move(candidate));
  }

  // Traced steps take as long as others.
  SearchResult finish(std::vector<Candidate> candidates) {
    if (candidates.size() > kBestShown) candidates.resize(kBestShown);
    std::vector<StepExposure> exposures(candidates.size());
    std::size_t done = 0;
    std::mutex mutex;
    on_all_cores(candidates.size(), [&](std::size_t i) {
      const plan::Config& config = candidates[i].plan.config;
      exposures[i] = step_exposure(config, job_.hardware_of(config));
      const std::lock_guard lock(mutex);
      report("whole steps", ++done, candidates.size());
    });
    for (std::size_t i = 0; i < candidates.size(); ++i)
      result_.best.push_back({.choices = std::move(candidates[i].choices),
                              .plan = std::move(candidates[i].plan),
                              .step = std::move(exposures[i]),
                              .least_step_ns = candidates[i].least_ns,
                              .worth = {}});
    std::ranges::stable_sort(result_.best, {}, [](const TunedConfig& config) { return config.step.step_ns; });
    find_worth();
    result_.counts.simulated = steps_.num_simulated();
    return std::move(result_);
  }

  /// A knob's setting for comparison: off, or the default.
  struct Change {
    std::size_t of;
    KnobWorth worth;
    Candidate candidate;
  };

  void find_worth() {
    std::vector<Candidate> bases, valid;
    std::vector<Change> changes;
    for (std::size_t i = 0; i < result_.best.size(); ++i) {
      bases.push_back({.choices = result_.best[i].choices, .plan = result_.best[i].plan});
      append_changes(i, changes);
    }
    estimate_steps("effect of each knob", bases);
    for (const Change& change : changes)
      if (change.worth.failure.empty()) valid.push_back(change.candidate);
    estimate_steps("effect of each knob", valid);
    std::size_t next = 0;
    for (Change& change : changes) {
      TunedConfig& config = result_.best[change.of];
      if (change.worth.failure.empty()) {
        const Candidate& changed = valid[next++];
        change.worth.failure = changed.failure;
        change.worth.step_ns = config.step.step_ns + changed.step_ns - bases[change.of].step_ns;
      }
      config.worth.push_back(std::move(change.worth));
    }
    for (TunedConfig& config : result_.best)
      std::ranges::stable_sort(config.worth,
                               [](const KnobWorth& a, const KnobWorth& b) { return a.step_ns > b.step_ns; });
  }

  void append_changes(std::size_t i, std::vector<Change>& changes) const {
    const TunedConfig& config = result_.best[i];
    const auto add = [&](std::string name, std::string value, std::string against, const Choices& change) {
      Change made{i, {std::move(name), std::move(value), std::move(against), 0, ""}, {}};
      made.candidate.choices = merged(config.choices, change);
      made.candidate.plan = job_.plan(made.candidate.choices);
      if (!is_valid(made.candidate.plan)) made.worth.failure = refusal_of(made.candidate.plan);
      changes.push_back(std::move(made));
    };
    for (const OverlapSwitch& each : switches_on(config.plan.config)) add(each.name, "on", "off", each.off);
    for (const plan::SearchAxis& axis : overlap_axes(job_, config.plan.config)) {
      const auto chosen = config.choices.find(axis.knob);
      const std::string value = chosen == config.choices.end() ? "" : chosen->second;
      if (value != axis.values.front() && value != "false")
        add(axis.knob, value, axis.values.front().empty() ? "the rule's" : axis.values.front(),
            {{axis.knob, axis.values.front()}});
    }
  }

  std::vector<StepTime> simulate(const std::string& what, const std::vector<SimulatedStep>& steps) {
    return steps_.simulate(steps, [&](std::size_t done, std::size_t count) { report(what, done, count); });
  }

  const TuneJob& job_;
  SimulatedSteps& steps_;
  const SearchProgress& progress_;
  SearchResult result_;
  std::int64_t best_ns_ = 0;
  Choices best_;
};

}  // namespace

SearchResult search(const TuneJob& job, SimulatedSteps& steps, const SearchProgress& progress) {
  return Search(job, steps, progress).run();
}

SearchResult search_exhaustively(const TuneJob& job, SimulatedSteps& steps, const SearchProgress& progress) {
  return Search(job, steps, progress).run_exhaustively();
}

}  // namespace underlap::bench
