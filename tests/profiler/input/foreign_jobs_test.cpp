// SPDX-License-Identifier: Apache-2.0
// Jobs whose communication is no kernel of a known library: copies, kernels of unknown names, fused kernels; and why
// communication is exposed.
#include <gmock/gmock.h>

#include "profiler/analysis/analysis.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/input/trace_input.hpp"
#include "tests/profiler/input/rank_file.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/profiler/watch.hpp"

namespace underlap::input::foreign_jobs {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT
using analysis::ExposureReason;

constexpr std::string_view kGather =
    R"(, "Collective name": "_allgather_base", "In msg nelems": 1000, "Out msg nelems": 8000, "Group size": 8,
       "dtype": "BFloat16", "Process Group Name": "1", "Process Group Description": "mesh_dp_shard",
       "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]")";

CellTrace read(const RankFile& file) {
  const TemporaryFolder folder;
  write_text(folder / "rank0.json", file.text());
  Watch watch;
  return read_cell({folder / "rank0.json"}, [](const Trace&) { return attribution::AttributionOptions{}; }, watch,
                   {.reasons = true});
}

// Of the typical step, in microseconds.
double typical_us(const CellTrace& cell, const analysis::PartOfSplit& part) {
  return analysis::typical(cell.summary, part) / 1e3;
}
double exposed_us(const CellTrace& cell) {
  return typical_us(cell, [](const analysis::Split& s) { return s.exposed_ns(); });
}
double comm_us(const CellTrace& cell) {
  return typical_us(cell, [](const analysis::Split& s) { return s.comm_ns(); });
}
double compute_us(const CellTrace& cell) {
  return typical_us(cell, [](const analysis::Split& s) { return s.compute_ns(); });
}

/// How the copies of a gather are recorded.
struct CopyCase {
  std::string_view copy = "Memcpy PtoP (Device -> Device)";
  bool has_id = true;         ///< copies share the External id of the operation
  bool is_annotated = false;  ///< a range of the process group covers them
};

// Four steps of 1000 us: compute from 300 to 900, a gather of four copies of 100 us from 100 to 500.
RankFile copied(const CopyCase& how) {
  RankFile file;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    const int first = 10 * step + 1;
    file.step(step, at, 1000).launched("gemm", 7, at + 300, 600, first);
    const std::string id = how.has_id ? fmt::format(R"(, "External id": {})", 100 + step) : "";
    file.host("record_param_comms", at + 50, 10, fmt::format(R"({}, "External id": {})", kGather, 100 + step));
    for (int i = 0; i < 4; ++i) {
      file.call("cudaMemcpyAsync", at + 51 + i, 1, first + 1 + i);
      file.work("gpu_memcpy", how.copy, 20, at + 100 + 100 * i, 100, first + 1 + i, R"(, "bytes": 4000)" + id);
    }
    if (how.is_annotated) file.work("gpu_user_annotation", "nccl:_all_gather_base", 20, at + 100, 400, 0);
  }
  return file;
}

class CopyEngine : public TestWithParam<CopyCase> {};

TEST_P(CopyEngine, CopiesOfACollectiveAreOneCommunication) {
  const CellTrace cell = read(copied(GetParam()));
  EXPECT_DOUBLE_EQ(comm_us(cell), 400);
  EXPECT_DOUBLE_EQ(exposed_us(cell), 200);
  EXPECT_DOUBLE_EQ(compute_us(cell), 600);
  const auto& purposes = cell.summary.shown().front().total.purposes;
  ASSERT_TRUE(purposes.contains("all_gather"));
  EXPECT_EQ(purposes.at("all_gather").count, 3);  // one in each counted step
  EXPECT_EQ(cell.attribution.communications(), 4);
  if (!GetParam().has_id) return;
  EXPECT_TRUE(cell.summary.shown().front().total.modes.contains("fsdp"));
  EXPECT_EQ(purposes.at("all_gather").bytes_on_wire, 3 * 7 * 2000);
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, CopyEngine,
    Values(CopyCase{}, CopyCase{.is_annotated = true}, CopyCase{.has_id = false, .is_annotated = true},
           CopyCase{.copy = "Memcpy DtoD (Device -> Device)", .is_annotated = true},
           CopyCase{.copy = "Memcpy DtoD (Device -> Device)"},
           CopyCase{.copy = "Memcpy DtoD (Device -> Device)", .has_id = false, .is_annotated = true}));

TEST(CopyEngine, CopiesForACommunicationKernelAreNotCommunication) {
  RankFile file;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    file.step(step, at, 1000).launched("gemm", 7, at + 300, 600, 10 * step + 1);
    file.host("record_param_comms", at + 50, 10, fmt::format(R"({}, "External id": {})", kGather, 100 + step));
    const std::string id = fmt::format(R"(, "External id": {})", 100 + step);
    file.kernel("ncclDevKernel_AllGather_RING_LL(int)", 20, at + 100, 200, 10 * step + 2, id);
    file.work("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 20, at + 300, 100, 10 * step + 3, id);
    file.work("gpu_user_annotation", "nccl:all_gather", 20, at + 100, 300, 0);
  }
  EXPECT_DOUBLE_EQ(comm_us(read(file)), 200);
}

TEST(CopyEngine, CopyOfAGroupOfOneRankIsNoCommunication) {
  for (const bool is_annotated : {false, true}) {
    RankFile file;
    for (int step = 0; step < 4; ++step) {
      const double at = 1000.0 * step;
      file.step(step, at, 1000).launched("gemm", 7, at + 300, 600, 10 * step + 1);
      file.host(
          "record_param_comms", at + 50, 10,
          fmt::format(R"(, "Collective name": "_allgather_base", "Group size": 1, "External id": {})", 100 + step));
      file.work("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 20, at + 100, 100, 10 * step + 3,
                fmt::format(R"(, "External id": {})", 100 + step));
      if (is_annotated) file.work("gpu_user_annotation", "nccl:_all_gather_base", 20, at + 100, 100, 0);
    }
    EXPECT_DOUBLE_EQ(comm_us(read(file)), 0) << is_annotated;
  }
}

// Steps of 1000 us: compute from 100 to 700, `name` from 700 to 900 on `stream`.
CellTrace read_kernel(std::string_view name, int stream) {
  RankFile file;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    file.step(step, at, 1000).launched("gemm", 7, at + 100, 600, 10 * step + 1);
    file.launched(name, stream, at + 700, 200, 10 * step + 2);
  }
  return read(file);
}

TEST(UnknownKernels, LeadTheHeadlineWhereTheyMayCommunicate) {
  const CellTrace cell = read_kernel("void my::expert_alltoall<8>(int)", 7);
  const auto sentences = analysis::headline(cell.trace, cell.summary);
  EXPECT_THAT(sentences.front(), HasSubstr("0.200 ms (20 %) counts as compute, but may be communication"));
  EXPECT_THAT(sentences.front(), HasSubstr("my::expert_alltoall"));
  EXPECT_THAT(sentences, Contains("No other communication was found."));
  EXPECT_DOUBLE_EQ(comm_us(cell), 0);
}

TEST(UnknownKernels, CommunicateOnAStreamWithoutOtherWork) {
  const CellTrace cell = read_kernel("void my::expert_alltoall<8>(int)", 20);
  EXPECT_DOUBLE_EQ(exposed_us(cell), 200);
  EXPECT_THAT(analysis::headline(cell.trace, cell.summary).front(), StartsWith("A step takes"));
}

TEST(UnknownKernels, WithoutANameMayCommunicate) {
  const CellTrace cell = read_kernel("", 7);
  EXPECT_THAT(analysis::headline(cell.trace, cell.summary).front(), HasSubstr("unnamed kernels"));
}

TEST(FusedKernels, CountAsComputeAndNeverAsHidden) {
  const CellTrace cell =
      read_kernel("void cutlass::device_kernel<bytedance::flux::Gemm<int>>(bytedance::flux::Params)", 7);
  EXPECT_DOUBLE_EQ(compute_us(cell), 800);
  EXPECT_DOUBLE_EQ(comm_us(cell), 0);
  EXPECT_DOUBLE_EQ(typical_us(cell, [](const analysis::Split& s) { return s.fused_ns; }), 200);
  EXPECT_THAT(analysis::headline(cell.trace, cell.summary), Contains(HasSubstr("is in fused kernels")));
}

TEST(CopyKernels, AreNeitherComputeNorCommunication) {
  const CellTrace cell = read_kernel("__amd_rocclr_copyBuffer.kd", 7);
  EXPECT_DOUBLE_EQ(compute_us(cell), 600);
  EXPECT_DOUBLE_EQ(typical_us(cell, [](const analysis::Split& s) { return s.copy_only_ns; }), 200);
}

constexpr std::string_view kReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)";

const analysis::ExposureReasonSum& main_reason(const CellTrace& cell) {
  EXPECT_TRUE(!cell.summary.reasons.sums.empty());
  return cell.summary.reasons.sums.front();
}

TEST(ExposureReasons, HostThatWaitsBeforeTheLaunchLaunchesLate) {
  RankFile file;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    const int first = 10 * step;
    file.step(step, at, 1000).launched("gemm", 7, at + 100, 300, first + 1);
    file.call("cudaEventSynchronize", at + 110, 295, first + 2);  // until the GEMM has ended
    file.call("cudaLaunchKernel", at + 410, 4, first + 3).kernel(kReduce, 20, at + 420, 200, first + 3);
    file.call("cudaLaunchKernel", at + 600, 4, first + 4).kernel("relu", 7, at + 650, 200, first + 4);
  }
  const CellTrace cell = read(file);
  EXPECT_EQ(main_reason(cell).reason, ExposureReason::late_launch);
  EXPECT_EQ(name_of(main_reason(cell).waits_for), "cudaEventSynchronize");
  EXPECT_THAT(
      analysis::headline(cell.trace, cell.summary),
      Contains("Reason for all of the exposed time, if no rank is late: the host launches it late, after waiting in "
               "cudaEventSynchronize."));
}

TEST(ExposureReasons, StreamThatComputesCannotHideItsCommunication) {
  RankFile file;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    file.step(step, at, 1000).launched("gemm", 7, at + 100, 300, 10 * step + 1);
    file.launched(kReduce, 7, at + 400, 200, 10 * step + 2).launched("relu", 7, at + 600, 200, 10 * step + 3);
  }
  EXPECT_EQ(main_reason(read(file)).reason, ExposureReason::same_stream);
}

// All launched ahead; the reduction waits for the GEMM, and what follows for the reduction, by recorded events.
RankFile with_events() {
  RankFile file;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    const int first = 20 * step;
    file.step(step, at, 1000);
    file.call("cudaLaunchKernel", at + 10, 4, first + 1).kernel("gemm", 7, at + 200, 300, first + 1);
    file.call("cudaEventRecord", at + 15, 1, first + 2).call("cudaStreamWaitEvent", at + 17, 1, first + 3);
    file.call("cudaLaunchKernel", at + 20, 4, first + 4).kernel(kReduce, 20, at + 502, 200, first + 4);
    file.call("cudaEventRecord", at + 25, 1, first + 5).call("cudaStreamWaitEvent", at + 27, 1, first + 6);
    file.call("cudaLaunchKernel", at + 30, 4, first + 7).kernel("CatArrayBatchedCopy", 7, at + 704, 100, first + 7);
    file.work("cuda_sync", "Stream Wait Event", 20, at + 17, 0, first + 3,
              fmt::format(R"(, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": {})", first + 2));
    file.work("cuda_sync", "Stream Wait Event", 7, at + 27, 0, first + 6,
              fmt::format(R"(, "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": {})", first + 5));
  }
  return file;
}

TEST(ExposureReasons, NameTheAwaitedAndTheWaitingWork) {
  const analysis::ExposureReasonSum reason = main_reason(read(with_events()));
  EXPECT_EQ(reason.reason, ExposureReason::no_other_work);
  EXPECT_EQ(name_of(reason.waits_for), "gemm");
  EXPECT_EQ(name_of(reason.holds_up), "CatArrayBatchedCopy");
}

// Hidden at first; then the next kernel, launched before, starts at its end.
TEST(ExposureReasons, ComputeThatStartsAtTheEndOfACommunicationWaitedForIt) {
  RankFile file;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    const int first = 10 * step;
    file.step(step, at, 1000);
    file.call("cudaLaunchKernel", at + 10, 4, first + 1).kernel("gemm", 7, at + 100, 300, first + 1);
    file.call("cudaLaunchKernel", at + 20, 4, first + 2).kernel(kReduce, 20, at + 300, 300, first + 2);
    file.call("cudaLaunchKernel", at + 30, 4, first + 3).kernel("relu", 7, at + 602, 200, first + 3);
  }
  const CellTrace cell = read(file);
  EXPECT_EQ(main_reason(cell).reason, ExposureReason::no_other_work);
  EXPECT_TRUE(main_reason(cell).is_guessed);
  EXPECT_EQ(name_of(main_reason(cell).holds_up), "relu");
}

TEST(HiddenTable, NamesTheClassOfConcurrentCompute) {
  RankFile file;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    const int first = 10 * step;
    file.step(step, at, 1000).launched("flash_fwd_kernel", 7, at + 100, 300, first + 1);
    file.launched("grouped_gemm_kernel", 7, at + 400, 200, first + 2);
    file.launched("sm90_xmma_gemm_bf16", 7, at + 600, 100, first + 3).launched("relu", 7, at + 700, 50, first + 4);
    file.launched(kReduce, 20, at + 200, 600, first + 5);
  }
  const CellTrace cell = read(file);
  const analysis::FigureTable table = analysis::breakdown(cell.trace, cell.summary, analysis::Breakdown::hidden);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_THAT(table.rows[0].figures, ElementsAre(Optional(550'000.0), Optional(200'000.0), Optional(200'000.0),
                                                 Optional(100'000.0), Optional(50'000.0)));
}

}  // namespace
}  // namespace underlap::input::foreign_jobs
