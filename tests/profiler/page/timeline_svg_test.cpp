// SPDX-License-Identifier: Apache-2.0
#include "profiler/page/timeline_svg.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "tests/profiler/slices.hpp"
#include "tests/testing.hpp"

namespace underlap::page {
namespace {

using testing_support::communication, testing_support::slice_of;

constexpr std::int64_t kMs = 1'000'000;

// A step of 10 ms on each rank: compute for 4 ms, and dp communication from 2 ms to the given end.
Trace ranks_until(const std::vector<std::int64_t>& ends_ms) {
  Trace trace;
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(ends_ms.size()); ++rank) {
    const std::uint32_t compute = trace.add_track({.rank = rank, .stream = 0, .name = "compute"});
    const std::uint32_t dp = trace.add_track({.rank = rank, .stream = 1, .name = "dp"});
    trace.marks.push_back({rank, 0, 0, 0});
    trace.marks.push_back({rank, 0, 1, 10 * kMs});
    trace.add(slice_of(compute, 0, 4 * kMs, "gemm"));
    const std::int64_t length_ns = (ends_ms[static_cast<std::size_t>(rank)] - 2) * kMs;
    trace.add(slice_of(dp, 2 * kMs, length_ns, "ncclAllReduce", communication(Mode::dp, "")));
  }
  return trace;
}

TimelineSvgRequest first_step() { return {.step = 1, .width = 1000}; }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// The first group of that class and all in it.
std::string group(const std::string& svg, const std::string& classes) {
  const std::size_t begin = svg.find("<g class=\"" + classes + "\"");
  return begin == std::string::npos ? "" : svg.substr(begin, svg.find("</g>", begin) - begin);
}

TEST(TimelineSvg, DividesCommunicationIntoHiddenAndExposed) {
  const std::string svg = timeline_svg(ranks_until({7}), first_step());
  EXPECT_THAT(group(svg, "compute"), HasSubstr("gemm&#10;4 ms&#10;compute"));
  EXPECT_THAT(group(svg, "hidden m1"), HasSubstr("ncclAllReduce&#10;2 ms of 5 ms&#10;dp communication, hidden"));
  EXPECT_THAT(group(svg, "exposed m1"), HasSubstr("ncclAllReduce&#10;3 ms of 5 ms&#10;dp communication, exposed<"));
  EXPECT_THAT(svg, AllOf(HasSubstr(">rank 0 compute<"), HasSubstr(">rank 0 dp<"), HasSubstr(">dp hidden<")));
}

TEST(TimelineSvg, HatchesOnlyTheWaitForTheLastMember) {
  Trace trace = ranks_until({8});
  trace.set_communication(1, {.last_arrival_ns = 5 * kMs, .transfers = {}});
  const std::string svg = timeline_svg(trace, first_step());
  EXPECT_THAT(svg, HasSubstr("1 ms of 6 ms&#10;dp communication, exposed, waiting"));
  EXPECT_THAT(svg, HasSubstr("3 ms of 6 ms&#10;dp communication, exposed, transferring"));
  EXPECT_EQ(count_of(svg, "<g class=\"exposed m1\" style=\"fill:url(#t"), 1U);
  EXPECT_THAT(timeline_svg(ranks_until({8}), first_step()), Not(HasSubstr("<pattern")));
}

TEST(TimelineSvg, MergesKernelsThatZoomCannotSeparate) {
  Trace trace = ranks_until({7});
  for (int i = 0; i < 100'000; ++i) trace.add(slice_of(0, 4 * kMs + 50 * i, 30 + i % 10, fmt::format("k{}", i % 100)));
  for (int i = 0; i < 1000; ++i) trace.add(slice_of(0, 9 * kMs + 700 * i, 300, "apart"));
  const std::string svg = timeline_svg(trace, first_step());
  EXPECT_LT(svg.size(), 2'000'000U);
  EXPECT_THAT(svg, HasSubstr(" short pieces&#10;"));
  EXPECT_THAT(svg, HasSubstr("gemm&#10;4 ms&#10;compute"));
  EXPECT_THAT(svg, HasSubstr("opacity=\"0.7\""));
}

TEST(TimelineSvg, StaysSmallForManyStreamsOfPiecesThatAreFarApart) {
  Trace trace;
  for (int stream = 0; stream < 200; ++stream) {
    const std::uint32_t track = trace.add_track({.stream = stream, .name = fmt::format("s{}", stream)});
    for (int i = 0; i < 500 - stream; ++i) trace.add(slice_of(track, 20'000 * i, 4000, "k"));
  }
  trace.marks = {{0, 0, 0, 0}, {0, 0, 1, 10 * kMs}};
  const std::string svg = timeline_svg(trace, first_step());
  EXPECT_LT(svg.size(), 2'000'000U);
  EXPECT_THAT(svg, AllOf(HasSubstr("The 72 least busy streams are not shown."), Not(HasSubstr(">rank 0 s199<"))));
}

TEST(TimelineSvg, ShowsTheLeastAndTheMostExposedOfManyRanks) {
  TimelineSvgRequest request = first_step();
  request.most_ranks = 2;
  const std::string svg = timeline_svg(ranks_until({7, 8, 5, 9}), request);
  EXPECT_THAT(svg, AllOf(HasSubstr(">rank 2 dp<"), HasSubstr(">rank 3 dp<"), Not(HasSubstr(">rank 0 dp<"))));
  EXPECT_THAT(svg, HasSubstr("2 of 4 ranks: those with the least and the most exposed time."));
}

TEST(TimelineSvg, PutsRanksOnOneClock) {
  const Trace trace = ranks_until({7, 7});
  analysis::Communications communications;
  communications.alignment.offset_ns[1] = -10 * kMs;
  TimelineSvgRequest request = first_step();
  request.communications = &communications;
  EXPECT_THAT(timeline_svg(trace, request), HasSubstr("data-length-ms=\"20\""));
  EXPECT_THAT(timeline_svg(trace, first_step()), HasSubstr("data-length-ms=\"10\""));
}

TEST(TimelineSvg, ShowsEveryNameAsText) {
  Trace trace = ranks_until({7});
  trace.tracks[0].name = "</svg><script>";
  trace.add(slice_of(0, 5 * kMs, kMs, "\"&'\x01"));
  const std::string svg = timeline_svg(trace, first_step());
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, AllOf(HasSubstr("&lt;/svg&gt;&lt;script&gt;"), HasSubstr("&quot;&amp;&#39;\\x01")));
}

TEST(TimelineSvg, NeedsNothingElse) {
  const std::string svg = timeline_svg(ranks_until({7}), first_step());
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_EQ(count_of(svg, "http"), 1U);
}

TEST(TimelineSvg, RefusesAStepThatDoesNotExistAndANarrowWidth) {
  const Trace trace = ranks_until({7});
  EXPECT_EQ(thrown_by<std::invalid_argument>([&] { timeline_svg(trace, {.step = 7}); }),
            "no step 7 in block 0 of this trace; available block/step: 0/1");
  EXPECT_EQ(thrown_by<std::invalid_argument>([&] { timeline_svg(trace, {.step = 1, .width = 399}); }),
            "width: 399 is below the minimum of 400");
}

}  // namespace
}  // namespace underlap::page
