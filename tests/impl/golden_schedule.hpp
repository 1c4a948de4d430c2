// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/testing.hpp"

/// Schedules in virtual time as text. Each folder of tests/data/schedules/<technique>/<case> holds input.yaml, which
/// opens with what is exposed and why, and expected.txt: that, the timeline and the split. One column is a millisecond.
/// UNDERLAP_UPDATE_GOLDEN=1 rewrites expected.txt.
namespace underlap::testing_support {

inline constexpr std::int64_t kMillisecond = 1'000'000;

inline std::filesystem::path schedules_folder() {
  return std::filesystem::path(UNDERLAP_SOURCE_DIR) / "tests/data/schedules";
}

using Names = std::set<std::string>;

/// The names of the registered techniques of some kinds.
template <class... Kinds>
Names names_of_all() {
  Names names;
  const auto add = [&](const auto& techniques) {
    for (const auto& technique : techniques) names.emplace(technique.name);
  };
  (add(Kinds::all()), ...);
  return names;
}

/// The cases of `techniques`, each as <technique>/<case>.
inline std::vector<std::string> golden_schedules(const Names& techniques) {
  std::vector<std::string> names;
  for (const auto& technique : std::filesystem::directory_iterator(schedules_folder())) {
    if (!techniques.contains(technique.path().filename())) continue;
    for (const auto& entry : std::filesystem::directory_iterator(technique))
      if (entry.is_directory()) names.push_back(std::filesystem::relative(entry.path(), schedules_folder()).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string technique_of(const std::string& golden) { return std::filesystem::path(golden).parent_path(); }

inline YAML::Node golden_input(const std::string& golden) {
  return YAML::LoadFile(schedules_folder() / golden / "input.yaml");
}

/// What happened on the tracks that `is_kept` keeps, with all marks.
inline Trace of_tracks(const Trace& trace, const std::function<bool(const Track&)>& is_kept) {
  Trace out;
  out.groups = trace.groups;
  out.marks = trace.marks;
  for (const Track& track : trace.tracks)
    if (is_kept(track)) out.add_track(track);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    Slice slice = trace.slice(i);
    const Track& track = trace.tracks[slice.track];
    if (!is_kept(track)) continue;
    slice.track = out.add_track(track);
    const CommunicationRecord* record = trace.communication(i);
    record == nullptr ? out.add(slice) : out.add(slice, *record);
  }
  return out;
}

/// What rank 0 did.
inline Trace of_rank_0(const Trace& trace) {
  Trace out = of_tracks(trace, [](const Track& track) { return track.rank == 0; });
  std::erase_if(out.marks, [](const Mark& mark) { return mark.rank != 0; });
  return out;
}

/// Step 1 of `trace` under what `about` says of it.
inline std::string draw(const std::string& about, const Trace& trace) {
  const analysis::Window window = analysis::find_windows(trace).windows.at(0);
  const analysis::Split split = analysis::split_window(trace, window);
  const auto ms = [](std::int64_t ns) { return ns / kMillisecond; };
  std::size_t label = 0;
  for (const Track& track : trace.tracks)
    label = std::max(label, fmt::format("rank {} {} ||", track.rank, track.name).size());
  const auto width = static_cast<std::int32_t>(ms(window.length_ns()) + static_cast<std::int64_t>(label));
  std::string text = about + "\n" + analysis::text_timeline(trace, {.block = 0, .step = 1, .width = width}) +
                     fmt::format("\nstep {} ms = compute only {} + hidden {} + exposed {}", ms(window.length_ns()),
                                 ms(split.compute_only_ns), ms(split.hidden_ns), ms(split.exposed_ns()));
  if (split.copy_only_ns > 0) text += fmt::format(" + copy only {}", ms(split.copy_only_ns));
  return text + fmt::format(" + idle {}\n", ms(split.idle_ns));
}

/// Holds a case's timeline against its expected.txt, or puts it there. The case is in the folder of a technique that is
/// in effect.
inline void expect_golden(const std::string& golden, const Names& in_effect, const Trace& trace) {
  EXPECT_TRUE(in_effect.contains(technique_of(golden))) << "the folder's technique is not the one in effect";
  const std::string text = draw(golden_input(golden)["exposed"].as<std::string>(), trace);
  const std::filesystem::path file = schedules_folder() / golden / "expected.txt";
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::ifstream in(file, std::ios::binary);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {}));
}

inline void expect_a_case_of_each(const Names& techniques) {
  Names folders;
  for (const std::string& golden : golden_schedules(techniques)) folders.insert(technique_of(golden));
  EXPECT_EQ(folders, techniques);
}

}  // namespace underlap::testing_support
