// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "profiler/attribution/annotations.hpp"
#include "profiler/attribution/group_names.hpp"
#include "profiler/attribution/inference.hpp"
#include "profiler/attribution/kernel_rules.hpp"
#include "profiler/attribution/map_lookup.hpp"
#include "profiler/attribution/name_patterns.hpp"
#include "profiler/trace/communication_parts.hpp"

namespace underlap::attribution {
namespace {

using Says = NameMeaning::Says;

struct Found {
  Mode mode = Mode::none;
  Attribution attribution{AttributionSource::none, 0, kNoName};
};

NameMeaning meaning_of_launch(std::string_view annotation) {
  return {.says = Says::known,
          .what = KernelClass::communication,
          .purpose = collective_of_annotation(annotation).value_or("")};
}

class Names {
 public:
  const NameMeaning& kernel(NameId name) { return kernels_.of(name, meaning_of_kernel); }
  const NameMeaning& copy(NameId name) { return copies_.of(name, meaning_of_copy); }
  /// Of what is launched in the annotation of that name.
  const NameMeaning& launch(NameId annotation) { return launches_.of(annotation, meaning_of_launch); }

 private:
  ByName<NameMeaning> kernels_;
  ByName<NameMeaning> copies_;
  ByName<NameMeaning> launches_;
};

Found by_group_name(const GroupRecord& group) {
  for (const NameId name : {group.description, group.name}) {
    const std::optional<GroupMeaning> meaning = meaning_of_group(name_of(name));
    if (!meaning) continue;
    const std::string reason = fmt::format("its group is called {}, a name used by {}", name_of(name), meaning->maker);
    return {meaning->mode, {AttributionSource::group_name, meaning->confidence_pct, intern(reason)}};
  }
  return {};
}

// Streams may be shared, if seldom.
constexpr std::uint8_t kByStream = 85;

Found by_group_of_stream(const GroupRecord& group, Found found) {
  const NameId name = group.description != kNoName ? group.description : group.name;
  found.attribution.confidence_pct = std::min(found.attribution.confidence_pct, kByStream);
  found.attribution.reason =
      intern(fmt::format("it names no group, and all others on this stream name {}", name_of(name)));
  return found;
}

// A library may be used for something else than what it was made for.
constexpr std::uint8_t kByLibrary = 90;
// A group may serve several modes, of which only one is annotated.
constexpr std::uint8_t kByOthers = 75;

Found by_annotation(NameId name) {
  const std::optional<AnnotationMeaning> meaning = meaning_of_annotation(name_of(name));
  const std::string reason = fmt::format("it was launched in {}", name_of(name));
  return {meaning->mode, {AttributionSource::annotation, meaning->confidence_pct, intern(reason)}};
}

Found by_launch_of_others(NameId name) {
  const std::optional<AnnotationMeaning> meaning = meaning_of_annotation(name_of(name));
  const std::string reason = fmt::format("others in its group were launched in {}", name_of(name));
  return {meaning->mode, {AttributionSource::annotation, kByOthers, intern(reason)}};
}

Found by_library(const NameMeaning& meaning) {
  if (meaning.mode == Mode::none) return {};
  const std::string reason = fmt::format("a kernel of {}, a library used only for this mode", meaning.library);
  return {meaning.mode, {AttributionSource::kernel_name, kByLibrary, intern(reason)}};
}

// From here on a mode is stated as fact. Below, communication stays unattributed, with the probable mode as its reason.
constexpr std::uint8_t kFact = 90;

class Attributor {
 public:
  Attributor(Trace& trace, const AttributionOptions& options)
      : trace_(trace),
        map_(options.mode_map),
        rules_(options.mode_map.rules),
        obeyed_(rules_.size()),
        layouts_(options.layouts),
        groups_(trace),
        is_ours_(trace.metadata.contains("backend")) {
    for (const GroupRecord& group : trace.groups) group_modes_.push_back(by_group_name(group));
  }

  AttributionReport run() {
    for (std::size_t i = 0; i < trace_.size(); ++i) visit(i);
    if (!waiting_.empty() || !doubtful_.empty() || !copies_.empty()) annotations_.emplace(trace_);
    settle_annotated();
    settle_copies();
    settle_doubtful();
    settle_waiting();
    settle_parts();
    return report();
  }

 private:
  struct Sum {
    std::int64_t count = 0;
    std::int64_t time_ns = 0;
  };

  // A slice whose kind or mode is still unknown.
  struct Open {
    std::size_t slice = 0;
    const NameMeaning* meaning = nullptr;
  };

  void visit(std::size_t i) {
    const Tag& tag = trace_.tag(i);
    if (is_tagged(i)) {
      if (tag.kind == Kind::communication) count(i);
      return;
    }
    if (tag.kind == Kind::none || trace_.track_of(i).kind != TrackKind::stream) return;
    const NameMeaning& meaning = tag.kind == Kind::copy ? names_.copy(trace_.name(i)) : names_.kernel(trace_.name(i));
    const bool is_communication = trace_.communication(i) != nullptr || meaning.is(KernelClass::communication);
    if (const ModeRule* rule = map_.rule_of(trace_, i); rule && (rule->names_kernels() || is_communication))
      obey(i, meaning, *rule);
    else if (meaning.is(KernelClass::fused))
      set_fused(i, fmt::format("a fused kernel of {}", meaning.library));
    else if (meaning.says == Says::device_copy || (is_communication && (tag.kind == Kind::copy || trace_.is_part(i))))
      copies_.push_back({i, &meaning});
    else if (is_communication)
      take(i, meaning);
    else if (meaning.is(KernelClass::copy))
      set_kind(i, Kind::copy);
    else if (meaning.says == Says::looks_like_comm)
      doubtful_.push_back({i, &meaning});
    else if (tag.kind == Kind::compute && trace_.name(i) == kNoName)
      set_unclassified(i, "the trace has no name for it");
    else if (!meaning.why_not.empty())
      leave(i, meaning.why_not);
  }

  void set_kind(std::size_t i, Kind kind) {
    Tag tag = trace_.tag(i);
    tag.kind = kind;
    trace_.set_tag(i, tag, trace_.attribution(i));
  }

  void set_fused(std::size_t i, std::string_view reason) {
    trace_.set_tag(i, trace_.tag(i), {AttributionSource::fused, 100, intern(reason)});
    leave(i, reason);
  }

  void set_unclassified(std::size_t i, std::string_view reason) {
    trace_.set_tag(i, trace_.tag(i), {AttributionSource::unclassified, 0, intern(reason)});
    leave(i, reason);
  }

  // Copies between devices communicate. Copies within a device do if a collective launched them and no kernel
  // communicates for it. All copies in one annotation are one communication.
  void settle_copies() {
    if (copies_.empty()) return;
    std::ranges::stable_sort(copies_, {}, [&](const Open& open) { return trace_.start_ns()[open.slice]; });
    std::map<std::size_t, std::size_t> first_of;  // by annotation
    std::set<std::size_t> with_kernel;
    for (const std::size_t kernel : kernels_)
      if (const auto annotation = annotations_->with_collective(kernel)) with_kernel.insert(*annotation);
    const CommunicationParts parts(trace_);
    std::optional<std::uint32_t> unnamed;
    for (const Open& open : copies_) {
      if (trace_.communication(open.slice) != nullptr) {
        take_recorded(open, parts.first_of(open.slice));
        continue;
      }
      const auto annotation = annotations_->with_collective(open.slice);
      const bool is_of_collective = annotation && !with_kernel.contains(*annotation);
      if (!is_of_collective && open.meaning->says == Says::device_copy) continue;
      if (is_of_collective) {
        const auto [first, is_new] = first_of.try_emplace(*annotation, open.slice);
        if (!unnamed) unnamed = trace_.add_group({});
        trace_.set_communication(open.slice,
                                 {.group = *unnamed, .sequence = *annotation, .is_part = !is_new, .transfers = {}});
        if (!is_new) {
          parts_.emplace_back(open.slice, first->second);
          continue;
        }
      }
      take(open.slice, is_of_collective ? names_.launch(trace_.name(*annotation)) : *open.meaning);
    }
  }

  // Where a mode map takes the first slice of a communication out of it, the communication starts with the next.
  void take_recorded(const Open& open, std::size_t first) {
    if (first != open.slice) {
      const auto [start, is_new] = starts_.try_emplace(first, first);
      if (trace_.tag(start->second).kind == Kind::communication)
        return void(parts_.emplace_back(open.slice, start->second));
      start->second = open.slice;
      CommunicationRecord record = *trace_.communication(first), taken_out = record;
      taken_out.is_part = true;
      trace_.set_communication(open.slice, std::move(record));
      trace_.set_communication(first, std::move(taken_out));
    }
    take(open.slice, *open.meaning);
  }

  // Parts get the tag and attribution of the first slice.
  void settle_parts() {
    for (const auto& [part, first] : parts_) {
      trace_.set_tag(part, trace_.tag(first), trace_.attribution(first));
      count(part);
    }
  }

  bool is_tagged(std::size_t i) const {
    if (trace_.attribution(i).source != AttributionSource::tag) return false;
    return is_ours_ || trace_.tag(i).mode != Mode::none || trace_.tag(i).kind == Kind::copy;
  }

  // Takes a slice as communication. Its group's name gives the mode, else it waits until all communication is known.
  void take(std::size_t i, const NameMeaning& meaning) {
    if (trace_.tag(i).kind != Kind::copy) kernels_.push_back(i);
    const Found found = by_name_of_group(i);
    set(i, meaning.purpose, found);
    if (found.mode == Mode::none)
      waiting_.push_back({i, &meaning});
    else
      count(i);
  }

  Found by_name_of_group(std::size_t i) const {
    const std::optional<std::uint32_t> group = groups_.group_of(i);
    if (!group || group_modes_[*group].mode == Mode::none || !groups_.is_by_track(i))
      return group ? group_modes_[*group] : Found{};
    return by_group_of_stream(trace_.groups[*group], group_modes_[*group]);
  }

  void set(std::size_t i, std::string_view purpose, Found found) {
    Tag tag = trace_.tag(i);
    tag.kind = Kind::communication;
    if (tag.purpose == kNoName && !purpose.empty()) tag.purpose = intern(purpose);
    if (found.mode != Mode::none && found.attribution.confidence_pct < kFact) {
      found.attribution.reason =
          intern(fmt::format("probably {}: {}", to_string(found.mode), name_of(found.attribution.reason)));
      found.mode = Mode::none;
    }
    tag.mode = found.mode;
    trace_.set_tag(i, tag, found.attribution);
  }

  void obey(std::size_t i, const NameMeaning& meaning, const ModeRule& rule) {
    add(i, obeyed_[static_cast<std::size_t>(&rule - rules_.data())]);
    const Attribution by_map{AttributionSource::mode_map, 100, rule.reason};
    if (rule.what == KernelClass::fused) return set_fused(i, name_of(rule.reason));
    if (rule.what != KernelClass::communication) {
      if (rule.what == KernelClass::copy) set_kind(i, Kind::copy);
      return trace_.set_tag(i, trace_.tag(i), by_map);
    }
    if (rule.mode == Mode::none) return take(i, meaning);
    if (trace_.tag(i).kind != Kind::copy) kernels_.push_back(i);
    set(i, meaning.purpose, {rule.mode, by_map});
    if (rule.purpose != kNoName) {
      Tag tag = trace_.tag(i);
      tag.purpose = rule.purpose;
      trace_.set_tag(i, tag, by_map);
    }
    count(i);
  }

  // A name that looks like communication is taken where a second thing speaks for it: the annotation of its launch,
  // or the other work of its stream.
  void settle_annotated() {
    std::erase_if(doubtful_, [&](const Open& open) {
      const auto annotation = annotations_->with_collective(open.slice);
      if (annotation) take(open.slice, names_.launch(trace_.name(*annotation)));
      return annotation.has_value();
    });
  }

  void settle_doubtful() {
    if (doubtful_.empty()) return;
    const std::vector<bool> only_communicates = tracks_that_only_communicate();
    for (const Open& open : doubtful_)
      if (only_communicates[trace_.track(open.slice)])
        take(open.slice, kByItsStream);
      else
        set_unclassified(open.slice, "no rule matches its name (a mode map can assign it)");
  }

  // By track: whether all of its work is communication or looks like it. A track without known communication counts
  // only if another track of the rank computes. Fails for compute with such names on a stream of its own.
  std::vector<bool> tracks_that_only_communicate() const {
    std::vector<std::size_t> communications(trace_.tracks.size());
    std::vector<std::size_t> others(trace_.tracks.size());
    for (std::size_t i = 0; i < trace_.size(); ++i)
      if (trace_.is_work(i)) ++(trace_.tag(i).kind == Kind::communication ? communications : others)[trace_.track(i)];
    for (const Open& open : doubtful_) --others[trace_.track(open.slice)];
    std::set<std::int32_t> computing_ranks;
    for (std::size_t t = 0; t < others.size(); ++t)
      if (others[t] > 0) computing_ranks.insert(trace_.tracks[t].rank);
    std::vector<bool> only(trace_.tracks.size());
    for (std::size_t t = 0; t < only.size(); ++t)
      only[t] = others[t] == 0 && (communications[t] > 0 || computing_ranks.contains(trace_.tracks[t].rank));
    return only;
  }

  void settle_waiting() {
    std::vector<std::size_t> slices;
    std::unordered_map<std::size_t, const NameMeaning*> meanings;
    for (const Open& open : waiting_) {
      name_purpose(open.slice);
      slices.push_back(open.slice);
      meanings.emplace(open.slice, open.meaning);
    }
    const std::vector<Channel> channels = channels_of(trace_, slices, groups_);
    const std::vector<Inference> inferences = infer(trace_, channels, layouts_);
    find_launches_of_groups(channels);
    for (std::size_t c = 0; c < channels.size(); ++c)
      for (const std::size_t i : channels[c].slices) {
        set(i, "", mode_of(i, *meanings.at(i), inferences[c]));
        count(i);
      }
  }

  // A kernel of any transfer may be called SendRecv; its launch has more information.
  void name_purpose(std::size_t i) {
    if (trace_.tag(i).purpose != kNoName) return;
    const CommunicationRecord* record = trace_.communication(i);
    if (record != nullptr && !record->transfers.empty()) return;
    if (const auto annotation = annotations_->with_collective(i))
      set(i, names_.launch(trace_.name(*annotation)).purpose, {});
  }

  Found mode_of(std::size_t i, const NameMeaning& meaning, const Inference& inference) {
    const Found inferred{inference.mode, {inference.source, inference.confidence_pct, intern(inference.reason)}};
    if (inference.is_certain()) return inferred;
    const auto annotation = annotations_->with_mode(i);
    const Found* const others = by_others_of_group(i);
    // The best evidence first; the first that suffices for a fact counts, else the first of all.
    Found probable;
    for (const Found& found : {annotation ? annotated(trace_.name(*annotation)) : Found{}, by_library(meaning),
                               others == nullptr ? Found{} : *others, inferred}) {
      if (found.mode == Mode::none) continue;
      if (found.attribution.confidence_pct >= kFact) return found;
      if (probable.mode == Mode::none) probable = found;
    }
    return probable;
  }

  const Found& annotated(NameId annotation) {
    const auto [entry, is_new] = annotated_.try_emplace(annotation);
    if (is_new) entry->second = by_annotation(annotation);
    return entry->second;
  }

  // Of groups that communicate in annotations of one mode alone, the rest is of that mode, too.
  void find_launches_of_groups(const std::vector<Channel>& channels) {
    for (const Channel& channel : channels)
      for (const std::size_t i : channel.slices) {
        const auto annotation = channel.group ? annotations_->with_mode(i) : std::nullopt;
        if (!annotation) continue;
        const auto [entry, is_new] = launches_of_groups_.try_emplace(*channel.group);
        if (is_new) entry->second = by_launch_of_others(trace_.name(*annotation));
        if (entry->second.mode != annotated(trace_.name(*annotation)).mode) entry->second.mode = Mode::none;
      }
  }

  const Found* by_others_of_group(std::size_t i) const {
    const std::optional<std::uint32_t> group = groups_.group_of(i);
    const auto found = group ? launches_of_groups_.find(*group) : launches_of_groups_.end();
    return found == launches_of_groups_.end() || found->second.mode == Mode::none ? nullptr : &found->second;
  }

  void count(std::size_t i) {
    const Attribution& attribution = trace_.attribution(i);
    const auto key = std::tuple{attribution.source, trace_.tag(i).mode, attribution.confidence_pct, attribution.reason};
    add(i, counts_[key]);
  }

  void leave(std::size_t i, std::string_view why_not) {
    const auto [entry, is_new] = not_taken_.try_emplace(trace_.name(i));
    if (is_new) entry->second.why = why_not;
    add(i, entry->second.sum);
  }

  struct Left {
    std::string why;
    Sum sum;
  };

  void add(std::size_t i, Sum& sum) const {
    sum.count += trace_.is_part(i) ? 0 : 1;
    sum.time_ns += std::max<std::int64_t>(trace_.duration_ns()[i], 0);
  }

  AttributionReport report() const {
    AttributionReport result;
    for (const auto& [key, sum] : counts_) {
      const auto& [source, mode, confidence, reason] = key;
      result.attributed.push_back({source, mode, confidence, std::string(name_of(reason)), sum.count, sum.time_ns});
    }
    for (const auto& [name, left] : not_taken_)
      result.not_taken.push_back({std::string(name_of(name)), left.why, left.sum.count, left.sum.time_ns});
    for (std::size_t r = 0; r < rules_.size(); ++r)
      result.rules.push_back({std::string(name_of(rules_[r].reason)), obeyed_[r].count, obeyed_[r].time_ns});
    std::ranges::stable_sort(result.attributed, [](const AttributedBy& a, const AttributedBy& b) {
      return std::tie(b.time_ns, a.reason) < std::tie(a.time_ns, b.reason);
    });
    std::ranges::stable_sort(result.not_taken, [](const NotTaken& a, const NotTaken& b) {
      return std::tie(b.time_ns, a.name) < std::tie(a.time_ns, b.name);
    });
    return result;
  }

  static constexpr NameMeaning kByItsStream{.says = Says::known, .what = KernelClass::communication};

  Trace& trace_;
  MapLookup map_;
  std::span<const ModeRule> rules_;
  std::vector<Sum> obeyed_;  // by rule
  RankLayouts layouts_;
  GroupsOfSlices groups_;
  bool is_ours_;
  Names names_;
  std::vector<Found> group_modes_;
  std::vector<Open> doubtful_;
  std::vector<Open> waiting_;
  std::vector<std::size_t> kernels_;  // kernels that communicate
  std::vector<Open> copies_;
  std::vector<std::pair<std::size_t, std::size_t>> parts_;  // (part, first slice)
  std::map<std::size_t, std::size_t> starts_;               // of recorded communications, by recorded first slice
  std::optional<Annotations> annotations_;
  std::unordered_map<NameId, Found> annotated_;
  std::unordered_map<std::uint32_t, Found> launches_of_groups_;
  std::map<std::tuple<AttributionSource, Mode, std::uint8_t, NameId>, Sum> counts_;
  std::map<NameId, Left> not_taken_;
};

std::int64_t sum_of(const std::vector<AttributedBy>& rows, std::int64_t AttributedBy::*field, bool only_without_mode) {
  std::int64_t sum = 0;
  for (const AttributedBy& row : rows)
    if (!only_without_mode || row.mode == Mode::none) sum += row.*field;
  return sum;
}

}  // namespace

std::int64_t AttributionReport::communications() const { return sum_of(attributed, &AttributedBy::count, false); }
std::int64_t AttributionReport::communication_ns() const { return sum_of(attributed, &AttributedBy::time_ns, false); }
std::int64_t AttributionReport::unattributed() const { return sum_of(attributed, &AttributedBy::count, true); }
std::int64_t AttributionReport::unattributed_ns() const { return sum_of(attributed, &AttributedBy::time_ns, true); }

AttributionReport attribute(Trace& trace, const AttributionOptions& options) {
  return Attributor(trace, options).run();
}

}  // namespace underlap::attribution
