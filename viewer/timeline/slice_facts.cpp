// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/slice_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <unordered_set>

#include "platform/json.hpp"
#include "platform/memory_room.hpp"
#include "profiler/analysis/details/trace_details.hpp"
#include "profiler/analysis/mode_name.hpp"

namespace underlap::viewer {
namespace {

using Facts = std::vector<Fact>;

void add(Facts& facts, std::string_view label, std::string_view value) {
  if (!value.empty()) facts.push_back({std::string(label), std::string(value)});
}

std::string number_text(std::int32_t number) { return number < 0 ? "" : std::to_string(number); }

std::string share_text(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return time_text(part);
  return fmt::format("{} ({:.1f} %)", time_text(part), 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string how_known(const Attribution& attribution) {
  if (attribution.source == AttributionSource::tag || attribution.source == AttributionSource::none) return "";
  const std::string reason(name_of(attribution.reason));
  return fmt::format("{} ({} % sure){}{}", to_string(attribution.source), attribution.confidence_pct,
                     reason.empty() ? "" : ": ", reason);
}

// As labels and lists have it: what it is for, where that is known.
void add_name(const Trace& trace, std::uint32_t slice, Facts& facts) {
  const NameId recorded = trace.name(slice), purpose = trace.tag(slice).purpose;
  add(facts, "name", name_of(purpose == kNoName ? recorded : purpose));
  if (purpose != kNoName && purpose != recorded) add(facts, "recorded as", name_of(recorded));
}

void add_tag(const Trace& trace, std::uint32_t slice, Facts& facts) {
  const Tag& tag = trace.tag(slice);
  add(facts, "kind", tag.kind == Kind::none ? "call, range or wait" : to_string(tag.kind));
  if (tag.kind == Kind::communication) {
    add(facts, "mode", analysis::mode_name(tag.mode));
    add(facts, "mode attributed by", how_known(trace.attribution(slice)));
  }
  if (tag.direction != Direction::none) add(facts, "pass", to_string(tag.direction));
  add(facts, "layer", number_text(tag.layer));
  add(facts, "microbatch", number_text(tag.microbatch));
  add(facts, "bucket", number_text(tag.bucket));
  add(facts, "model chunk", number_text(tag.chunk));
  add(facts, "step", number_text(tag.step));
}

const analysis::Match* match_of(const analysis::Summary& summary, std::uint32_t slice) {
  if (!summary.communications) return nullptr;
  for (const analysis::Match& match : summary.communications->matching.matches)
    if (std::ranges::any_of(match.members, [&](const analysis::MatchMember& member) { return member.slice == slice; }))
      return &match;
  return nullptr;
}

const analysis::LateArrival* late_arrival_of(const analysis::Summary& summary, std::uint32_t slice) {
  const analysis::Match* match = match_of(summary, slice);
  if (match == nullptr || !summary.waits) return nullptr;
  const auto index = static_cast<std::size_t>(match - summary.communications->matching.matches.data());
  const auto late = std::ranges::find(summary.waits->arrivals, index, &analysis::LateArrival::match);
  return late == summary.waits->arrivals.end() ? nullptr : &*late;
}

// The trace's metadata at `key` as JSON; discarded if it is absent or not valid.
nlohmann::ordered_json json_in(const Trace& trace, const char* key) {
  const auto said = trace.metadata.find(key);
  return parse_json_or_discard(said == trace.metadata.end() ? "" : said->second);
}

// Whether a knob is on according to the trace.
bool is_on(const Trace& trace, std::string_view knob) {
  const nlohmann::ordered_json knobs = json_in(trace, "knobs");
  const auto value = knobs.is_object() ? knobs.find(std::string(knob)) : knobs.end();
  return value != knobs.end() && value->is_string() && value->get<std::string>() == "true";
}

// The knob whose overlap hides communication of this tag, according to the trace; empty if the trace has no such knob.
std::string hiding_knob(const Trace& trace, const Tag& tag) {
  const nlohmann::ordered_json modes = json_in(trace, "overlap_knobs");
  const auto knobs = modes.is_object() ? modes.find(std::string(to_string(tag.mode))) : modes.end();
  if (knobs == modes.end() || !knobs->is_object()) return "";
  for (const auto& [beginning, knob] : knobs->items())
    if (knob.is_string() && name_of(tag.purpose).starts_with(beginning)) return knob.get<std::string>();
  return "";
}

// Only where it could help: waiting for a peer is hidden by no overlap.
void add_knob(const Timeline& timeline, const analysis::Summary& summary, const ExposedSlice& exposed, Facts& facts) {
  constexpr double kNearlyAll = 0.9;
  if (static_cast<double>(exposed.wait_ns) >= kNearlyAll * static_cast<double>(exposed.exposed_ns())) {
    const analysis::LateArrival* late = late_arrival_of(summary, exposed.slice);
    return add(facts, "would be hidden by",
               fmt::format("no overlap: nearly all of it is a wait for {}",
                           late == nullptr ? "a peer" : fmt::format("rank {}", late->last_rank)));
  }
  const std::string knob = hiding_knob(timeline.trace(), timeline.trace().tag(exposed.slice));
  if (is_on(timeline.trace(), knob))
    add(facts, "exposed although", fmt::format("{} is on", knob));
  else
    add(facts, "would be hidden by", knob);
}

void add_exposure(const Timeline& timeline, const analysis::Summary& summary, std::uint32_t slice, Facts& facts) {
  if (timeline.trace().tag(slice).kind != Kind::communication) return;
  const std::int64_t whole = timeline.trace().duration_ns()[slice];
  const ExposedSlice* exposed = timeline.exposed_of(slice);
  const std::int64_t exposed_ns = exposed == nullptr ? 0 : exposed->exposed_ns();
  add(facts, "hidden", share_text(whole - exposed_ns, whole));
  add(facts, "exposed", share_text(exposed_ns, whole));
  if (exposed == nullptr) return;
  if (exposed->wait_ns > 0) add(facts, "exposed wait", share_text(exposed->wait_ns, whole));
  if (exposed->transfer_ns > 0) add(facts, "exposed transfer", share_text(exposed->transfer_ns, whole));
  if (exposed->unsplit_ns > 0)
    add(facts, "wait or transfer", "unknown: the trace does not record when the last member arrived");
  add_knob(timeline, summary, *exposed, facts);
}

// The time of a compute slice during communication. While a kernel runs, its rank's strip shows whether something
// communicates.
std::int64_t concurrent_ns(const Timeline& timeline, const Segments& strip, std::uint32_t slice) {
  const std::int64_t begin = timeline.begin_ns(slice), end = timeline.end_ns(slice);
  std::int64_t beside = 0;
  for (std::size_t i = strip.first_ending_after(begin); i < strip.size() && strip.begin_ns(i) < end; ++i)
    if (strip.shade(i).paint == Paint::hidden)
      beside += std::min(strip.end_ns(i), end) - std::max(strip.begin_ns(i), begin);
  return beside;
}

// Compares a compute slice, if at least half of it ran during communication, with launches of the same kernel on its
// rank without communication. analysis::Launch decides which launches are compared. Visits all slices of its rank: fast
// enough for a click, not for a frame.
void add_slowdown(const Timeline& timeline, std::uint32_t slice, Facts& facts) {
  const Trace& trace = timeline.trace();
  if (trace.tag(slice).kind != Kind::compute) return;
  const std::int32_t rank = trace.track_of(slice).rank;
  const Segments& strip = timeline.strip_of(rank);
  const std::int64_t duration = trace.duration_ns()[slice], concurrent = concurrent_ns(timeline, strip, slice);
  if (2 * concurrent < duration || concurrent == 0) return;
  add(facts, "during communication", share_text(concurrent, duration));
  const analysis::Launch launch = analysis::launch_of(trace, slice);
  std::vector<double> alone;
  for (const Lane& lane : timeline.lanes()) {
    if (lane.rank != rank || lane.kind != LaneKind::stream) continue;
    for (const LaneRow& row : lane.rows)
      for (const std::uint32_t i : row.slices)
        if (trace.name(i) == launch.name && trace.tag(i).kind == Kind::compute && trace.duration_ns()[i] > 0 &&
            analysis::launch_of(trace, i) == launch && concurrent_ns(timeline, strip, i) == 0)
          alone.push_back(static_cast<double>(trace.duration_ns()[i]));
  }
  if (alone.empty())
    return add(facts, "slowdown", "unknown: no launch of this kernel and shape on this rank ran alone");
  const double alone_ns = median(alone);
  add(facts, "slowdown",
      fmt::format("{:.2f} times {}, the median of {} launches alone", static_cast<double>(duration) / alone_ns,
                  time_text(std::llround(alone_ns)), alone.size()));
}

void add_shape(const Trace& trace, std::uint32_t slice, Facts& facts) {
  const LaunchShape& shape = trace.shape(slice);
  if (shape.grid[0] > 0) add(facts, "grid", fmt::format("{}", fmt::join(shape.grid, " x ")));
  if (shape.block[0] > 0) add(facts, "threads per block", fmt::format("{}", fmt::join(shape.block, " x ")));
  if (shape.bytes > 0) add(facts, "bytes", in_bytes(shape.bytes));
}

std::string rate_text(const TransferRecord& transfer, std::int64_t ns, std::size_t ranks) {
  if (transfer.bytes <= 0 || ns <= 0) return "";
  const double algbw = static_cast<double>(transfer.bytes) / static_cast<double>(ns);  // B/ns = GB/s
  return fmt::format("{:.2f} GB/s algorithm, {:.2f} GB/s bus", algbw,
                     algbw * analysis::bus_factor(transfer.collective, ranks));
}

std::string ranks_text(const GroupRecord& group) {
  constexpr std::size_t kMost = 16;
  if (group.ranks.empty()) return group.num_ranks > 0 ? fmt::format("{} ranks", group.num_ranks) : "";
  if (group.ranks.size() <= kMost) return fmt::format("ranks {}", fmt::join(group.ranks, ", "));
  return fmt::format("{} ranks, {} to {}", group.ranks.size(), group.ranks.front(), group.ranks.back());
}

void add_communication(const Trace& trace, std::uint32_t slice, Facts& facts) {
  const CommunicationRecord* record = trace.communication(slice);
  if (record == nullptr) return;
  const GroupRecord& group = trace.groups[record->group];
  add(facts, "group", ranks_text(group));
  add(facts, "group's name", name_of(group.description == kNoName ? group.name : group.description));
  const std::int64_t duration = trace.duration_ns()[slice];
  const std::int64_t transfer_ns =
      record->last_arrival_ns == -1 ? 0
                                    : trace.end_ns(slice) - std::max(record->last_arrival_ns, trace.start_ns()[slice]);
  for (const TransferRecord& transfer : record->transfers) {
    add(facts, "transfer",
        fmt::format("{} of {} {}{}", to_string(transfer.collective), in_bytes(transfer.bytes),
                    to_string(transfer.dtype), transfer.peer < 0 ? "" : fmt::format(", peer {}", transfer.peer)));
    if (transfer.bytes_on_wire > 0) add(facts, "on the wire", in_bytes(transfer.bytes_on_wire));
    if (record->transfers.size() > 1) continue;
    add(facts, "rate including waits", rate_text(transfer, duration, group.size()));
    add(facts, "transfer rate", rate_text(transfer, transfer_ns, group.size()));
  }
}

const analysis::ExposedCommunication* reason_of(const analysis::Summary& summary, std::uint32_t slice) {
  const auto& all = summary.reasons.communications;
  const auto found = std::ranges::lower_bound(all, slice, {}, &analysis::ExposedCommunication::slice);
  return found != all.end() && found->slice == slice ? &*found : nullptr;
}

void add_reason(const analysis::Summary& summary, std::uint32_t slice, Facts& facts) {
  const analysis::ExposedCommunication* found = reason_of(summary, slice);
  if (found == nullptr) return;
  add(facts, "exposed because", analysis::clause_of(*found) + (found->is_guessed ? " (guessed)" : ""));
  if (found->holds_up != kNoName) add(facts, "compute that waits for it", name_of(found->holds_up));
}

void add_late(const analysis::Summary& summary, std::uint32_t slice, Facts& facts) {
  const analysis::LateArrival* late = late_arrival_of(summary, slice);
  if (late == nullptr) return;
  add(facts, "last arrival",
      fmt::format("rank {}, {} after the first", late->last_rank, time_text(late->last_ns - late->first_ns)));
  if (late->blamed_rank >= 0)
    add(facts, "because of",
        fmt::format("rank {}, {}: {} more{}{}", late->blamed_rank, clause_of(late->cause), time_text(late->cause_ns),
                    late->kernel == kNoName ? "" : ", most in ", name_of(late->kernel)));
}

// The late arrival at each of some communications, where one is known.
std::unordered_map<std::uint32_t, const analysis::LateArrival*> arrivals_at(const analysis::Summary& summary,
                                                                            const std::vector<std::uint32_t>& slices) {
  std::unordered_map<std::uint32_t, const analysis::LateArrival*> arrivals;
  if (!summary.communications || !summary.waits) return arrivals;
  const std::unordered_set<std::uint32_t> wanted(slices.begin(), slices.end());
  for (const analysis::LateArrival& arrival : summary.waits->arrivals)
    for (const analysis::MatchMember& member : summary.communications->matching.matches[arrival.match].members)
      if (wanted.contains(member.slice)) arrivals.emplace(member.slice, &arrival);
  return arrivals;
}

std::string in_words(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  return words;
}

}  // namespace

std::vector<ExposureBlame> blames_of(const analysis::Summary& summary, const std::vector<std::uint32_t>& slices) {
  const auto arrivals = arrivals_at(summary, slices);
  std::vector<ExposureBlame> blames;
  for (const std::uint32_t slice : slices) {
    ExposureBlame& blame = blames.emplace_back();
    const auto arrival = arrivals.find(slice);
    const analysis::LateArrival* late = arrival == arrivals.end() ? nullptr : arrival->second;
    if (late != nullptr) blame.late_rank = late->blamed_rank;
    const analysis::ExposedCommunication* reason = reason_of(summary, slice);
    const bool is_late = reason != nullptr && reason->reason == analysis::ExposureReason::late_rank;
    if (is_late && late != nullptr)
      blame.cause = fmt::format("late rank: {}", in_words(to_string(late->cause)));
    else if (reason != nullptr && reason->reason != analysis::ExposureReason::unknown)
      blame.cause = analysis::clause_of(*reason) + (reason->is_guessed ? " (guessed)" : "");
  }
  return blames;
}

std::string time_text(std::int64_t ns) {
  const double size = std::abs(static_cast<double>(ns));
  if (size >= 1e9) return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
  if (size >= 1e6) return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
  return size >= 1e3 ? fmt::format("{:.3f} us", static_cast<double>(ns) / 1e3) : fmt::format("{} ns", ns);
}

Facts short_facts_of(const Timeline& timeline, std::uint32_t slice) {
  const Trace& trace = timeline.trace();
  Facts facts;
  add_name(trace, slice, facts);
  const Tag& tag = trace.tag(slice);
  if (tag.kind == Kind::communication) add(facts, "mode", analysis::mode_name(tag.mode));
  add(facts, "duration", time_text(trace.duration_ns()[slice]));
  if (const ExposedSlice* exposed = timeline.exposed_of(slice)) {
    add(facts, "exposed", share_text(exposed->exposed_ns(), trace.duration_ns()[slice]));
    if (exposed->wait_ns > 0) add(facts, "exposed wait", time_text(exposed->wait_ns));
  }
  return facts;
}

Facts strip_facts_of(const Timeline& timeline, std::int32_t rank, std::int64_t time_ns) {
  const Segments& strip = timeline.strip_of(rank);
  const std::size_t i = strip.first_ending_after(time_ns);
  Facts facts;
  add(facts, "rank", std::to_string(rank));
  if (const StepSpan* step = timeline.step_at(rank, time_ns))
    add(facts, "step", fmt::format("{}, {}", step->step, time_text(step->end_ns - step->begin_ns)));
  if (i == strip.size() || strip.begin_ns(i) > time_ns) {
    add(facts, "does", "nothing");
    return facts;
  }
  const Shade shade = strip.shade(i);
  add(facts, "does", to_string(shade.paint));
  if (shade.modes != 0) add(facts, "modes", modes_text(shade.modes));
  add(facts, "duration", time_text(strip.end_ns(i) - strip.begin_ns(i)));
  return facts;
}

Facts facts_of(const Timeline& timeline, const analysis::Summary& summary, std::uint32_t slice) {
  const Trace& trace = timeline.trace();
  const Track& track = trace.track_of(slice);
  Facts facts;
  add_name(trace, slice, facts);
  add(facts, "duration", time_text(trace.duration_ns()[slice]));
  add_exposure(timeline, summary, slice, facts);
  add_slowdown(timeline, slice, facts);
  add_reason(summary, slice, facts);
  add_late(summary, slice, facts);
  add_tag(trace, slice, facts);
  add(facts, "rank", std::to_string(track.rank));
  add(facts, to_string(track.kind), track.name.empty() ? std::to_string(track.stream) : track.name);
  add(facts, "start", time_text(timeline.begin_ns(slice)));
  add_communication(trace, slice, facts);
  add_shape(trace, slice, facts);
  return facts;
}

std::vector<std::uint32_t> members_of(const analysis::Summary& summary, std::uint32_t slice) {
  std::vector<std::uint32_t> members;
  if (const analysis::Match* match = match_of(summary, slice))
    for (const analysis::MatchMember& member : match->members)
      if (member.slice != slice) members.push_back(member.slice);
  return members;
}

}  // namespace underlap::viewer
