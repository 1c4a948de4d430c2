// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/exposure.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::analysis {
namespace {

using namespace testing_support;  // NOLINT

std::string mode_of(const Tag& tag) {
  return tag.mode == Mode::none ? "unattributed" : std::string(to_string(tag.mode));
}
std::string purpose_of(const Tag& tag) {
  return tag.purpose == kNoName ? "unattributed" : std::string(name_of(tag.purpose));
}

bool is_split(const Trace& trace, std::size_t i) {
  const CommunicationRecord* record = trace.communication(i);
  return record != nullptr && record->last_arrival_ns != -1;
}
bool transfers_at(const Trace& trace, std::size_t i, std::int64_t t) {
  return t >= trace.communication(i)->last_arrival_ns;
}

bool is_pipeline_receive(const Trace& trace, std::size_t i) {
  bool receives = false;
  for (const TransferRecord& transfer : trace.communication(i)->transfers)
    receives |= transfer.collective == Collective::receive;
  return receives && trace.tag(i).mode == Mode::pp;
}

// Communication of one nanosecond, by mode or by purpose.
struct Active {
  std::set<std::string> all, transfer, unsplit, other_wait;

  void add(const Trace& trace, std::size_t i, std::int64_t t, const std::string& key) {
    all.insert(key);
    if (!is_split(trace, i))
      unsplit.insert(key);
    else if (transfers_at(trace, i, t))
      transfer.insert(key);
    else if (!is_pipeline_receive(trace, i))
      other_wait.insert(key);
  }
};

// What is going on in one nanosecond of a rank.
struct Moment {
  bool compute = false, copy = false;
  std::set<Mode> modes;
  Active by_mode, by_purpose;

  Moment(const Trace& trace, std::int32_t rank, std::int64_t t) {
    for (std::size_t i = 0; i < trace.size(); ++i) {
      if (trace.tracks[trace.track(i)].rank != rank || t < trace.start_ns()[i] || t >= trace.end_ns(i)) continue;
      const Tag& tag = trace.tag(i);
      compute |= tag.kind == Kind::compute;
      copy |= tag.kind == Kind::copy;
      if (tag.kind != Kind::communication) continue;
      modes.insert(tag.mode);
      by_mode.add(trace, i, t, mode_of(tag));
      by_purpose.add(trace, i, t, purpose_of(tag));
    }
  }
};

void add_moment(std::map<std::string, CommunicationSplit>& splits, const Active& active, bool hidden) {
  for (const std::string& key : active.all) {
    CommunicationSplit& split = splits[key];
    ++split.comm_ns;
    if (hidden)
      ++split.hidden_ns;
    else if (active.transfer.contains(key))
      ++split.exposed_transfer_ns;
    else if (active.unsplit.contains(key))
      ++split.exposed_unsplit_ns;
    else
      ++split.exposed_wait_ns;
    const bool is_waiting = !active.transfer.contains(key) && !active.unsplit.contains(key);
    if (!hidden && is_waiting && !active.other_wait.contains(key)) ++split.pipeline_dependency_ns;
    split.exposed_ns = split.exposed_transfer_ns + split.exposed_wait_ns + split.exposed_unsplit_ns;
  }
}

void add_moment(Split& split, const Moment& m) {
  if (m.compute)
    ++(m.modes.empty() ? split.compute_only_ns : split.hidden_ns);
  else if (!m.modes.empty()) {
    std::string key;
    for (const Mode mode : m.modes) key += (key.empty() ? "" : "+") + mode_of({.mode = mode});
    ++split.exposed_ns_by_modes[key];
    if (m.by_mode.transfer.empty()) ++(m.by_mode.unsplit.empty() ? split.exposed_wait_ns : split.exposed_unsplit_ns);
  } else {
    ++(m.copy ? split.copy_only_ns : split.idle_ns);
  }
  add_moment(split.modes, m.by_mode, m.compute);
  add_moment(split.purposes, m.by_purpose, m.compute);
}

Split brute_force(const Trace& trace, const Window& window) {
  Split split;
  split.window_ns = window.length_ns();
  for (std::int64_t t = window.begin_ns; t < window.end_ns; ++t) add_moment(split, Moment(trace, window.rank, t));
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Tag& tag = trace.tag(i);
    const std::int64_t end = trace.end_ns(i);
    if (trace.tracks[trace.track(i)].rank != window.rank || tag.kind != Kind::communication) continue;
    if (end <= window.begin_ns || end > window.end_ns) continue;
    for (CommunicationSplit* s : {&split.modes[mode_of(tag)], &split.purposes[purpose_of(tag)]}) {
      ++s->count;
      if (const CommunicationRecord* record = trace.communication(i)) s->bytes_on_wire += record->bytes_on_wire();
      if (!trace.knows_bytes_on_wire(i)) ++s->without_bytes;
    }
  }
  return split;
}

TEST(Exposure, AgreesWithCountingNanoseconds) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::int32_t num_slices = static_cast<std::int32_t>(5 + seed);
    const Trace trace = random_trace(random, {.num_slices = num_slices, .longest_ns = 40 + 5 * seed, .num_steps = 6});
    const std::vector<Window> windows = find_windows(trace).windows;
    ASSERT_EQ(windows.size(), 10U);
    const std::vector<Split> splits = split_windows(trace, windows);
    for (std::size_t w = 0; w < windows.size(); ++w) {
      const Split expected = brute_force(trace, windows[w]);
      ASSERT_EQ(splits[w], expected) << "seed " << seed << " window " << w;
      ASSERT_EQ(split_window(trace, windows[w]), expected) << "seed " << seed << " window " << w;
    }
  }
}

TEST(Exposure, PartsSumToTheWindow) {
  std::mt19937 random(77);
  const Trace trace = random_trace(
      random,
      {.num_slices = 3000, .begin_ns = -1'000'000, .end_ns = 9'000'000'000, .longest_ns = 20'000'000, .num_steps = 20});
  const std::vector<Window> windows = find_windows(trace).windows;
  for (const Split& s : split_windows(trace, windows)) {
    EXPECT_EQ(s.compute_only_ns + s.hidden_ns + s.exposed_ns() + s.copy_only_ns + s.idle_ns, s.window_ns);
    for (const auto& [mode, split] : s.modes) {
      EXPECT_EQ(split.exposed_wait_ns + split.exposed_transfer_ns + split.exposed_unsplit_ns, split.exposed_ns) << mode;
      EXPECT_EQ(split.exposed_ns + split.hidden_ns, split.comm_ns) << mode;
    }
  }
}

// compute |####    |     the gather waits until 30, and its peer's bytes come until 60
// dp      |  ======|
Trace gather_beside_gemm() {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add_track({0, 1, "dp"});
  trace.add_group({intern("param_all_gather"), {0, 1}});
  trace.add(slice_of(0, 0, 25));
  trace.add(slice_of(1, 10, 50, "", communication(Mode::dp, "param_all_gather")),
            {.last_arrival_ns = 30, .transfers = {{.bytes_on_wire = 8}, {.bytes_on_wire = 4}}});
  return trace;
}

TEST(Exposure, WaitEndsWhenTheLastMemberArrives) {
  const Split split = split_window(gather_beside_gemm(), {0, 0, 0, 0, 100});
  EXPECT_EQ(split.compute_only_ns, 10);
  EXPECT_EQ(split.hidden_ns, 15);
  EXPECT_EQ(split.exposed_ns_by_modes.at("dp"), 35);
  EXPECT_EQ(split.exposed_wait_ns, 5);
  EXPECT_EQ(split.idle_ns, 40);
  const CommunicationSplit expected{.comm_ns = 50,
                                    .exposed_ns = 35,
                                    .hidden_ns = 15,
                                    .exposed_wait_ns = 5,
                                    .exposed_transfer_ns = 30,
                                    .bytes_on_wire = 12,
                                    .count = 1};
  EXPECT_EQ(split.modes.at("dp"), expected);
  EXPECT_EQ(split.purposes.at("param_all_gather"), expected);
}

// pp |  ~~~~~==|   a stage waits from 10 for an input that its peer sends at 60, and has it at 80
Trace receive_from_the_stage_before() {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add_track({0, 1, "pp"});
  trace.add_group({intern("forward"), {0, 1}});
  trace.add(slice_of(0, 0, 25));
  trace.add(slice_of(1, 10, 70, "", communication(Mode::pp, "")),
            {.last_arrival_ns = 60, .transfers = {{.collective = Collective::receive, .peer = 1}}});
  return trace;
}

TEST(Exposure, AStageThatWaitsForItsInputWaitsByDesign) {
  const CommunicationSplit split = split_window(receive_from_the_stage_before(), {0, 0, 0, 0, 100}).modes.at("pp");
  EXPECT_EQ(split.exposed_wait_ns, 35);
  EXPECT_EQ(split.pipeline_dependency_ns, 35);
  EXPECT_EQ(split.exposed_transfer_ns, 20);
}

TEST(Exposure, ALatePeerExplainsAMomentBeforeADependencyDoes) {
  Trace trace = receive_from_the_stage_before();
  trace.add_track({0, 2, "pp_send"});
  trace.add(slice_of(2, 30, 12, "", communication(Mode::pp, "")),
            {.last_arrival_ns = 40, .transfers = {{.collective = Collective::send, .peer = 1}}});
  const CommunicationSplit split = split_window(trace, {0, 0, 0, 0, 100}).modes.at("pp");
  EXPECT_EQ(split.exposed_wait_ns, 33) << "2 are the send's transfer";
  EXPECT_EQ(split.pipeline_dependency_ns, 23);
}

TEST(Exposure, RefusesWindowsThatOverlapOrEndBeforeTheyBegin) {
  const Trace trace = gather_beside_gemm();
  EXPECT_THROW(split_window(trace, {0, 0, 0, 5, 4}), std::invalid_argument);
  const std::vector<Window> overlapping{{0, 0, 1, 0, 40}, {0, 0, 2, 39, 50}};
  EXPECT_THROW(split_windows(trace, overlapping), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::analysis
