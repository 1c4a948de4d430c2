// SPDX-License-Identifier: Apache-2.0
// Traces of one format written in another by the program itself.

#include "profiler/analysis/exposure.hpp"
#include "profiler/formats/format.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

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

Words files_beside(const fs::path& file) {
  Words files;
  for (const auto& entry : fs::directory_iterator(file.parent_path()))
    if (entry.path().filename().string().starts_with(file.stem().stem().string())) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

Json figures_of(const Words& traces) {
  Json figures = json_of(joined({"analyze"}, traces));
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

Splits found_in(const Words& files) {
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
  const report::RunResults results = folder.results();
  ASSERT_FALSE(results.cells.empty());
  for (const report::CellResult& cell : results.cells) {
    const std::string native = folder.run() + "/" + cell.trace_file;
    const fs::path kineto = folder.folder / ("kineto_" + cell.name + ".json.gz");
    ASSERT_EQ(underlap_program({"convert", native, kineto}).exit_code, 0) << cell.name;
    const Words files = files_beside(kineto);
    EXPECT_EQ(figures_of(files), figures_of({native})) << cell.name;
    EXPECT_EQ(found_in(files), found_in_place(cell)) << cell.name;
    EXPECT_EQ(found_in({native}), found_in_place(cell)) << cell.name;
  }
}

// In virtual time, and measured on this host.
TEST(Convert, ChangesNoFigure) {
  for (const std::string& config : {std::string(kModes), tiny_config("data_parallel_size: 2\n")}) {
    const RunFolder folder(config);
    folder.measure();
    expect_same_figures_in_every_format(folder);
  }
}

class ConvertFiles : public OneRun<ConvertFiles> {
 public:
  static std::string config() { return tiny_config("data_parallel_size: 2\n"); }
  static Words options() { return {"--backend", "sim"}; }

 protected:
  static std::string file(const std::string& name) { return folder_->folder / name; }
};

TEST_F(ConvertFiles, PutsSeveralRanksIntoOneFile) {
  Trace trace;
  for (const std::int32_t rank : {0, 1}) {
    const std::uint32_t track = trace.add_track({rank, 0, "compute"});
    trace.add({.track = track, .start_ns = 5, .duration_ns = 10 + rank, .name = intern("gemm"), .tag = {}});
  }
  formats::write_trace(file("two.json"), trace);
  expect_success({"convert", file("two.rank0.json"), file("two.rank1.json"), file("both.pftrace.zst")});
  const Trace both = formats::read_trace(file("both.pftrace.zst"));
  EXPECT_EQ(both.tracks.size(), 2U);
  EXPECT_THAT(both.duration_ns(), ElementsAre(10, 11));
}

TEST_F(ConvertFiles, DrawsArrowsBetweenRanks) {
  expect_success({"convert", trace(), file("arrows.pftrace")});
  const Trace with_arrows = formats::read_trace(file("arrows.pftrace"));
  const bool is_folded = with_arrows.tracks.back().rank == 0;  // one rank stands for others
  const bool has_arrows = std::ranges::any_of(with_arrows.flows, [&](const Flow& flow) {
    return with_arrows.track_of(flow.from).rank != with_arrows.track_of(flow.to).rank;
  });
  EXPECT_EQ(has_arrows, !is_folded);
}

}  // namespace
}  // namespace underlap::bench
