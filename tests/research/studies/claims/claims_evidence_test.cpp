// SPDX-License-Identifier: Apache-2.0
#include "research/studies/claims/evidence.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kOverlapped =
    "model: {preset: llama3-8b, num_layers: 2}\ndata_parallel_size: 2\nrun: {backend: sim}\n";

Evidence gathered(const std::string& yaml, bool runs = true) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "a.yaml", yaml);
  return gather_evidence(folder / "a.yaml", runs);
}

TEST(ClaimEvidence, ChunksAreTheCollectivesOfAStepAndSumToItsExposure) {
  const Evidence evidence = gathered(kOverlapped);
  ASSERT_EQ(evidence.cells.size(), 1U);
  const ClaimCell& cell = evidence.cells[0];
  ASSERT_TRUE(cell.run && cell.cut);
  for (const std::string purpose : {"param_all_gather", "grad_reduce_scatter"}) {
    std::int64_t count = 0;
    double time_ms = 0, exposed_ms = 0;
    for (const Chunk& chunk : cell.chunks) {
      if (chunk.purpose != purpose) continue;
      ++count;
      time_ms += chunk.time_ms;
      exposed_ms += chunk.exposed_ms;
    }
    EXPECT_EQ(count, cell.cut->buckets) << purpose;
    const report::PurposeSummary& of = cell.run->purposes.at(purpose);
    // Of rank 0 and of the mean rank: microseconds apart, of milliseconds.
    EXPECT_NEAR(time_ms, of.comm_ms, 0.01 * of.comm_ms) << purpose;
    EXPECT_NEAR(exposed_ms, of.exposed_ms, 0.01 * of.exposed_ms) << purpose;
  }
  EXPECT_EQ(cell.chunks.front().purpose, "param_all_gather");
  EXPECT_EQ(cell.chunks.back().purpose, "grad_reduce_scatter");
}

TEST(ClaimEvidence, PhasesOfAPipelineSumToItsExposure) {
  const Evidence evidence = gathered(
      "model: {preset: gpt3-175b, num_layers: 4, seq_length: 512, share_embeddings_and_output_weights: false, "
      "pipeline_model_parallel_size: 2}\ntrain: {num_microbatches: 4}\nrun: {backend: sim}\n");
  const ClaimCell& cell = evidence.cells[0];
  ASSERT_TRUE(cell.phases);
  EXPECT_THAT(cell.chunks, IsEmpty()) << "stages take part in different transfers";
  const PipelinePhases& phases = *cell.phases;
  for (const ModeTime& phase : {phases.fill, phases.steady, phases.flush}) EXPECT_GT(phase.exposed_transfer_ms, 0);
  const ModeTime& whole = cell.modes.at("pp");
  EXPECT_NEAR(phases.fill.exposed_ms + phases.steady.exposed_ms + phases.flush.exposed_ms, whole.exposed_ms, 1e-6);
  EXPECT_NEAR(phases.fill.comm_ms + phases.steady.comm_ms + phases.flush.comm_ms, whole.comm_ms, 1e-6);
}

TEST(ClaimEvidence, TellsWhatOfContextParallelismRunsUnderAttention) {
  const Evidence evidence = gathered(
      "model: {preset: llama3-8b, num_layers: 1, seq_length: 8192, context_parallel_size: 2}\n"
      "train: {num_microbatches: 1}\nrun: {backend: sim}\nmatrix: {extensions.cp_overlap: [true, false]}\n");
  const ClaimCell &overlapped = evidence.cells[0], &waited = evidence.cells[1];
  EXPECT_GT(overlapped.cp_under_attention_ms, 0);
  EXPECT_LE(overlapped.cp_under_attention_ms,
            overlapped.modes.at("cp").comm_ms - overlapped.modes.at("cp").exposed_ms + 1e-9)
      << "attention is compute";
  EXPECT_EQ(waited.cp_under_attention_ms, 0);
  EXPECT_GT(overlapped.compute_ms, 0);
  EXPECT_LT(overlapped.compute_ms, overlapped.run->step_ms->value);
}

TEST(ClaimEvidence, NamesTheLinkOfEachDescribedMachine) {
  const Evidence evidence = gathered(
      "model: {preset: tiny}\ndata_parallel_size: 2\nrun: {backend: sim}\n"
      "matrix: {run.hardware: [h100-sxm, b200]}\n");
  EXPECT_EQ(evidence.link, "modelled: b200; modelled: h100-sxm");
}

TEST(ClaimEvidence, AnErrorOfSomeCellsIsEvidenceOfAPlanAlone) {
  const std::string yaml =
      "model: {preset: tiny, pipeline_model_parallel_size: 2}\ntrain: {num_microbatches: 4}\nrun: {backend: sim}\n"
      "comm_overlap: {overlap_p2p_comm: true, batch_p2p_comm: false}\n"
      "matrix: {model.virtual_pipeline_model_parallel_size: [null, 2]}\n";
  const Evidence evidence = gathered(yaml, false);
  ASSERT_EQ(evidence.cells.size(), 2U);
  EXPECT_EQ(evidence.cells[0].plan.errors.size(), 1U);
  EXPECT_THAT(evidence.cells[1].plan.errors, IsEmpty());
  EXPECT_THROW(gathered(yaml, true), std::invalid_argument);
  EXPECT_THROW(gathered(yaml + "mdel: 1\n", false), std::invalid_argument) << "an error of all cells is the file's";
}

TEST(ClaimEvidence, IsTheSameEveryTime) {
  const Evidence one = gathered(kOverlapped), other = gathered(kOverlapped);
  EXPECT_EQ(one.cells[0].run->step_ms->value, other.cells[0].run->step_ms->value);
  EXPECT_EQ(one.link, other.link);
  EXPECT_THAT(one.link, HasSubstr("modelled"));
}

TEST(ClaimEvidence, SaysWhyAMatrixIsNotRunAndPlansItAllTheSame) {
  const std::string recomputes_an_mlp =
      "model: {preset: tiny, recompute_granularity: selective, recompute_modules: [mlp]}\ndata_parallel_size: 2\n"
      "run: {backend: sim}\n"
      "train: {num_microbatches: 2}\nmatrix: {mixed_precision.grad_reduce_in_fp32: [true, false]}\n";
  const Evidence evidence = gathered(recomputes_an_mlp);
  EXPECT_THAT(evidence.not_run, ElementsAre(HasSubstr("recompute_modules")));
  EXPECT_EQ(evidence.link, "");
  ASSERT_EQ(evidence.cells.size(), 2U);
  for (const ClaimCell& cell : evidence.cells) {
    EXPECT_FALSE(cell.run);
    EXPECT_THAT(cell.chunks, IsEmpty());
  }
  EXPECT_EQ(evidence.cells[1].values.at("grad_reduce_in_fp32"), "false");
  EXPECT_THAT(gathered(recomputes_an_mlp, false).not_run, IsEmpty()) << "nobody asked to run it";
}

TEST(ClaimEvidence, RefusesAFileThatIsWrongMissingOrMeasures) {
  const std::string two_errors = "model: {preset: tiny}\nrun: {backend: sim, step: 2}\nmodell: 1\n";
  study_testing::expect_refused([](const std::string& yaml, const std::string&) { gathered(yaml); },
                                {{two_errors, "a.yaml:2:"},
                                 {two_errors, "a.yaml:3:1"},
                                 {"model: {preset: tiny}\nrun: {backend: host}\n", "run.backend is host"}});
  EXPECT_THROW(gather_evidence("no/such/file.yaml", true), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::bench
