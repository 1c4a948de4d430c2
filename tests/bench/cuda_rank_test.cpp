// SPDX-License-Identifier: Apache-2.0
// A rank of backend cuda from plan to trace, on a GPU, a cuBLASLt and a CUPTI that the host plays.
#include "bench/cuda_rank.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "impl/device/cuda/folder_control_plane.hpp"
#include "impl/device/cuda/nccl_transport.hpp"
#include "impl/plan/plan.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "platform/errors.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/cuda_host/cublaslt_double.hpp"
#include "tests/cuda_host/machine.hpp"
#include "tests/cuda_host/nccl_double.hpp"
#include "tests/impl/device/cuda/host_run_form.hpp"
#include "tests/profiler/collect/cupti/fake_cupti.hpp"

namespace underlap::bench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// What the played GPU does, as CUPTI would tell of it: a kernel for each item that runs, tied to the operation that
/// was open when it was enqueued.
class SeenByCupti {
 public:
  explicit SeenByCupti(cupti::FakeCupti& fake) : fake_(fake) {
    cuda_host::Machine::instance().watch = [this]() -> std::function<void(std::int64_t, std::int64_t)> {
      const std::uint64_t operation = fake_.operation();
      const std::uint32_t correlation = ++last_correlation_;
      return [this, operation, correlation](std::int64_t start, std::int64_t end) {
        if (operation != 0) records_.add(cupti::synthetic_external(correlation, operation));
        records_.add(cupti::synthetic_kernel<>(correlation, static_cast<std::uint64_t>(start),
                                               static_cast<std::uint64_t>(end) + 1));
      };
    };
  }
  ~SeenByCupti() { cuda_host::Machine::instance().watch = {}; }
  SeenByCupti(const SeenByCupti&) = delete;
  SeenByCupti& operator=(const SeenByCupti&) = delete;

  /// Hands what ran so far to CUPTI's buffers.
  void hand_over() { fake_.run(std::exchange(records_, {})); }
  void forget() { records_ = {}; }

 private:
  cupti::FakeCupti& fake_;
  cupti::SyntheticBuffer records_;
  std::uint32_t last_correlation_ = 0;
};

constexpr const char* kModel =
    "model: {num_layers: 1, hidden_size: 16, ffn_hidden_size: 32, num_attention_heads: 2, num_query_groups: 1, "
    "vocab_size: 256, seq_length: 8}\n"
    "comm_overlap: {overlap_grad_reduce: true, overlap_param_gather: true, bucket_size: 2000}\n"
    "environment: {gpu_arch: h100}\n";

class OnAPlayedGpu : public testing::Test {
 protected:
  OnAPlayedGpu() {
    cuda_host::Machine::instance().reset(1, 11);
    cuda_host::NcclDouble::instance().reset();
  }

  CudaRank& rank_of(const std::string& more, bool with_collector = true) {
    matrix_ = plan::parse(kModel + more, "f");
    EXPECT_THAT(matrix_.errors, IsEmpty());
    api_ = fake_.api();
    if (with_collector) collector_ = std::make_unique<cupti::Collector>(api_, cupti::CollectorOptions{.rank = 0});
    seen_.reset();  // two would watch the same machine
    seen_ = std::make_unique<SeenByCupti>(fake_);
    products_ = std::make_unique<cuda::MatrixProducts>(cuda_host::CublasLtDouble::api());
    transport_ = std::make_unique<cuda::NcclTransport>(nccl_, control_, cuda::NcclOptions{});
    rank_ = std::make_unique<CudaRank>(RankContext{.cells = matrix_.cells},
                                       CudaParts{.transport = transport_.get(),
                                                 .control = told_to_,
                                                 .products = products_.get(),
                                                 .collector = collector_.get(),
                                                 .run_form = cuda::run_cpu_form_on_host});
    rank_->build(0);
    seen_->forget();
    return *rank_;
  }

  RankRun block(std::int32_t number, std::int64_t steps) {
    rank_->run(0, number, steps);
    if (collector_) seen_->hand_over();
    return rank_->take(0);
  }

  cupti::FakeCupti fake_;
  cupti::Api api_;
  plan::Matrix matrix_;
  cuda::ThreadControlPlane control_{std::chrono::seconds(20)};
  cuda::ControlPlane* told_to_ = &control_;
  cuda::NcclApi nccl_ = cuda_host::NcclDouble::api();
  std::unique_ptr<cupti::Collector> collector_;
  std::unique_ptr<SeenByCupti> seen_;
  std::unique_ptr<cuda::MatrixProducts> products_;
  std::unique_ptr<cuda::NcclTransport> transport_;
  std::unique_ptr<CudaRank> rank_;
};

constexpr const char* kEmulated =
    "data_parallel_size: 4\nrun: {backend: cuda, link: 'emulated:1GB/s,sms=1', steps: 2, blocks: 1}\n";

TEST_F(OnAPlayedGpu, EveryKernelOfATracedBlockIsTaggedAndMarksCutItsWindows) {
  rank_of(kEmulated);
  const RankRun run = block(0, 3);
  EXPECT_EQ(run.first_step, 0);
  EXPECT_THAT(run.trace.marks, SizeIs(3));
  std::set<std::string> purposes;
  for (std::size_t i = 0; i < run.trace.size(); ++i) purposes.emplace(name_of(run.trace.tag(i).purpose));
  for (const char* purpose : {"grad_reduce_scatter", "param_all_gather", "fc1_fprop", "adam"})
    EXPECT_THAT(purposes, testing::Contains(purpose)) << fmt::format("{}", fmt::join(purposes, ", "));
  const auto windows = analysis::find_windows(run.trace).windows;
  ASSERT_THAT(windows, SizeIs(2));
  for (const analysis::Split& split : analysis::split_windows(run.trace, windows)) {
    EXPECT_GT(split.modes.at("dp").bytes_on_wire, 0);
    EXPECT_GT(split.compute_ns(), 0);
    // One rank stands for four: nobody knows when the others would have come.
    EXPECT_EQ(split.exposed_unsplit_ns, split.exposed_ns());
  }
  EXPECT_THAT(run.losses, IsEmpty());
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("rank 0: emulated link: asked 1 GB/s")));
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("waiting for peers: not emulated")));
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("windows traced to event-timed")));
}

TEST_F(OnAPlayedGpu, ABlockWithAKernelThatNoOperationOwnsIsNotValid) {
  rank_of(kEmulated);
  rank_->run(0, 0, 2);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cuda_host::launch_kernel(1, 1, 0, stream, [] {});
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  seen_->hand_over();
  try {
    rank_->take(0);
    FAIL() << "a stray kernel went unnoticed";
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("this block is not valid: 1 of synthetic_gemm belong to no operation"));
  }
}

TEST_F(OnAPlayedGpu, ABlockOfWhichRecordsWereLostIsNotValidAndAWarmUpIsLetGo) {
  rank_of(kEmulated);
  rank_->run(0, -1, 2);
  seen_->hand_over();
  fake_.drop(3);
  EXPECT_NO_THROW(rank_->take(0));
  rank_->run(0, 0, 2);
  seen_->hand_over();
  fake_.drop(3);
  try {
    rank_->take(0);
    FAIL() << "lost records went unnoticed";
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("CUPTI dropped 3 records"));
  }
}

TEST_F(OnAPlayedGpu, AnUntracedBlockHasLossesAndMarksTimedByEvents) {
  rank_of("run: {backend: cuda, trace: false, steps: 2, blocks: 1}\n", false);
  const RankRun run = block(0, 3);
  EXPECT_THAT(run.losses, SizeIs(3));
  for (const double loss : run.losses) EXPECT_NEAR(loss, 5.545, 0.3);  // ln 256
  EXPECT_THAT(run.trace.marks, SizeIs(3));
  EXPECT_EQ(run.trace.size(), 0U);
  EXPECT_THAT(run.trace.clocks, SizeIs(1));
}

// Without the folder in which ranks meet there is no place where a failure would be told. An error of the runtime's
// names no rank.
TEST_F(OnAPlayedGpu, OwnsItsFailureWhereNoOtherRankToldOfOne) {
  cuda::FolderControlPlane gone("/nowhere", std::chrono::seconds(1));
  told_to_ = &gone;
  cuda_host::Machine::instance().fail("an illegal address");
  try {
    rank_of(kEmulated, false);
    FAIL() << "a failed GPU went unnoticed";
  } catch (const PeerError& error) {
    FAIL() << "blamed a peer: " << error.what();
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("an illegal address"));
  }
}

TEST_F(OnAPlayedGpu, ATracedRankTellsTheSameLossesAsAnUntracedOne) {
  rank_of("run: {backend: cuda, trace: false, steps: 2, blocks: 1}\n", false);
  const std::vector<double> untraced = block(0, 3).losses;
  rank_.reset();
  rank_of("run: {backend: cuda, steps: 2, blocks: 1}\n");
  EXPECT_EQ(block(0, 3).losses, untraced);
}

}  // namespace
}  // namespace underlap::bench
