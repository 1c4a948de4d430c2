// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/space.hpp"

#include <iterator>
#include <numeric>

namespace underlap::bench {
namespace {

constexpr const char* kMicroBatch = "train.micro_batch_size";
constexpr std::int64_t kMostSequencesOfAMicrobatch = 8;

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= number; ++d)
    if (number % d == 0) all.push_back(d);
  return all;
}

std::vector<std::int64_t> up_to(std::int64_t number) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(number));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

/// Lays out one cell of the file.
class Layouts {
 public:
  Layouts(const TuneJob& job, const std::string& cell, const plan::Config& config)
      : job_(job),
        cell_(cell),
        model_(config.model),
        micro_(config.train.micro_batch_size),
        machine_{.gpus = job.num_gpus(), .gpus_per_node = job.gpus_per_node()} {
    // Numbers of ranks before what cuts a rank's share further.
    for (const bool numbers_ranks : {true, false})
      for (const auto& [mode, size] : plan::all_sizes())
        if (size->is_worth_trying != nullptr && (size == &mode->sizes.front()) == numbers_ranks)
          searched_.push_back({mode, size, plan::size_of(config.parallel, *mode, *size)});
  }

  void append_to(std::vector<Choices>& all) const { append_sizes(all, {}, 0, job_.num_gpus()); }

 private:
  struct Searched {
    const plan::ModeRules* mode;
    const plan::SizeField* size;
    std::int32_t in_effect;
  };

  /// The values to try for what cuts `number` of something; the one in effect where the file gives it.
  std::vector<std::int64_t> values(std::string_view knob, std::int64_t in_effect, std::vector<std::int64_t> all) const {
    return job_.is_open(knob) ? std::move(all) : std::vector<std::int64_t>{in_effect};
  }

  /// Chooses the sizes from `next` on; `gpus` are left of the job's by those before.
  void append_sizes(std::vector<Choices>& all, plan::ParallelConfig sizes, std::size_t next, std::int64_t gpus) const {
    if (next == searched_.size()) return append_batches(all, sizes, gpus);
    const auto& [mode, size, in_effect] = searched_[next];
    const bool numbers_ranks = size == &mode->sizes.front();
    for (const std::int64_t value :
         values(size->knob, in_effect, numbers_ranks ? divisors(machine_.gpus) : up_to(model_.num_layers))) {
      if (numbers_ranks && gpus % value != 0) continue;
      if (!size->is_worth_trying(model_, sizes, value, machine_)) continue;
      plan::set_size(sizes, *mode, *size, static_cast<std::int32_t>(value));
      append_sizes(all, sizes, next + 1, numbers_ranks ? gpus / value : gpus);
    }
  }

  void append_batches(std::vector<Choices>& all, const plan::ParallelConfig& sizes, std::int64_t replicas) const {
    for (const std::int64_t micro : values(kMicroBatch, micro_, {1, 2, 4, kMostSequencesOfAMicrobatch}))
      if (job_.batch() % (replicas * micro) == 0) all.push_back(layout(sizes, micro));
  }

  // A knob that the file gives is not written again.
  Choices layout(const plan::ParallelConfig& sizes, std::int64_t micro) const {
    Choices choices;
    const auto choose = [&](std::string_view knob, const std::string& value) {
      if (job_.is_open(knob)) choices[std::string(knob)] = value;
    };
    if (job_.cells().size() > 1) choices[plan::kOneCell] = cell_;
    for (const auto& [mode, size, in_effect] : searched_) {
      const std::int32_t value = plan::size_of(sizes, *mode, *size);
      choose(size->knob, value == 1 && size->is_unset_at_1 ? "" : std::to_string(value));
      if (mode->chosen_with != nullptr)
        for (const auto& [knob, with] : mode->chosen_with(model_, sizes)) choose(knob, with);
    }
    choose(kMicroBatch, std::to_string(micro));
    return choices;
  }

  const TuneJob& job_;
  const std::string& cell_;
  const plan::ModelConfig& model_;
  std::int64_t micro_;
  plan::SearchedMachine machine_;
  std::vector<Searched> searched_;
};

}  // namespace

std::vector<Choices> layouts_of(const TuneJob& job) {
  std::vector<Choices> all;
  for (const auto& [cell, config] : job.cells()) Layouts(job, cell, config).append_to(all);
  return all;
}

std::vector<Choices> recomputations(const TuneJob& job, const plan::Config& layout) {
  std::vector<Choices> all{{}};
  if (!job.is_open("model.recompute_granularity") || !job.is_open("model.recompute_method") ||
      !job.is_open("model.recompute_num_layers"))
    return all;
  const std::vector<std::int32_t>& ranges = layout.parallel.layers_of_ranges;
  const std::int64_t layers =
      ranges.empty() ? layout.model.num_layers / layout.parallel.num_chunks() : *std::ranges::max_element(ranges);
  for (std::int64_t num = 1; num <= layers; ++num)
    all.push_back({{"model.recompute_granularity", "full"},
                   {"model.recompute_method", "block"},
                   {"model.recompute_num_layers", std::to_string(num)}});
  return all;
}

std::vector<plan::SearchAxis> overlap_axes(const TuneJob& job, const plan::Config& layout) {
  const auto is_open = [&](std::string_view knob) { return job.is_open(knob); };
  std::vector<plan::SearchAxis> axes;
  for (const plan::ModeRules& mode : plan::all_mode_rules())
    if (mode.axes != nullptr && mode.is_in_use(layout.parallel))
      std::ranges::move(mode.axes(layout, is_open), std::back_inserter(axes));
  axes.push_back({"environment.layernorm_sm_margin", {"", "0", "8"}});
  axes.push_back({"environment.cuda_device_max_connections", {"", "1", "8", "32"}});
  std::erase_if(axes, [&](const plan::SearchAxis& axis) { return !is_open(axis.knob) || axis.values.size() < 2; });
  return axes;
}

std::vector<OverlapSwitch> switches_on(const plan::Config& config) {
  std::vector<OverlapSwitch> on;
  for (const plan::ModeRules& mode : plan::all_mode_rules())
    for (const plan::SearchSwitch& each : mode.switches)
      if (each.is_on(config)) on.push_back({std::string(each.name), {each.off.begin(), each.off.end()}});
  return on;
}

}  // namespace underlap::bench
