// SPDX-License-Identifier: Apache-2.0
// A rank of backend cuda from plan to trace, on a GPU, a cuBLASLt and a CUPTI that the host plays.
#include "bench/ranks/cuda_rank.hpp"

#include <fmt/format.h>

#include "impl/device/cuda/nccl/nccl_transport.hpp"
#include "impl/device/cuda/peer_copies/copy_engine_transport.hpp"
#include "impl/device/cuda/store_control_plane.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "platform/errors.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/cuda_host/cublaslt_double.hpp"
#include "tests/cuda_host/nccl_double.hpp"
#include "tests/cuda_host/seen_by_cupti.hpp"
#include "tests/impl/device/cuda/folder_rank_store.hpp"
#include "tests/impl/device/cuda/host_run_implementation.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

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
    matrix_ = plan::parse(kModel + more, "f", settings_);
    EXPECT_THAT(matrix_.errors, IsEmpty());
    api_ = fake_.api();
    if (with_collector) collector_ = std::make_unique<cupti::Collector>(api_, cupti::CollectorOptions{.rank = 0});
    seen_.reset();  // two would watch the same machine
    seen_ = std::make_unique<cuda_host::SeenByCupti>(fake_);
    products_ = std::make_unique<cuda::MatrixProducts>(cuda_host::CublasLtDouble::api());
    transport_ = std::make_unique<cuda::NcclTransport>(nccl_, control_, cuda::NcclOptions{});
    rank_ = std::make_unique<CudaRank>(RankContext{.cells = matrix_.cells},
                                       CudaParts{.transport = transport_.get(),
                                                 .control = told_to_,
                                                 .products = products_.get(),
                                                 .collector = collector_.get(),
                                                 .run_implementation = run_implementation_});
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
  std::vector<std::pair<std::string, std::string>> settings_;  // over what the file says
  plan::Matrix matrix_;
  cuda::ThreadControlPlane control_{std::chrono::seconds(20)};
  cuda::ControlPlane* told_to_ = &control_;
  cuda::RunImplementation run_implementation_ = cuda::run_cpu_implementation_on_host;
  cuda::NcclApi nccl_ = cuda_host::NcclDouble::api();
  std::unique_ptr<cupti::Collector> collector_;
  std::unique_ptr<cuda_host::SeenByCupti> seen_;
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
  EXPECT_EQ(run.gpu, "host threads");
  EXPECT_THAT(run.trace.marks, SizeIs(3));
  std::set<std::string> purposes;
  for (std::size_t i = 0; i < run.trace.size(); ++i) purposes.emplace(name_of(run.trace.tag(i).purpose));
  for (const char* purpose : {"grad_reduce_scatter", "param_all_gather", "fc1_fprop", "adam"})
    EXPECT_THAT(purposes, Contains(purpose)) << fmt::format("{}", fmt::join(purposes, ", "));
  const auto windows = analysis::find_windows(run.trace).windows;
  ASSERT_THAT(windows, SizeIs(2));
  for (const analysis::Split& split : analysis::split_windows(run.trace, windows)) {
    EXPECT_GT(split.modes.at("dp").bytes_on_wire, 0);
    EXPECT_GT(split.compute_ns(), 0);
    // One rank stands for four: nobody knows when the others would have come.
    EXPECT_EQ(split.exposed_unsplit_ns, split.exposed_ns());
  }
  EXPECT_THAT(run.losses, IsEmpty());
  EXPECT_THAT(run.notes, Contains(HasSubstr("rank 0: emulated link of 1 GB/s")));
  EXPECT_THAT(run.notes, Contains(HasSubstr("waiting for peers: not emulated")));
  EXPECT_THAT(run.notes, Contains(HasSubstr("windows traced to event-timed")));
  EXPECT_THAT(run.notes, Contains(HasSubstr("CUPTI against %globaltimer, ")));
  EXPECT_THAT(run.capture_faults, IsEmpty());
}

TEST_F(OnAPlayedGpu, ABlockOverCopyEnginesThatTheDriverDoesNotUseIsNotValid) {
  const std::string copied =
      "data_parallel_size: 4\nrun: {backend: cuda, link: 'emulated:1GB/s,copy_engine', steps: 2, blocks: 1}\n";
  cuda_host::Machine::instance().set_driver(13000);
  rank_of(copied);
  EXPECT_THAT(block(0, 3).invalid_because, Contains(HasSubstr("rank 0: copy engines were requested, but")));
  if (CUDART_VERSION < 12080) return;  // built so, nothing can be asked of any driver
  cuda_host::Machine::instance().set_driver(13010);
  EXPECT_THAT(block(0, 3).invalid_because, Not(Contains(HasSubstr("copy engines"))));
}

TEST_F(OnAPlayedGpu, NotesOfATracedCellSayOnceWhatItsCuptiCannotDo) {
  fake_.has_all_sync_records = false;
  rank_of(kEmulated);
  const auto is_told = Contains("rank 0: this CUPTI (before CUDA 12.8) also records queries of unfinished work");
  EXPECT_THAT(block(-1, 2).notes, Not(is_told)) << "nobody keeps what a warm-up notes";
  EXPECT_THAT(block(0, 2).notes, is_told);
  EXPECT_THAT(block(1, 2).notes, Not(is_told));
}

/// The shapes of what ran, and of what had run when the first communicator was made.
struct Shapes {
  std::set<std::string> ran;
  std::set<std::string> tried;
};
Shapes& shapes() {
  static Shapes instance;
  return instance;
}
void run_and_note_shape(const Operation& operation, const Arguments& views, cuda::LaunchContext& context) {
  std::string shape(name_of(operation.name()));
  for (std::size_t i = 0; i < views.size(); ++i) shape += fmt::format(" {}x{}", views[i].rows, views[i].cols);
  shapes().ran.insert(shape);
  cuda::run_cpu_implementation_on_host(operation, views, context);
}

TEST_F(OnAPlayedGpu, StepsLaunchNothingThatWasNotTriedBeforeTheFirstTransfer) {
  shapes() = {};
  run_implementation_ = run_and_note_shape;
  nccl_.CommInitRankConfig = [](ncclComm_t* handle, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
    if (shapes().tried.empty()) shapes().tried = std::exchange(shapes().ran, {});
    return cuda_host::NcclDouble::api().CommInitRankConfig(handle, ranks, id, rank, config);
  };
  rank_of("run: {backend: cuda, trace: false, steps: 2, blocks: 1}\n", false);
  block(0, 3);
  EXPECT_GT(shapes().ran.size(), 20U);
  EXPECT_THAT(shapes().tried, testing::IsSupersetOf(shapes().ran));
}

/// A fault of `cause` in what a block's records lack.
auto has_fault(const char* cause, std::int64_t count, const std::string& example) {
  return Contains(AllOf(testing::Field(&report::CaptureFault::cause, cause),
                        testing::Field(&report::CaptureFault::count, count),
                        testing::Field(&report::CaptureFault::example, ContainsRegex(example))));
}

TEST_F(OnAPlayedGpu, ABlockWithAKernelThatNoOperationOwnsIsKeptWithItsCount) {
  rank_of(kEmulated);
  rank_->run(0, 0, 2);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cuda_host::launch_kernel({.thread_code = [] {}}, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  seen_->hand_over();
  const RankRun run = rank_->take(0);
  EXPECT_THAT(run.capture_faults, has_fault("untagged", 1, "1 records of synthetic_gemm belong to no operation"));
  EXPECT_THAT(run.trace.marks, SizeIs(2));
  EXPECT_THAT(run.invalid_because, IsEmpty());
}

TEST_F(OnAPlayedGpu, ABlockWithALaunchWhoseKernelWasNotRecordedIsKeptWithItsCount) {
  rank_of(kEmulated);
  block(0, 2);
  seen_->lose_next();
  EXPECT_THAT(
      block(1, 2).capture_faults,
      has_fault("lost", 1, "CUPTI has no record of the device work of a (launch|transfer|copy) [a-z]+ [a-z_]+"));
  seen_->lose_next(cuda_host::SeenByCupti::Loss::times);
  EXPECT_THAT(block(2, 2).capture_faults, has_fault("unreadable", 1, "kernel without times"));
}

// The marker of a step is a kernel like any other.
TEST_F(OnAPlayedGpu, ABlockThatLacksAMarkHasTheMarksOfEvents) {
  rank_of(kEmulated);
  seen_->every = 1;
  seen_->loss_of_every = cuda_host::SeenByCupti::Loss::record;
  const RankRun run = block(0, 3);
  EXPECT_THAT(run.trace.marks, SizeIs(3));
  EXPECT_THAT(run.notes, Contains(HasSubstr("windows are timed by events")));
  EXPECT_THAT(run.capture_faults, Not(IsEmpty()));
}

TEST_F(OnAPlayedGpu, StrictTracesFailABlockOfWhichRecordsWereLostAndNoWarmUp) {
  settings_ = {{"run.trace", "strict"}};
  rank_of(kEmulated);
  rank_->run(0, -1, 2);
  seen_->hand_over();
  fake_.drop(3);
  EXPECT_NO_THROW(rank_->take(0));
  rank_->run(0, 0, 2);
  seen_->hand_over();
  fake_.drop(3);
  EXPECT_THAT([&] { rank_->take(0); }, ThrowsMessage<MachineError>(AllOf(HasSubstr("run.trace is strict"),
                                                                         HasSubstr("CUPTI dropped 3 records"))));
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

// Ranks that are processes know of no other's failure. An error of the runtime's names no rank.
TEST_F(OnAPlayedGpu, OwnsItsFailureWhereNoOtherRankToldOfOne) {
  cuda::FolderRankStore store("/nowhere");
  cuda::StoreControlPlane control(store, std::chrono::seconds(1));
  told_to_ = &control;
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

TEST_F(OnAPlayedGpu, WithoutMemoryForAllLayersSaysWhatFits) {
  cuda_host::Machine::instance().set_memory(std::size_t{1} << 20);
  settings_ = {{"model.num_layers", "400"}};
  EXPECT_THAT([&] { rank_of(kEmulated, false); },
              ThrowsMessage<MachineError>(ContainsRegex("out of memory for tensor .* \\(.* is predicted to fit")));
}

TEST_F(OnAPlayedGpu, WithoutMemoryForALinkBesideTheTensorsSaysWhatTheyTake) {
  cuda_host::Machine::instance().set_memory(std::size_t{70} << 20);  // the staging of 16 blocks takes 83.9 MB
  EXPECT_THAT([&] { rank_of("data_parallel_size: 4\nrun: {backend: cuda, link: 'emulated:1GB/s,sms=16'}\n", false); },
              ThrowsMessage<MachineError>(ContainsRegex("rank 0: communicator [a-z_]+ on GPU 0: out of memory for "
                                                        "83[0-9]+ bytes of an emulated link: [0-9]+ are free; "
                                                        "tensors take [1-9][0-9]+ \\(")));
}

TEST_F(OnAPlayedGpu, LaunchesInDeterministicModeWhereTheModelAsksForIt) {
  static bool is_deterministic;
  run_implementation_ = [](const Operation& operation, const Arguments& views, cuda::LaunchContext& context) {
    is_deterministic = context.is_deterministic;
    cuda::run_implementation_on_host(operation, views, context);
  };
  for (const bool asked : {true, false}) {
    settings_ = {{"model.deterministic_mode", asked ? "true" : "false"}};
    rank_.reset();
    rank_of(kEmulated, false);
    EXPECT_EQ(is_deterministic, asked);
  }
}

TEST_F(OnAPlayedGpu, ATracedRankTellsTheSameLossesAsAnUntracedOne) {
  rank_of("run: {backend: cuda, trace: false, steps: 2, blocks: 1}\n", false);
  const std::vector<double> untraced = block(0, 3).losses;
  rank_.reset();
  rank_of("run: {backend: cuda, steps: 2, blocks: 1}\n");
  EXPECT_EQ(block(0, 3).losses, untraced);
}

TEST(CudaRank, HasCuptiInItsProcessOnlyForTracedCellsOfItsOwn) {
  const plan::Matrix matrix =
      plan::parse(std::string(kModel) + "run: {backend: cuda}\nmatrix: {run.trace: [true, false]}\n", "f");
  ASSERT_THAT(matrix.errors, IsEmpty());
  ASSERT_TRUE(matrix.cells[0].plan.config.run.trace);
  EXPECT_TRUE(attaches_cupti({.cells = matrix.cells, .own_cells = {0}}));
  EXPECT_FALSE(attaches_cupti({.cells = matrix.cells, .own_cells = {1}}));
  EXPECT_TRUE(attaches_cupti({.cells = matrix.cells, .own_cells = {0, 1}}));
}

// Ranks are threads here, and processes in a run.
TEST(TwoRanksOnAPlayedGpu, TrainAlikeWithHopsByCopyEnginesAndByNccl) {
  constexpr const char* kRings =
      "model: {num_layers: 1, hidden_size: 16, ffn_hidden_size: 32, num_attention_heads: 2, num_query_groups: 2, "
      "vocab_size: 256, seq_length: 8, tensor_model_parallel_size: 2, sequence_parallel: true, "
      "tp_comm_overlap_rs: false, tp_comm_bulk_dgrad: false, tp_comm_bulk_wgrad: false}\n"
      "comm_overlap: {tp_comm_overlap: true}\n"
      "environment: {gpu_arch: h100}\n"
      "run: {backend: cuda, trace: false, steps: 2, blocks: 1}\n"
      "matrix: {extensions.tp_ring_transport: [nccl, copy_engine]}\n";
  cuda_host::Machine::instance().reset(1, 11);
  cuda_host::NcclDouble::instance().reset();
  const plan::Matrix matrix = plan::parse(kRings, "f");
  ASSERT_THAT(matrix.errors, IsEmpty());
  EXPECT_FALSE(copies_between_peers(matrix.cells[0].plan.config));
  EXPECT_TRUE(copies_between_peers(matrix.cells[1].plan.config));
  const cuda::NcclApi nccl = cuda_host::NcclDouble::api();
  cuda::ThreadControlPlane control(std::chrono::seconds(20));
  std::array<std::array<std::vector<double>, 2>, 2> losses;  // by rank and cell
  std::vector<std::thread> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      try {
        cuda::MatrixProducts products(cuda_host::CublasLtDouble::api());
        cuda::NcclTransport transport(nccl, control, {.rank = rank});
        cuda::CopyEngineTransport copy_engines(transport, control, {.rank = rank});
        CudaRank runner(RankContext{.rank = rank, .cells = matrix.cells},
                        CudaParts{.transport = &copy_engines,
                                  .control = &control,
                                  .products = &products,
                                  .run_implementation = cuda::run_cpu_implementation_on_host});
        for (std::size_t cell = 0; cell < 2; ++cell) runner.build(cell);
        for (std::size_t cell = 0; cell < 2; ++cell) {
          runner.run(cell, 0, 2);
          losses.at(static_cast<std::size_t>(rank)).at(cell) = runner.take(cell).losses;
        }
      } catch (const std::exception& error) {
        control.fail(rank, error.what());
        ADD_FAILURE() << error.what();
      }
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_THAT(losses[0][1], SizeIs(2));
  for (const auto& of_rank : losses) EXPECT_EQ(of_rank[1], of_rank[0]);
  EXPECT_EQ(cuda_host::Machine::instance().num_freed_while_open, 0);
}

}  // namespace
}  // namespace underlap::bench
