// SPDX-License-Identifier: Apache-2.0
// Traces of one format written in another by the program itself.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "platform/json.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Every mode of parallelism alone, and all at once.
constexpr const char* kModes =
    "model: {num_layers: 4, hidden_size: 64, ffn_hidden_size: 128, num_attention_heads: 4, num_query_groups: 4, "
    "vocab_size: 256, seq_length: 64}\n"
    "train: {micro_batch_size: 1, global_batch_size: 8}\n"
    "run: {backend: sim, steps: 2, blocks: 2, warmup: 1}\n"
    "matrix:\n"
    "  - mode:\n"
    "      - {name: dp, data_parallel_size: 2}\n"
    "      - {name: tp, model.tensor_model_parallel_size: 2, model.sequence_parallel: true}\n"
    "      - {name: pp, model.pipeline_model_parallel_size: 2}\n"
    "      - {name: cp, model.context_parallel_size: 2}\n"
    "      - {name: all, data_parallel_size: 2, model.tensor_model_parallel_size: 2, model.sequence_parallel: true, "
    "model.context_parallel_size: 2, model.pipeline_model_parallel_size: 2}\n";

std::vector<std::string> files_beside(const std::filesystem::path& file) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path()))
    if (entry.path().filename().string().starts_with(file.stem().stem().string())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

ordered_json figures_of(const std::vector<std::string>& traces) {
  std::vector<std::string> arguments{"analyze", "--json"};
  arguments.insert(arguments.end(), traces.begin(), traces.end());
  const Outcome outcome = underlap_program(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ordered_json figures = parse_json(outcome.out);
  figures.erase("files");
  return figures;
}

// What the run itself found, before any file was written.
using Splits = std::map<std::pair<std::int32_t, std::size_t>, analysis::Split>;  // by step and place of the rank

Splits found_in_place(const report::CellResult& cell) {
  Splits splits;
  for (const report::StepSample& sample : cell.samples)
    for (std::size_t rank = 0; rank < sample.ranks.size(); ++rank) splits[{sample.step, rank}] = sample.ranks[rank];
  return splits;
}

Splits found_in(const std::vector<std::string>& files) {
  Trace trace;
  for (const std::string& file : files) trace.append(formats::read_trace(file));
  const std::vector<analysis::Window> windows = analysis::find_windows(trace).windows;
  const std::vector<analysis::Split> of_windows = analysis::split_windows(trace, windows);
  std::map<std::int32_t, std::size_t> num_ranks;
  Splits splits;
  for (std::size_t i = 0; i < windows.size(); ++i)
    splits[{windows[i].step, num_ranks[windows[i].step]++}] = of_windows[i];
  return splits;
}

void expect_same_figures_in_every_format(const RunFolder& folder) {
  const report::RunResults results = report::read_results(folder.run());
  ASSERT_FALSE(results.cells.empty());
  for (const report::CellResult& cell : results.cells) {
    const std::string native = folder.run() + "/" + cell.trace_file;
    const std::filesystem::path kineto = folder.folder / ("kineto_" + cell.name + ".json.gz");
    ASSERT_EQ(underlap_program({"convert", native, kineto}).exit_code, 0) << cell.name;
    const std::vector<std::string> files = files_beside(kineto);
    EXPECT_EQ(figures_of(files), figures_of({native})) << cell.name;
    EXPECT_EQ(found_in(files), found_in_place(cell)) << cell.name;
    EXPECT_EQ(found_in({native}), found_in_place(cell)) << cell.name;
  }
}

TEST(Convert, OfEveryModeInVirtualTimeChangesNoFigure) {
  const RunFolder folder(kModes);
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  expect_same_figures_in_every_format(folder);
}

TEST(Convert, OfARunOfThisHostChangesNoFigure) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  expect_same_figures_in_every_format(folder);
}

class ConvertFiles : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new RunFolder(tiny_config("data_parallel_size: 2\n"));
    ASSERT_EQ(underlap_program(folder_->arguments({"--backend", "sim"})).exit_code, 0);
  }
  static void TearDownTestSuite() { delete std::exchange(folder_, nullptr); }

  static std::string trace() { return folder_->traces().front(); }
  static std::string file(const std::string& name) { return folder_->folder / name; }

  static RunFolder* folder_;
};

RunFolder* ConvertFiles::folder_ = nullptr;

TEST_F(ConvertFiles, SaysWhatItWroteAndTakesARunsFolder) {
  const Outcome outcome = underlap_program({"convert", folder_->run(), file("whole.json")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, fmt::format("wrote {}\n", file("whole.json")));
}

TEST_F(ConvertFiles, OverwritesOnlyWhereItIsTold) {
  ASSERT_EQ(underlap_program({"convert", trace(), file("twice.pftrace")}).exit_code, 0);
  EXPECT_THAT(underlap_program({"convert", trace(), file("twice.pftrace")}),
              fails_with(2, "twice.pftrace is there already: name another file, or --force to overwrite it"));
  EXPECT_EQ(underlap_program({"convert", trace(), file("twice.pftrace"), "--force"}).exit_code, 0);
  EXPECT_EQ(underlap_program({"convert", "--force", trace(), trace()}).exit_code, 0);
  EXPECT_EQ(underlap_program({"analyze", trace()}).exit_code, 0);
}

TEST_F(ConvertFiles, PutsSeveralRanksIntoOneFile) {
  Trace trace;
  for (const std::int32_t rank : {0, 1}) {
    const std::uint32_t track = trace.add_track({rank, 0, "compute"});
    trace.add({.track = track, .start_ns = 5, .duration_ns = 10 + rank, .name = intern("gemm"), .tag = {}});
  }
  formats::write_trace(file("two.json"), trace);
  const Outcome outcome =
      underlap_program({"convert", file("two.rank0.json"), file("two.rank1.json"), file("both.pftrace.zst")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Trace both = formats::read_trace(file("both.pftrace.zst"));
  EXPECT_EQ(both.tracks.size(), 2U);
  EXPECT_THAT(both.duration_ns(), ::testing::ElementsAre(10, 11));
}

TEST_F(ConvertFiles, RefusesWhatItCannotDoBeforeItReads) {
  EXPECT_THAT(underlap_program({"convert", "nowhere.json", file("out.txt")}),
              fails_with(2, "no format is written with this extension; known are .pftrace, .pftrace.zst, .json"));
  EXPECT_THAT(underlap_program({"convert", trace(), file("out.pftrace.gz")}), fails_with(2, "no format is written"));
  EXPECT_THAT(underlap_program({"convert", trace()}), fails_with(2, "FILE is required"));
  EXPECT_THAT(underlap_program({"convert", trace(), file("out.json"), "--cell", "both"}),
              fails_with(2, "--cell names a cell of a run's folder"));
  EXPECT_THAT(underlap_program({"convert", trace(), file("none/out.json")}), fails_with(3, "cannot be written"));
}

TEST_F(ConvertFiles, LeavesNoFileWhereTheDiskIsFull) {
  const Outcome outcome = underlap_program({"convert", trace(), file("full.json")}, {.file_bytes = 2000});
  EXPECT_THAT(outcome, fails_with(3, "full.json: cannot be written"));
  for (const auto& entry : std::filesystem::directory_iterator(file("")))
    EXPECT_FALSE(entry.path().filename().string().starts_with("full")) << entry.path();
}

TEST_F(ConvertFiles, DrawsArrowsBetweenRanks) {
  ASSERT_EQ(underlap_program({"convert", trace(), file("arrows.pftrace")}).exit_code, 0);
  const Trace with_arrows = formats::read_trace(file("arrows.pftrace"));
  const bool is_folded = with_arrows.tracks.back().rank == 0;  // one rank stands for others
  const bool has_arrows = std::ranges::any_of(with_arrows.flows, [&](const Flow& flow) {
    return with_arrows.track_of(flow.from).rank != with_arrows.track_of(flow.to).rank;
  });
  EXPECT_EQ(has_arrows, !is_folded);
}

}  // namespace
}  // namespace underlap::bench
