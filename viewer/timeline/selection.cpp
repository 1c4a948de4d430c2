// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/selection.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "profiler/analysis/exposure.hpp"

namespace underlap::viewer {
namespace {

using analysis::CommunicationSplit;
using analysis::FigureColumn;
using analysis::FigureTable;
using analysis::FigureUnit;
using analysis::Window;

bool is_chosen(const std::vector<std::int32_t>& ranks, std::int32_t rank) {
  return ranks.empty() || std::ranges::find(ranks, rank) != ranks.end();
}

// The work of the chosen ranks that touches the selection, as a trace of its own.
class Excerpt {
 public:
  explicit Excerpt(const Timeline& timeline) : trace_(timeline.trace()) {
    part_.tracks = trace_.tracks;
    part_.groups = trace_.groups;
  }

  void add(std::uint32_t slice) {
    if (const CommunicationRecord* record = trace_.communication(slice))
      part_.add(trace_.slice(slice), *record);
    else
      part_.add(trace_.slice(slice));
  }
  const Trace& part() const { return part_; }

 private:
  const Trace& trace_;
  Trace part_;
};

using BusyNames = std::map<std::pair<Kind, NameId>, SelectedName>;

void count(const Timeline& timeline, std::uint32_t slice, const Selection& selection, BusyNames& names) {
  if (timeline.begin_ns(slice) >= selection.end_ns) return;
  const Kind kind = timeline.trace().tag(slice).kind;
  const NameId name = timeline.trace().name(slice);
  SelectedName& busy = names[{kind, name}];
  busy.name = name;
  busy.kind = kind;
  ++busy.count;
  busy.busy_ns +=
      std::min(timeline.end_ns(slice), selection.end_ns) - std::max(timeline.begin_ns(slice), selection.begin_ns);
}

double mean_of(const Selection& selection, std::int64_t (*part)(const analysis::Split&)) {
  double sum = 0;
  for (const SelectedRank& rank : selection.ranks) sum += static_cast<double>(part(rank.split));
  return selection.ranks.empty() ? 0 : sum / static_cast<double>(selection.ranks.size());
}

}  // namespace

Selection select(const Timeline& timeline, std::int64_t begin_ns, std::int64_t end_ns,
                 const std::vector<std::int32_t>& ranks) {
  Selection selection{.begin_ns = begin_ns, .end_ns = end_ns, .ranks = {}, .names = {}};
  Excerpt excerpt(timeline);
  BusyNames names;
  for (const Lane& lane : timeline.lanes()) {
    if (lane.kind != LaneKind::stream || !is_chosen(ranks, lane.rank)) continue;
    for (const LaneRow& row : lane.rows) {
      // One without length at the very end counts as the analysis counts it.
      const auto [from, to] = timeline.slices_within(row, begin_ns, end_ns + 1);
      for (std::size_t i = from; i < to; ++i) {
        if (!timeline.trace().is_work(row.slices[i])) continue;
        excerpt.add(row.slices[i]);
        count(timeline, row.slices[i], selection, names);
      }
    }
  }
  std::vector<Window> windows;
  for (const std::int32_t rank : timeline.ranks())
    if (is_chosen(ranks, rank))
      windows.push_back({rank, -1, -1, timeline.trace_ns_of(rank, begin_ns), timeline.trace_ns_of(rank, end_ns)});
  const std::vector<analysis::Split> splits = analysis::split_windows(excerpt.part(), windows);
  for (std::size_t i = 0; i < windows.size(); ++i) selection.ranks.push_back({windows[i].rank, splits[i]});
  for (const auto& [key, busy] : names) selection.names.push_back(busy);
  std::ranges::stable_sort(selection.names, std::ranges::greater(), &SelectedName::busy_ns);
  return selection;
}

FigureTable parts_of(const Selection& selection) {
  FigureTable table{{{"part", "part"}},
                    {{"time ms", "time"},
                     {"exposed ms", "exposed"},
                     {"wait ms", "exposed_wait"},
                     {"transfer ms", "exposed_transfer"},
                     {"overlap %", "overlap_pct", FigureUnit::percent}},
                    {}};
  const auto add = [&](const char* name, std::int64_t (*part)(const analysis::Split&)) {
    table.rows.push_back({{name}, {mean_of(selection, part), std::nullopt, std::nullopt, std::nullopt, std::nullopt}});
  };
  add("compute", [](const analysis::Split& split) { return split.compute_ns(); });
  add("copies alone", [](const analysis::Split& split) { return split.copy_only_ns; });
  add("idle", [](const analysis::Split& split) { return split.idle_ns; });
  std::map<std::string, CommunicationSplit> modes;
  CommunicationSplit all;
  for (const SelectedRank& rank : selection.ranks) {
    for (const auto& [mode, split] : rank.split.modes) modes[mode] += split;
    all.comm_ns += rank.split.comm_ns();
    all.hidden_ns += rank.split.hidden_ns;
    all.exposed_ns += rank.split.exposed_ns();
    all.exposed_wait_ns += rank.split.exposed_wait_ns;
    all.exposed_transfer_ns += rank.split.exposed_transfer_ns();
    all.exposed_unsplit_ns += rank.split.exposed_unsplit_ns;
  }
  const double ranks = std::max<double>(1, static_cast<double>(selection.ranks.size()));
  const auto add_comm = [&](const std::string& name, const CommunicationSplit& split) {
    const auto mean = [&](std::int64_t ns) { return std::optional(static_cast<double>(ns) / ranks); };
    const bool is_split = split.exposed_unsplit_ns < split.exposed_ns || split.exposed_ns == 0;
    std::optional<double> overlap;
    if (split.comm_ns > 0) overlap = 100.0 * static_cast<double>(split.hidden_ns) / static_cast<double>(split.comm_ns);
    table.rows.push_back(
        {{name},
         {mean(split.comm_ns), mean(split.exposed_ns), is_split ? mean(split.exposed_wait_ns) : std::nullopt,
          is_split ? mean(split.exposed_transfer_ns) : std::nullopt, overlap}});
  };
  add_comm("communication", all);
  for (const auto& [mode, split] : modes) add_comm("  " + mode, split);
  return table;
}

FigureTable names_of(const Selection& selection, std::size_t most) {
  FigureTable table{
      {{"name", "name"}, {"kind", "kind"}},
      {{"count", "count", FigureUnit::number}, {"time ms", "time"}, {"each us", "each", FigureUnit::short_time}},
      {}};
  const double ranks = std::max<double>(1, static_cast<double>(selection.ranks.size()));
  for (const SelectedName& name : selection.names) {
    if (table.rows.size() == most) break;
    const auto count = static_cast<double>(name.count);
    const auto busy = static_cast<double>(name.busy_ns);
    table.rows.push_back({{std::string(name_of(name.name)), std::string(to_string(name.kind))},
                          {count / ranks, busy / ranks, busy / count}});
  }
  return table;
}

}  // namespace underlap::viewer
