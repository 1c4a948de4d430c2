// SPDX-License-Identifier: Apache-2.0
// What a viewer of Perfetto traces sees of ours.
#include <gmock/gmock.h>

#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include "profiler/formats/perfetto/encoder.hpp"
#include "profiler/formats/perfetto/fields.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::formats {
namespace {

using namespace perfetto;
using protozero::pbf_reader;
using ::testing::ElementsAre;
using namespace testing_support;  // NOLINT

struct SeenEvent {
  std::int64_t time = 0;
  std::uint64_t track = 0;
  std::int32_t type = 0;
  std::string name;
  std::vector<std::uint64_t> flows, ending_flows;
};

struct SeenTrack {
  std::string name;
  std::uint64_t parent = 0;
  std::int32_t order = 0;
  std::int32_t child_ordering = 0;
};

struct SeenSlice {
  std::string track, name;
  std::int64_t begin = 0, end = 0;
  std::size_t depth = 0;
  std::vector<std::uint64_t> flows;
  friend bool operator==(const SeenSlice&, const SeenSlice&) = default;
};

// Reads packets as a viewer does: sorts by time, equal times in the order of the file, nests begins and ends.
class Viewer {
 public:
  explicit Viewer(const std::string& bytes) {
    pbf_reader file(bytes);
    while (file.next(kTracePacket)) add_packet(file.get_message());
    std::ranges::stable_sort(events_, {}, &SeenEvent::time);
    for (const SeenEvent& event : events_) apply(event);
  }

  std::map<std::uint64_t, SeenTrack> tracks;
  std::vector<SeenSlice> slices;  ///< in the order of their ends
  std::vector<SeenEvent> counters;
  std::uint32_t default_clock = 0, primary_clock = 0;
  std::map<std::uint32_t, std::int64_t> clock_readings;
  std::vector<std::string> annotation_texts;
  std::size_t num_unmatched = 0;

  bool all_arrows_end() const { return active_flows_.empty(); }

  std::vector<SeenSlice> on(const std::string& track) const {
    std::vector<SeenSlice> found;
    for (const SeenSlice& slice : slices)
      if (slice.track == track) found.push_back(slice);
    return found;
  }

 private:
  void add_packet(pbf_reader packet) {
    SeenEvent event;
    bool is_event = false;
    while (packet.next()) switch (packet.tag()) {
        case packet::kTimestamp: event.time = packet.get_int64(); break;
        case packet::kInternedData: add_interned(packet.get_message()); break;
        case packet::kTrackDescriptor: add_track(packet.get_message()); break;
        case packet::kClockSnapshot: add_clocks(packet.get_message()); break;
        case packet::kDefaults: default_clock = first_number(packet.get_message()); break;
        case packet::kTrackEvent:
          is_event = true;
          read_event(packet.get_message(), event);
          break;
        default: packet.skip();
      }
    if (is_event) events_.push_back(event);
  }

  static std::uint32_t first_number(pbf_reader message) {
    message.next();
    return message.get_uint32();
  }

  void add_interned(pbf_reader message) {
    while (message.next()) {
      const std::uint32_t field = message.tag();
      pbf_reader entry = message.get_message();
      std::uint64_t iid = 0;
      std::string text;
      while (entry.next())
        if (entry.tag() == interned::kIid)
          iid = entry.get_uint64();
        else
          text = entry.get_string();
      if (field == interned::kEventNames) names_[iid] = text;
      if (field == interned::kStringValues) strings_[iid] = text;
    }
  }

  void add_track(pbf_reader message) {
    std::uint64_t uuid = 0;
    SeenTrack track;
    while (message.next()) switch (message.tag()) {
        case descriptor::kUuid: uuid = message.get_uint64(); break;
        case descriptor::kName: track.name = message.get_string(); break;
        case descriptor::kParentUuid: track.parent = message.get_uint64(); break;
        case descriptor::kSiblingOrderRank: track.order = message.get_int32(); break;
        case descriptor::kChildOrdering: track.child_ordering = message.get_enum(); break;
        default: message.skip();
      }
    tracks[uuid] = track;
  }

  void add_clocks(pbf_reader message) {
    while (message.next())
      if (message.tag() == clock_snapshot::kPrimary) {
        primary_clock = message.get_uint32();
      } else {
        pbf_reader clock = message.get_message();
        clock.next();
        const std::uint32_t id = clock.get_uint32();
        clock.next();
        clock_readings[id] = clock.get_int64();
      }
  }

  void read_event(pbf_reader message, SeenEvent& event) {
    while (message.next()) switch (message.tag()) {
        case event::kType: event.type = message.get_enum(); break;
        case event::kTrackUuid: event.track = message.get_uint64(); break;
        case event::kName: event.name = message.get_string(); break;
        case event::kNameIid: event.name = names_[message.get_uint64()]; break;
        case event::kFlowIds: event.flows.push_back(message.get_fixed64()); break;
        case event::kTerminatingFlowIds: event.ending_flows.push_back(message.get_fixed64()); break;
        case event::kAnnotations: read_annotation(message.get_message()); break;
        default: message.skip();
      }
  }

  void read_annotation(pbf_reader message) {
    while (message.next())
      if (message.tag() == annotation::kStringIid)
        annotation_texts.push_back(strings_[message.get_uint64()]);
      else
        message.skip();
  }

  void apply(const SeenEvent& event) {
    std::vector<SeenSlice>& open = open_[event.track];
    if (event.type == event::kSliceBegin) {
      std::vector<std::uint64_t> flows = event.flows;
      flows.insert(flows.end(), event.ending_flows.begin(), event.ending_flows.end());
      // An arrow ends in a slice that comes later than the one where it began.
      for (const std::uint64_t id : event.flows) active_flows_.insert(id);
      for (const std::uint64_t id : event.ending_flows)
        if (active_flows_.erase(id) == 0) ++num_unmatched;
      open.push_back({tracks[event.track].name, event.name, event.time, 0, open.size(), flows});
    } else if (event.type == event::kSliceEnd && open.empty()) {
      ++num_unmatched;
    } else if (event.type == event::kSliceEnd) {
      open.back().end = event.time;
      slices.push_back(open.back());
      open.pop_back();
    } else if (event.type == event::kCounter) {
      counters.push_back(event);
    }
  }

  std::map<std::uint64_t, std::string> names_, strings_;
  std::vector<SeenEvent> events_;
  std::map<std::uint64_t, std::vector<SeenSlice>> open_;
  std::set<std::uint64_t> active_flows_;
};

Viewer seen(const Trace& trace) { return Viewer(PerfettoEncoder().encode(trace)); }

TEST(PerfettoView, SlicesOfALaneNestAndKeepTheirLengths) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Trace trace = random_trace(random, {.num_slices = 200, .is_foreign = seed % 2 == 1});
    trace.marks.clear();
    const Viewer viewer = seen(trace);
    EXPECT_EQ(viewer.num_unmatched, 0U);
    std::multiset<std::pair<std::int64_t, std::int64_t>> expected, found;
    for (std::size_t i = 0; i < trace.size(); ++i) expected.emplace(trace.start_ns()[i], trace.end_ns(i));
    for (const SeenSlice& slice : viewer.slices)
      if (slice.name != "wait" && slice.name != "transfer") found.emplace(slice.begin, slice.end);
    EXPECT_EQ(found, expected) << seed;
  }
}

TEST(PerfettoView, RanksStandInTheirOrderUnderOneParent) {
  Trace trace;
  for (const std::int32_t rank : {10, 2, 0}) trace.add_track({rank, 0, "compute"});
  const Viewer viewer = seen(trace);
  std::map<std::int32_t, std::string> ranks;
  for (const auto& [uuid, track] : viewer.tracks) {
    if (!track.name.starts_with("rank ")) continue;
    ranks[track.order] = track.name;
    EXPECT_EQ(viewer.tracks.at(track.parent).name, "ranks");
    EXPECT_EQ(viewer.tracks.at(track.parent).child_ordering, descriptor::kOrderExplicit);
  }
  EXPECT_EQ(ranks, (std::map<std::int32_t, std::string>{{0, "rank 0"}, {2, "rank 2"}, {10, "rank 10"}}));
}

TEST(PerfettoView, AStepIsASliceBetweenTwoMarksOfABlock) {
  Trace trace;
  trace.marks = {{0, 0, 4, 100}, {0, 0, 5, 200}, {0, 0, 6, 350}, {0, 1, 7, 900}, {0, 1, 8, 1000}};
  const std::vector<SeenSlice> steps = seen(trace).on("steps");
  EXPECT_THAT(steps,
              ElementsAre(SeenSlice{"steps", "step 5", 100, 200, 0, {}}, SeenSlice{"steps", "step 6", 200, 350, 0, {}},
                          SeenSlice{"steps", "step 8", 900, 1000, 0, {}}));
}

TEST(PerfettoView, StepsGoOnOverBlocksOfTheFile) {
  PerfettoEncoder encoder;
  Trace first, second;
  first.marks = {{0, 0, 1, 100}};
  second.marks = {{0, 0, 2, 300}};
  std::string bytes = encoder.encode(first);
  bytes += encoder.encode(second);
  EXPECT_EQ(Viewer(bytes).on("steps").size(), 1U);
}

Trace one_gather(std::int64_t last_arrival_ns) {
  Trace trace;
  trace.add_track({0, 1, "dp"});
  trace.add_group({intern("param_all_gather"), {0, 3, 11}});
  trace.add(slice_of(0, 10, 90, "gather", {.kind = Kind::communication}),
            {.last_arrival_ns = last_arrival_ns, .transfers = {}});
  return trace;
}

TEST(PerfettoView, ACommunicationIsDividedIntoWaitAndTransfer) {
  EXPECT_THAT(seen(one_gather(40)).slices,
              ElementsAre(SeenSlice{"dp", "wait", 10, 40, 1, {}}, SeenSlice{"dp", "transfer", 40, 100, 1, {}},
                          SeenSlice{"dp", "gather", 10, 100, 0, {}}));
  for (const std::int64_t none_waits : {-1, 5, 10, 100, 200}) EXPECT_EQ(seen(one_gather(none_waits)).slices.size(), 1U);
}

TEST(PerfettoView, ACommunicationNamesTheMembersOfItsGroup) {
  EXPECT_THAT(seen(one_gather(-1)).annotation_texts, ElementsAre("0 3 11"));
}

TEST(PerfettoView, AnArrowLeadsForwardInTime) {
  Trace trace;
  trace.add_track({0, 0, "send"});
  trace.add_track({1, 0, "receive"});
  trace.add(slice_of(0, 50, 20, "send"));
  trace.add(slice_of(1, 10, 60, "receive"));
  trace.flows = {{0, 1, FlowKind::message}};
  const Viewer viewer = seen(trace);
  EXPECT_EQ(viewer.num_unmatched, 0U);
  EXPECT_TRUE(viewer.all_arrows_end());
  ASSERT_EQ(viewer.slices.size(), 2U);
  EXPECT_EQ(viewer.slices[0].flows.size(), 1U);
  EXPECT_EQ(viewer.slices[0].flows, viewer.slices[1].flows);
}

TEST(PerfettoView, ThreadsShowCallsWithinCalls) {
  Trace trace;
  trace.add_track({0, 9, "main", TrackKind::thread, -1});
  for (const auto& [start, length] : {std::pair{0, 100}, std::pair{10, 20}, std::pair{30, 70}})
    trace.add(slice_of(0, start, length, "call", kNoWork));
  const Viewer viewer = seen(trace);
  EXPECT_EQ(viewer.on("main").size(), 3U);
  EXPECT_THAT(viewer.slices[0].depth, 1U);
}

TEST(PerfettoView, NamesTheClockOfItsEvents) {
  Trace trace = one_gather(-1);
  trace.clocks = {{0, 5, 1'700'000'000'000'000'000}};
  const Viewer viewer = seen(trace);
  EXPECT_EQ(viewer.default_clock, clock_snapshot::kMonotonic);
  EXPECT_EQ(viewer.primary_clock, clock_snapshot::kMonotonic);
  EXPECT_EQ(viewer.clock_readings,
            (std::map<std::uint32_t, std::int64_t>{{clock_snapshot::kMonotonic, 5},
                                                   {clock_snapshot::kRealtime, 1'700'000'000'000'000'000}}));
}

TEST(PerfettoView, CountersHaveTheirReadings) {
  Trace trace;
  const std::uint32_t power = trace.add_track({0, 0, "power", TrackKind::counter, 0});
  trace.counters = {{power, 5, 1.5}, {power, 9, 2.5}};
  const Viewer viewer = seen(trace);
  ASSERT_EQ(viewer.counters.size(), 2U);
  EXPECT_EQ(viewer.tracks.at(viewer.counters[0].track).name, "power");
}

}  // namespace
}  // namespace underlap::formats
