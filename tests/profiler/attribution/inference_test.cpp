// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/inference.hpp"

#include <gmock/gmock.h>

#include <utility>

#include "tests/profiler/attribution/layouts.hpp"

namespace underlap::attribution {
namespace {

using namespace ::testing;  // NOLINT
using testing_support::layouts_of;

const RankLayouts kComposed = layouts_of({.tp = 2, .cp = 2, .dp = 2, .pp = 2});

TEST(GroupGeometry, TellsModesByRanksInMegatronsOrder) {
  const auto modes = [](std::vector<std::int32_t> ranks) { return modes_of_ranks(ranks, kComposed); };
  EXPECT_THAT(modes({0, 1}), ElementsAre(Mode::tp));
  EXPECT_THAT(modes({12, 14}), ElementsAre(Mode::cp));
  EXPECT_THAT(modes({1, 5}), ElementsAre(Mode::dp));
  EXPECT_THAT(modes({0, 2, 4, 6}), ElementsAre(Mode::dp));
  EXPECT_THAT(modes({8, 0}), ElementsAre(Mode::pp));
  EXPECT_THAT(modes({0, 1, 8, 9}), ElementsAre(Mode::other));
  EXPECT_THAT(modes({3}), IsEmpty());
  EXPECT_THAT(modes({0, 16}), IsEmpty());
  EXPECT_THAT(modes({-1, 0}), IsEmpty());
  EXPECT_THAT(modes_of_ranks(std::vector<std::int32_t>{0, 1}, {}), IsEmpty());
}

TEST(GroupGeometry, LeavesOpenWhatRanksDoNotTell) {
  const std::vector<std::int32_t> all{0, 1, 2, 3};
  EXPECT_THAT(modes_of_ranks(all, layouts_of({.cp = 4})), ElementsAre(Mode::cp, Mode::dp));
  const RankLayouts sizes = layouts_of({.tp = 2, .ep = 4, .dp = 8});
  EXPECT_THAT(modes_of_ranks(std::vector<std::int32_t>{0, 2, 4, 6}, sizes), ElementsAre(Mode::dp, Mode::ep));
  EXPECT_THAT(modes_of_ranks(std::vector<std::int32_t>{0, 8}, sizes), ElementsAre(Mode::dp));
}

TEST(GroupGeometry, TellsModesBySize) {
  EXPECT_THAT(modes_of_size(8, layouts_of({.tp = 8, .dp = 4, .pp = 2})), ElementsAre(Mode::tp));
  EXPECT_THAT(modes_of_size(2, kComposed), ElementsAre(Mode::tp, Mode::cp, Mode::dp, Mode::pp));
  EXPECT_THAT(modes_of_size(4, kComposed), ElementsAre(Mode::dp));
  EXPECT_THAT(modes_of_size(1, kComposed), IsEmpty());
}

// A rank whose communication has rhythms of its own.
struct Rhythms {
  Trace trace;
  std::vector<std::size_t> communication;
  std::int64_t now_ns = 0;

  std::uint32_t group(std::vector<std::int32_t> ranks) {
    const auto number = static_cast<std::int32_t>(trace.groups.size());
    return trace.add_group({.ranks = std::move(ranks), .name = intern(std::to_string(number)), .num_ranks = 0});
  }
  Slice slice(std::string_view name, Kind kind) {
    now_ns += 10;
    return {.track = trace.add_track({0, kind == Kind::compute ? 0 : 1, kind == Kind::compute ? "0" : "1"}),
            .start_ns = now_ns,
            .duration_ns = 10,
            .name = intern(name),
            .tag = {.kind = kind}};
  }
  void compute(int count, std::string_view name = "gemm") {
    for (int i = 0; i < count; ++i) trace.add(slice(name, Kind::compute));
  }
  void communicate(std::uint32_t in, std::vector<Collective> collectives) {
    CommunicationRecord record{.group = in, .transfers = {}};
    for (const Collective collective : collectives) record.transfers.push_back({.collective = collective});
    communication.push_back(trace.size());
    trace.add(slice("ncclDevKernel", Kind::communication), record);
  }
  // By group.
  std::map<std::uint32_t, Mode> modes(const RankLayouts& sizes) const {
    const std::vector<Channel> channels = channels_of(trace, communication, GroupsOfSlices(trace));
    const std::vector<Inference> inferences = infer(trace, channels, sizes);
    std::map<std::uint32_t, Mode> found;
    for (std::size_t c = 0; c < channels.size(); ++c) found[channels[c].group.value()] = inferences[c].mode;
    return found;
  }
};

Rhythms layers_of_a_model() {
  Rhythms r;
  const auto tp = r.group({0, 1});
  const auto cp = r.group({0, 2});
  const auto dp = r.group({0, 2, 4, 6});
  const auto pp = r.group({0, 8});
  for (int bucket = 0; bucket < 6; ++bucket) r.communicate(dp, {Collective::all_gather});
  for (int layer = 0; layer < 20; ++layer) {
    if (layer % 10 == 0) r.communicate(pp, {Collective::receive});
    r.communicate(tp, {Collective::all_gather});
    r.compute(3);
    r.communicate(cp, {Collective::send, Collective::receive});
    r.compute(1, "flash_fwd_kernel");
    r.compute(3);
    r.communicate(tp, {Collective::reduce_scatter});
  }
  for (int bucket = 0; bucket < 6; ++bucket) r.communicate(dp, {Collective::reduce_scatter});
  return r;
}

TEST(Inference, TellsModesByRhythmUnlessAConfigurationIsGiven) {
  EXPECT_THAT(layers_of_a_model().modes({}), ElementsAre(std::pair{0U, Mode::tp}, std::pair{1U, Mode::cp},
                                                         std::pair{2U, Mode::dp}, std::pair{3U, Mode::pp}));
  const RankLayouts sizes = layouts_of({.dp = 2, .pp = 8});
  EXPECT_EQ(layers_of_a_model().modes(sizes).at(0), Mode::dp);
}

TEST(Inference, LeavesOpenWhatMayBeAnAllToAll) {
  Rhythms r;
  const auto group = r.group({});
  for (int i = 0; i < 10; ++i) {
    r.compute(5);
    r.communicate(group, {});
    r.communicate(group, {Collective::all_to_all});
  }
  for (const auto& [g, mode] : r.modes({})) EXPECT_EQ(mode, Mode::none);
}

TEST(Inference, GivesRareAllReducesBesideShardedGradientsToThePipeline) {
  Rhythms r;
  const auto dp = r.group({});
  const auto embedding = r.group({});
  r.communicate(dp, {Collective::all_gather});
  r.compute(500);
  r.communicate(dp, {Collective::reduce_scatter});
  r.communicate(embedding, {Collective::all_reduce});
  EXPECT_EQ(r.modes(layouts_of({.tp = 2, .dp = 2, .pp = 2})).at(embedding), Mode::pp);
}

}  // namespace
}  // namespace underlap::attribution
