// SPDX-License-Identifier: Apache-2.0
// The modes of our own traces are found again where their tags are hidden.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "bench/measure/measure.hpp"
#include "bench/observe/observe.hpp"
#include "impl/plan/layout/rank_layouts.hpp"
#include "platform/status_line.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/kineto_writer/writer.hpp"
#include "tests/bench/attribution/hidden_tags.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::bench {
namespace {

using testing_support::HiddenTags;
using testing_support::Recovered;
using Groups = HiddenTags::Groups;

struct TracedCell {
  std::string name;
  RankLayouts layouts;
  plan::Plan plan;
  Trace trace;
};

const std::vector<HiddenTags> kVariants{
    {"our own names", Groups::exported, true, false},
    {"Megatron's names", Groups::named, true, false},
    {"Megatron's names, ranks elided", Groups::named, false, false},
    {"undefined, config", Groups::undefined, true, true},
    {"undefined, ranks elided, config", Groups::undefined, false, true},
    {"no groups, config", Groups::unknown, false, true},
    {"undefined", Groups::undefined, true, false},
    {"undefined, ranks elided", Groups::undefined, false, false},
    {"no groups", Groups::unknown, false, false},
};

// The mode that is stated as fact, or else the one that a reason calls probable.
Mode told_mode(const Trace& trace, std::size_t slice) {
  if (trace.tag(slice).mode != Mode::none) return trace.tag(slice).mode;
  const std::string_view reason = name_of(trace.attribution(slice).reason);
  for (const Mode mode : {Mode::dp, Mode::tp, Mode::pp, Mode::cp, Mode::ep, Mode::fsdp, Mode::other})
    if (reason.starts_with(fmt::format("probably {}: ", to_string(mode)))) return mode;
  return Mode::none;
}

// All cells of the modelled matrix that communicate, run once.
class HiddenTagsOfEveryCell : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const testing_support::TemporaryFolder folder;
    const plan::Matrix matrix =
        plan::load(UNDERLAP_SOURCE_DIR "/bench/matrices/modes_modelled.yaml", {{"run.steps", "2"}});
    measure(
        matrix,
        {.folder = folder / "run", .verify = false, .info = {}, .progress = status_on_stderr(), .resume_command = ""});
    std::map<std::string, Trace> traces;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "run/traces")) {
      Trace trace = formats::read_trace(entry.path().string());
      const std::string name = trace.metadata.at("cell");
      traces.emplace(name, std::move(trace));
    }
    for (const plan::Cell& cell : matrix.cells) {
      if (cell.plan.config.run.no_comm) continue;
      cells_.push_back(
          {cell.name, plan::rank_layouts(cell.plan.config.parallel), cell.plan, std::move(traces.at(cell.name))});
    }
  }
  static void TearDownTestSuite() { cells_.clear(); }

  struct Part {
    std::int64_t right_ns = 0;
    std::int64_t all_ns = 0;
  };
  using ByConfidence = std::map<std::pair<AttributionSource, int>, Part>;

  static Recovered recover(const TracedCell& cell, const HiddenTags& how, ByConfidence& parts) {
    Trace hidden = testing_support::hide_tags(cell.trace, how);
    attribution::attribute(hidden, {.layouts = how.has_config ? cell.layouts : RankLayouts{}, .mode_map = {}});
    Recovered recovered;
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      const std::int64_t ns = hidden.duration_ns()[i];
      const bool communicates = cell.trace.tag(i).kind == Kind::communication;
      const bool is_taken = hidden.tag(i).kind == Kind::communication;
      if (!communicates) {
        EXPECT_FALSE(is_taken) << name_of(hidden.name(i));
        continue;
      }
      if (!is_taken) {
        recovered.not_taken_ns += ns;
      } else if (told_mode(hidden, i) == Mode::none) {
        recovered.unattributed_ns += ns;
      } else {
        const bool is_right = told_mode(hidden, i) == cell.trace.tag(i).mode;
        EXPECT_EQ(hidden.tag(i).mode != Mode::none, hidden.attribution(i).confidence_pct >= 90);
        (is_right ? recovered.right_ns : recovered.wrong_ns) += ns;
        Part& part = parts[{hidden.attribution(i).source, hidden.attribution(i).confidence_pct}];
        part.all_ns += ns;
        part.right_ns += is_right ? ns : 0;
      }
    }
    return recovered;
  }

  static inline std::vector<TracedCell> cells_;
};

TEST_F(HiddenTagsOfEveryCell, AreRecoveredAndNothingIsWrongAboveItsConfidence) {
  ByConfidence parts;
  fmt::print("right / wrong / unattributed, % of communication time\n");
  for (const HiddenTags& how : kVariants) {
    for (const TracedCell& cell : cells_) {
      const Recovered r = recover(cell, how, parts);
      const auto pct = [&](std::int64_t ns) {
        return 100.0 * static_cast<double>(ns) / static_cast<double>(r.all_ns());
      };
      fmt::print("{:34} {:28} {:7.3f} {:7.3f} {:7.3f}\n", how.name, cell.name, r.right_pct(), pct(r.wrong_ns),
                 pct(r.unattributed_ns));
      EXPECT_EQ(r.not_taken_ns, 0) << cell.name;
      const bool is_enough =
          r.right_pct() >= 99 || !(how.has_config || how.groups == Groups::named || how.groups == Groups::exported);
      EXPECT_TRUE(is_enough) << how.name << ", " << cell.name;
    }
  }
  for (const auto& [by, part] : parts) {
    const double right = 100.0 * static_cast<double>(part.right_ns) / static_cast<double>(part.all_ns);
    fmt::print("{} {} %: {:.3f} % of {:.0f} ms right\n", to_string(by.first), by.second, right,
               static_cast<double>(part.all_ns) / 1e6);
    EXPECT_GE(right, by.second) << to_string(by.first);
  }
}

std::map<std::string, report::ObservedKnob> observed_of(const plan::Plan& plan, const Trace& trace) {
  std::map<std::string, report::ObservedKnob> knobs;
  for (report::ObservedKnob& knob : observe(plan, trace, analysis::summarize(trace)))
    knobs.emplace(knob.knob, std::move(knob));
  return knobs;
}

TEST_F(HiddenTagsOfEveryCell, ShowWhatTheKnobsOfEachModeDidAllTheSame) {
  int num_compared = 0;
  for (const TracedCell& cell : cells_) {
    Trace hidden = testing_support::hide_tags(cell.trace, kVariants[1]);
    attribution::attribute(hidden, {.layouts = cell.layouts, .mode_map = {}});
    hidden.metadata["format"] = "kineto";
    hidden.marks = cell.trace.marks;
    const auto ours = observed_of(cell.plan, cell.trace);
    for (const auto& [name, foreign] : observed_of(cell.plan, hidden)) {
      const auto own = ours.find(name);
      ASSERT_NE(own, ours.end()) << cell.name << " " << name;
      fmt::print("{:28} {:36} {:6.1f} {:6.1f} %, {} and {} operations; {}\n", cell.name, name,
                 own->second.observed_pct.value_or(-1), foreign.observed_pct.value_or(-1), own->second.operations,
                 foreign.operations, foreign.reason);
      // Of a pipeline and of tensor parallelism, what the steps end with counts too: in a pipeline much of what is
      // exposed, so that the status may be another one.
      if (name.ends_with("overlap_p2p_comm"))
        EXPECT_EQ(foreign.observed_pct.value_or(-1) > 0, own->second.observed_pct.value_or(-1) > 0) << cell.name;
      else
        EXPECT_EQ(to_string(foreign.status), to_string(own->second.status)) << cell.name << " " << name;
      if (name.ends_with("overlap_grad_reduce") || name.ends_with("overlap_param_gather") ||
          name.ends_with("cp_overlap")) {
        EXPECT_EQ(foreign.observed_pct, own->second.observed_pct) << cell.name << " " << name;
      }
      ++num_compared;
    }
  }
  EXPECT_GT(num_compared, 20);
}

// Communication, and what stands for it in a trace that came through a file, by rank, stream and start.
std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::size_t>> streams_of(const Trace& trace) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::size_t>> streams;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.track_of(i).kind == TrackKind::stream && trace.is_work(i))
      streams[{trace.track_of(i).rank, trace.track_of(i).stream}].push_back(i);
  for (auto& [stream, slices] : streams)
    std::ranges::stable_sort(slices, [&](std::size_t a, std::size_t b) {
      return std::tuple(trace.start_ns()[a], trace.end_ns(a), name_of(trace.name(a))) <
             std::tuple(trace.start_ns()[b], trace.end_ns(b), name_of(trace.name(b)));
    });
  return streams;
}

// Renames what only Underlap writes into such a file, and reads back, to a word as long.
void make_foreign(const std::filesystem::path& file) {
  constexpr std::string_view kOwn = "\"underlap\"";
  std::string text = testing_support::read_text(file);
  for (std::size_t at = text.find(kOwn); at != std::string::npos; at = text.find(kOwn, at))
    text.replace(at, kOwn.size(), "\"foreign_\"");
  testing_support::write_text(file, text);
}

TEST_F(HiddenTagsOfEveryCell, AreRecoveredFromTheJsonOfPyTorchsProfiler) {
  for (const HiddenTags& how : kVariants) {
    if (!how.has_config && how.groups != Groups::named) continue;
    for (const TracedCell& cell : cells_) {
      if (!cell.name.starts_with("tp_cp_pp_dp") && how.groups != Groups::unknown) continue;
      const testing_support::TemporaryFolder folder;
      const Trace hidden = testing_support::hide_tags(cell.trace, how);
      formats::write_kineto(folder / "t.json", hidden);
      Trace read;
      for (const auto& file : formats::kineto_files(folder / "t.json", hidden)) {
        make_foreign(file);
        read.append(formats::read_trace(file));
      }
      attribution::attribute(read, {.layouts = how.has_config ? cell.layouts : RankLayouts{}, .mode_map = {}});
      const auto theirs = streams_of(read);
      std::int64_t right_ns = 0, all_ns = 0;
      for (const auto& [stream, slices] : streams_of(hidden)) {
        ASSERT_TRUE(theirs.contains(stream)) << cell.name;
        ASSERT_EQ(theirs.at(stream).size(), slices.size()) << cell.name;
        for (std::size_t s = 0; s < slices.size(); ++s) {
          const Tag& ours = cell.trace.tag(slices[s]);
          if (ours.kind != Kind::communication) continue;
          all_ns += hidden.duration_ns()[slices[s]];
          if (told_mode(read, theirs.at(stream)[s]) == ours.mode) right_ns += hidden.duration_ns()[slices[s]];
        }
      }
      const double right_pct = 100.0 * static_cast<double>(right_ns) / static_cast<double>(all_ns);
      fmt::print("from a file: {:34} {:28} {:7.3f}\n", how.name, cell.name, right_pct);
      EXPECT_GE(right_pct, 99.0) << how.name << ", " << cell.name;
    }
  }
}

}  // namespace
}  // namespace underlap::bench
