// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace underlap::attribution {
namespace {

// Confidence in percent: at least this share of the communication attributed this way was correct in hidden-tags runs
// (tests/bench/attribution).
constexpr std::uint8_t kRanksOfConfig = 97;
constexpr std::uint8_t kSizesOfConfig = 90;
constexpr std::uint8_t kRhythmOfConfig = 85;
constexpr std::uint8_t kRhythm = 75;

// Part of the slices of a context-parallel exchange that are next to attention. Fails when attention kernels have names
// that compute_class_of() does not know: the probable mode is then another one, or none.
constexpr double kNextToAttention = 0.7;
// A layer of a transformer has some 15 to 40 kernels in both passes together: what comes once in more than this many
// comes not for each layer. Fails when layers are fused into a few kernels, or when a stage has few of them.
constexpr double kKernelsOfManyLayers = 200;
// Tensor parallelism gathers or reduces around every one or two GEMMs. Gathering the parameters of a layer (FSDP) is
// rarer. Without a configuration, communication that occurs once in more kernels than this may be either.
// Fails when FSDP gathers small modules more often: the probable mode of its gathers is then tp.
constexpr double kKernelsOfAGemm = 15;
// A ring sends and receives at once; a pipeline does so at times. Fails when the trace has no directions: without a
// configuration, a pipeline then has no mode.
constexpr double kSometimes = 0.02;
// Gradients are scattered, and parameters gathered, in series. Fails when the two alternate, as in the backward pass of
// FSDP: then only their frequency counts.
constexpr double kLongRun = 4;
// Tensor parallelism exchanges several times per layer, stages once per chunk. Fails when chunks have few layers: the
// probable mode of both may then be pp.
constexpr double kFarMoreFrequent = 5;

bool holds(const std::vector<Mode>& modes, Mode mode) { return std::ranges::find(modes, mode) != modes.end(); }

// What may be, and how that is known.
struct Candidates {
  std::vector<Mode> modes;
  std::uint8_t confidence_pct = 0;  // where it is only one
  std::string_view by = {};
};

class Inferrer {
 public:
  Inferrer(const Trace& trace, std::span<const Channel> channels, const RankLayouts& layouts)
      : trace_(trace), channels_(channels), layouts_(layouts) {}

  std::vector<Inference> run() {
    std::vector<Inference> all;
    for (const Channel& channel : channels_) all.push_back(of(channel));
    return all;
  }

 private:
  const GroupRecord* group_of(const Channel& channel) const {
    return channel.group ? &trace_.groups[*channel.group] : nullptr;
  }

  Candidates candidates_of(const Channel& channel) const {
    const GroupRecord* group = group_of(channel);
    if (!layouts_.are_known()) return {{Mode::tp, Mode::cp, Mode::ep, Mode::dp, Mode::pp}, 0, ""};
    if (group != nullptr && !group->ranks.empty())
      return {modes_of_ranks(group->ranks, layouts_), kRanksOfConfig,
              "its group has the ranks that the configuration gives to"};
    if (group != nullptr && group->size() > 0)
      return {modes_of_size(group->num_ranks, layouts_), kSizesOfConfig,
              "the only mode with groups of this size in the configuration:"};
    return {modes_in_use(layouts_), kSizesOfConfig, "the only mode with several ranks in the configuration:"};
  }

  Inference of(const Channel& channel) const {
    if (const GroupRecord* group = group_of(channel); group != nullptr && group->size() == 1) return {};
    Candidates candidates = candidates_of(channel);
    // No one exchanges gradients or activations of stages by all-to-all. Fails when gradients are quantized and reduced
    // by all-to-all (ZeRO++): their mode is then cp or ep.
    if (channel.traffic == Traffic::all_to_all)
      std::erase_if(candidates.modes, [](Mode mode) { return mode == Mode::dp || mode == Mode::pp; });
    if (candidates.modes.size() == 1) {
      const Mode mode = candidates.modes.front();
      return {mode, AttributionSource::group_geometry, candidates.confidence_pct,
              fmt::format("{} {}", candidates.by, to_string(mode))};
    }
    switch (channel.traffic) {
      case Traffic::point_to_point: return of_exchange(channel, candidates.modes);
      case Traffic::all_to_all: return of_all_to_all(channel, candidates.modes);
      case Traffic::collective: return of_collective(channel, candidates.modes);
    }
    return {};
  }

  Inference by_rhythm(Mode mode, std::string_view reason) const {
    return {mode, AttributionSource::rhythm, layouts_.are_known() ? kRhythmOfConfig : kRhythm, std::string(reason)};
  }

  Inference of_exchange(const Channel& channel, const std::vector<Mode>& modes) const {
    if (holds(modes, Mode::cp) && channel.next_to_attention >= kNextToAttention)
      return by_rhythm(Mode::cp, "sends and receives next to attention");
    if (holds(modes, Mode::pp) && channel.one_way >= kSometimes)
      return by_rhythm(Mode::pp, "sends without receiving, or receives without sending");
    if (!layouts_.are_known())
      return is_ring_of_a_layer(channel) ? by_rhythm(Mode::tp, "a ring for each layer") : Inference{};
    if (holds(modes, Mode::tp) && (!holds(modes, Mode::pp) || is_far_more_frequent(channel)))
      return by_rhythm(Mode::tp, "sends and receives far more often than other exchanges");
    if (holds(modes, Mode::pp)) return by_rhythm(Mode::pp, "sends and receives, not next to attention");
    return holds(modes, Mode::cp) ? by_rhythm(Mode::cp, "sends and receives") : Inference{};
  }

  // Without a configuration a SendRecv may be an all-to-all, unless the trace rules that out.
  bool is_ring_of_a_layer(const Channel& channel) const {
    return channel.stated_both_ways == 1 && is_contiguous(channel) && is_for_each_layer(channel);
  }

  bool is_far_more_frequent(const Channel& channel) const {
    return std::ranges::any_of(channels_, [&](const Channel& other) {
      return other.rank == channel.rank && other.traffic == Traffic::point_to_point &&
             other.compute_per_slice > kFarMoreFrequent * channel.compute_per_slice;
    });
  }

  Inference of_all_to_all(const Channel& channel, const std::vector<Mode>& modes) const {
    if (holds(modes, Mode::cp) && channel.next_to_attention >= kNextToAttention)
      return by_rhythm(Mode::cp, "all-to-all next to attention");
    if (!layouts_.are_known()) return {};
    if (holds(modes, Mode::ep)) return by_rhythm(Mode::ep, "all-to-all, not next to attention");
    return holds(modes, Mode::cp) ? by_rhythm(Mode::cp, "all-to-all") : Inference{};
  }

  static bool is_once_a_step(const Channel& channel) {
    const bool is_rare = channel.compute_per_slice >= kKernelsOfManyLayers;
    return channel.has_both && (is_rare || channel.slices_per_run >= kLongRun);
  }

  Inference of_collective(const Channel& channel, const std::vector<Mode>& modes) const {
    if (channel.only_reduces && channel.compute_per_slice >= kKernelsOfManyLayers)
      return of_rare_reduces(channel, modes);
    if (holds(modes, Mode::dp) && is_once_a_step(channel))
      return by_rhythm(Mode::dp, "gathers and reduces in long series, or once per many layers of compute");
    if (holds(modes, Mode::cp) && channel.next_to_attention >= kNextToAttention)
      return by_rhythm(Mode::cp, "gathers next to attention");
    if (holds(modes, Mode::tp) && (layouts_.are_known() || (is_contiguous(channel) && is_for_each_layer(channel))))
      return by_rhythm(Mode::tp, "gathers and reduces between few kernels");
    if (layouts_.are_known() && holds(modes, Mode::dp)) return by_rhythm(Mode::dp, "no other mode gathers or reduces");
    return {};
  }

  // Tensor parallelism is between neighbors. Where the ranks are not known, they may be. Fails when a launcher
  // spreads a tensor-parallel group: it then has no mode.
  bool is_contiguous(const Channel& channel) const {
    const GroupRecord* group = group_of(channel);
    if (group == nullptr || group->ranks.empty()) return true;
    const auto [first, last] = std::ranges::minmax_element(group->ranks);
    return *last - *first + 1 == static_cast<std::int32_t>(group->ranks.size());
  }

  // Several communicators may have the same ranks, as userbuffers have one for each GEMM.
  bool is_for_each_layer(const Channel& channel) const {
    const GroupRecord* group = group_of(channel);
    double slices_per_kernel = 0;
    for (const Channel& other : channels_) {
      const GroupRecord* theirs = group_of(other);
      const bool has_same_ranks = group != nullptr && theirs != nullptr && !group->ranks.empty() &&
                                  theirs->ranks == group->ranks && other.rank == channel.rank;
      if ((&other == &channel || has_same_ranks) && other.compute_per_slice > 0)
        slices_per_kernel += 1 / other.compute_per_slice;
    }
    return slices_per_kernel * kKernelsOfAGemm >= 1;
  }

  // All-reduces once per step reduce either all gradients, or an embedding that two stages share. The latter occur
  // together with gradients that are gathered and scattered, or among ranks that exchange as stages do. Fails when the
  // norm of sharded gradients has a group of its own: its probable mode is then pp.
  Inference of_rare_reduces(const Channel& channel, const std::vector<Mode>& modes) const {
    if (holds(modes, Mode::pp) && (has_neighbor(channel, is_of_sharded_gradients) || is_among_stages(channel)))
      return by_rhythm(Mode::pp, "all-reduces once per step, in addition to gathering and scattering gradients");
    if (!layouts_.are_known() && has_neighbor(channel, is_exchange)) return {};
    if (holds(modes, Mode::dp)) return by_rhythm(Mode::dp, "all-reduces once per many layers of compute");
    return holds(modes, Mode::pp) ? by_rhythm(Mode::pp, "all-reduces once per many layers of compute") : Inference{};
  }

  static bool is_of_sharded_gradients(const Channel& channel) { return channel.has_both && is_once_a_step(channel); }
  static bool is_exchange(const Channel& channel) { return channel.traffic == Traffic::point_to_point; }

  bool has_neighbor(const Channel& channel, bool (*is_wanted)(const Channel&)) const {
    return std::ranges::any_of(channels_, [&](const Channel& other) {
      return &other != &channel && other.rank == channel.rank && is_wanted(other);
    });
  }

  bool is_among_stages(const Channel& channel) const {
    const GroupRecord* group = group_of(channel);
    if (group == nullptr || group->ranks.empty()) return false;
    std::set<std::int32_t> stages;
    for (const Channel& other : channels_)
      if (const GroupRecord* theirs = group_of(other); theirs && is_exchange(other) && other.one_way >= kSometimes)
        stages.insert(theirs->ranks.begin(), theirs->ranks.end());
    return std::ranges::all_of(group->ranks, [&](std::int32_t rank) { return stages.contains(rank); });
  }

  const Trace& trace_;
  std::span<const Channel> channels_;
  const RankLayouts& layouts_;
};

}  // namespace

std::vector<Inference> infer(const Trace& trace, std::span<const Channel> channels, const RankLayouts& layouts) {
  return Inferrer(trace, channels, layouts).run();
}

}  // namespace underlap::attribution
