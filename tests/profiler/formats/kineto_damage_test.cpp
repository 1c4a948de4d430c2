// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>

#include "profiler/formats/format.hpp"
#include "profiler/formats/kineto/builder.hpp"
#include "profiler/formats/kineto/reader.hpp"
#include "profiler/formats/output_file.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/kineto_text.hpp"
#include "tests/profiler/slices.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using namespace underlap::testing_support;  // NOLINT
using ::testing::HasSubstr;

std::string kineto_refusal(std::string_view text) {
  return error_of([&] { read_kineto_text(text); });
}

TEST(KinetoDamage, RefusesWhatHoldsNoEvents) {
  for (const char* text : {"", "once upon a time", "\x01\x02\xFF"})
    EXPECT_THAT(kineto_refusal(text), HasSubstr("t.json: not JSON")) << text;
  for (const char* text : {"{}", R"({"traceEvents": []})", R"({"traceEvents": 7})"})
    EXPECT_THAT(kineto_refusal(text), HasSubstr("without trace events")) << text;
}

TEST(KinetoDamage, ReadsWhatIsWholeOfAFileThatIsCutAnywhere) {
  const std::string text = kineto_file({kKernel, kLaunch, kOperation}, R"("distributedInfo": {"rank": 2})");
  std::size_t most = 0;
  for (std::size_t length = 1; length < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    if (kineto_refusal(cut) != "") continue;
    const Trace trace = read_kineto_text(cut);
    EXPECT_GE(trace.import.num_skipped(), 1) << length;
    EXPECT_GE(trace.size(), most) << length;
    most = trace.size();
    EXPECT_EQ(trace.tracks.empty() ? 2 : trace.tracks[0].rank, 2);
  }
  EXPECT_EQ(most, 3);
}

TEST(KinetoDamage, MendsControlCharactersAndWrongEscapesAndBytes) {
  const Trace trace = read_kineto_events(
      {"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\tb\nc\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1}",
       R"({"ph":"X","cat":"kernel","name":"C:\work","pid":0,"tid":7,"ts":2,"dur":1})",
       "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"x\xFFy\",\"pid\":0,\"tid\":7,\"ts\":3,\"dur\":1}",
       R"({"ph":"X","cat":"kernel","name":"\u00e9\ud83d\ude00\"","pid":0,"tid":7,"ts":4,"dur":1})", kKernel});
  EXPECT_EQ(trace.import.num_skipped(), 0);
  EXPECT_THAT(names_of(trace),
              ::testing::ElementsAre("a\tb\nc", "C:\\work", "x?y", "\xC3\xA9\xF0\x9F\x98\x80\"", "gemm"));
}

TEST(KinetoDamage, CountsBadEventsByReasonAndKeepsTheOthers) {
  const Trace trace =
      read_kineto_events({kKernel, R"({"ph": "X" "cat": 7 oops})", R"([1, 2])", "17",
                          R"({"cat":"kernel","name":"k","pid":0,"tid":7,"ts":1})",
                          R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"dur":1})",
                          R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":"soon","dur":1})",
                          R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1e300,"dur":1})",
                          R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9223372036854775807,"dur":1})",
                          R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":-1})",
                          R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":99999999999999999})",
                          R"({"ph":"b","cat":"x","name":"k","pid":0,"tid":7,"ts":5})", kLaunch});
  EXPECT_EQ(trace.size(), 2);
  EXPECT_EQ(trace.import.events, 13);
  EXPECT_EQ(trace.import.skipped, (std::map<std::string, std::int64_t>{{"event that is not a JSON object", 3},
                                                                       {"event without a phase", 1},
                                                                       {"event without a time", 1},
                                                                       {"invalid or overflowing time", 3},
                                                                       {"negative duration", 1},
                                                                       {"invalid or overflowing duration", 1},
                                                                       {"event of an unsupported phase", 1}}));
}

TEST(KinetoDamage, CountsBadHostDurationsSeparately) {
  const Trace trace =
      read_kineto_events({kKernel, R"({"ph":"X","cat":"cpu_op","name":"k","pid":1,"tid":1,"ts":5,"dur":-1})",
                          R"({"ph":"X","cat":"user_annotation","name":"k","pid":1,"tid":1,"ts":5,"dur":1e300})",
                          R"({"ph":"B","cat":"cpu_op","name":"k","pid":1,"tid":1,"ts":5})",
                          R"({"ph":"E","cat":"cpu_op","name":"k","pid":1,"tid":1,"ts":4})"});
  EXPECT_EQ(trace.size(), 1);
  EXPECT_EQ(trace.import.skipped,
            (std::map<std::string, std::int64_t>{{"host event with a negative duration", 2},
                                                 {"host event with an invalid or overflowing duration", 1}}));
}

constexpr std::string_view kWithoutTime =
    R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":0,"dur":0,"args":{"device":0,"stream":7}})";

TEST(KinetoDamage, CountsWorkAtTimeZeroIfOtherTimesAreLarge) {
  const std::string_view late = R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":4458676983543,"dur":4})";
  const std::string_view host = R"({"ph":"X","cat":"cpu_op","name":"k","pid":1,"tid":1,"ts":0,"dur":4})";
  const Trace trace = read_kineto_events({kWithoutTime, late, host, kWithoutTime});
  EXPECT_EQ(trace.size(), 2);
  EXPECT_EQ(trace.import.skipped, (std::map<std::string, std::int64_t>{{"GPU event with a time of 0", 2}}));
  EXPECT_EQ(read_kineto_events({kWithoutTime, kKernel}).size(), 2) << "the file's times start at 0";
}

// Adds a batch with work at time 0 and a collective, then one with a kernel at `later_ns`.
Trace read_two_batches(std::int64_t later_ns) {
  KinetoLanes lanes;
  KinetoBuilder builder(lanes);
  KinetoRow row{.name = intern("early"),
                .lane = lanes.index_of({.pid = {}, .tid = {.number = 7}, .category = KinetoCategory::kernel}),
                .category = KinetoCategory::kernel};
  KinetoEvents events;
  events.work.emplace_back().collective = 0;
  events.collectives.push_back({.name = intern("allreduce")});
  events.rows = {row, row};
  builder.add(events);
  events.clear();
  row.name = intern("late");
  row.time_ns = later_ns;
  events.work.emplace_back();
  events.rows = {row};
  if (later_ns != 0) builder.add(events);
  return builder.finish({}, Reading());
}

TEST(KinetoDamage, DecidesOnTimeZeroWhenAnotherTimeComes) {
  const Trace far = read_two_batches(4'458'676'983'543);
  EXPECT_THAT(names_of(far), ::testing::ElementsAre("late"));
  EXPECT_EQ(far.import.skipped, (std::map<std::string, std::int64_t>{{"GPU event with a time of 0", 2}}));
  const Trace near = read_two_batches(5000);
  EXPECT_THAT(names_of(near), ::testing::ElementsAre("early", "early", "late"));
  EXPECT_EQ(name_of(near.tag(0).purpose), "all_reduce");
  EXPECT_EQ(near.communication(2), nullptr);
  EXPECT_EQ(read_two_batches(0).size(), 2);
}

TEST(KinetoDamage, LosesOneEventByAMissingQuote) {
  const std::string_view torn = R"({"ph":"X","cat":"kernel","name":"C:\","pid":0,"tid":7,"ts":1,"dur":1})";
  const Trace trace = read_kineto_events({kKernel, torn, kLaunch, kOperation});
  EXPECT_EQ(trace.size(), 3);
  EXPECT_EQ(trace.import.skipped, (std::map<std::string, std::int64_t>{{"event with unbalanced quotes", 1}}));
  EXPECT_EQ(read_kineto_events({kKernel, kLaunch, torn}).size(), 2);
  const Trace many = read_kineto_events({torn, kLaunch, torn, torn, kKernel});
  EXPECT_EQ(many.size(), 2);
  EXPECT_EQ(many.import.num_skipped(), 3);
}

TEST(KinetoDamage, CountsABaseTimeThatOverflows) {
  const Trace trace = read_kineto_events({kKernel}, R"("baseTimeNanoseconds": 9223372036854775807)");
  EXPECT_EQ(trace.start_ns()[0], 110'000);
  EXPECT_EQ(trace.import.skipped.at("invalid or overflowing base time"), 1);
}

TEST(KinetoDamage, SurvivesDeepNesting) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const std::string event =
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"grid":)" + deep + "}}";
  EXPECT_GE(read_kineto_events({event, kKernel, deep}).size(), 1);
  EXPECT_EQ(read_kineto_events({kKernel}, "\"deep\": " + deep).size(), 1);
  EXPECT_THAT(kineto_refusal(std::string(1'000'000, '[')), HasSubstr("without trace events"));
  EXPECT_THAT(kineto_refusal("{\"traceEvents\":" + std::string(1'000'000, '[')), HasSubstr("without trace events"));
}

TEST(KinetoDamage, SurvivesNoise) {
  std::mt19937 random(7);
  const std::string whole = kineto_file({kKernel, kLaunch, kOperation}, R"("distributedInfo": {"rank": 2})");
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits)
      text[random() % text.size()] = static_cast<char>(random());
    kineto_refusal(text);
  }
  for (int round = 0; round < 50; ++round) {
    std::string noise(random() % 5000, ' ');
    for (char& c : noise) c = static_cast<char>(random());
    for (const char* begin : {"", "{", "[", "{\"traceEvents\":["}) kineto_refusal(begin + noise);
  }
}

std::string gzipped(std::string_view text) {
  const TemporaryFolder folder;
  OutputFile file(folder / "t.gz");
  file.write(text);
  file.close();
  return read_text(folder / "t.gz");
}

TEST(KinetoDamage, ReadsGzipOfSeveralMembersAndCountsACutOne) {
  const TemporaryFolder folder;
  std::string text = kineto_file({kKernel, kLaunch, kOperation});
  const std::string zipped = gzipped(text.substr(0, 40)) + gzipped(text.substr(40)) + std::string(512, '\0');
  write_text(folder / "t.json.gz", zipped);
  Trace trace = read_trace(folder / "t.json.gz");
  EXPECT_EQ(trace.size(), 3);
  EXPECT_EQ(trace.import.num_skipped(), 0);
  text.insert(text.size() - 2, std::string(3'000'000, ' '));
  const std::string long_file = gzipped(text);
  write_text(folder / "t.json.gz", long_file.substr(0, long_file.size() - 60));
  trace = read_trace(folder / "t.json.gz");
  EXPECT_EQ(trace.import.skipped.at("compressed data is truncated"), 1);
  write_text(folder / "t.json.gz", gzipped(text).replace(30, 4, "oops"));
  EXPECT_THROW(read_trace(folder / "t.json.gz"), std::invalid_argument);
}

TEST(KinetoDamage, RefusesATraceThatOutgrowsMemory) {
  const TemporaryFolder folder;
  std::string events = "[";
  for (int i = 0; i < 60'000; ++i) events += R"({"ph":"X","name":"k","pid":0,"tid":7,"ts":1,"dur":1},)";
  write_text(folder / "bomb.gz", gzipped(events));
  EXPECT_EQ(read_kineto(folder / "bomb.gz").size(), 60'000);
  EXPECT_THROW(read_kineto(folder / "bomb.gz", 1'000'000), std::invalid_argument);
  write_text(folder / "plain.json", events);
  EXPECT_THROW(read_kineto(folder / "plain.json", 500'000), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::formats
