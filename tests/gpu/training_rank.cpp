// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/training_rank.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iomanip>
#include <string>

#include <cuda_runtime_api.h>

#include "impl/device/cuda/capture.hpp"
#include "impl/device/cuda/cuda_device.hpp"
#include "impl/device/cuda/emulated_link/emulated_link.hpp"
#include "impl/device/cuda/nccl/nccl_transport.hpp"
#include "impl/device/cuda/store_control_plane.hpp"
#include "impl/plan/config.hpp"
#include "impl/step/record_programs.hpp"
#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"
#include "research/calibrate/shared_gpu.hpp"
#include "tests/gpu/libraries.hpp"
#include "tests/impl/device/cuda/folder_rank_store.hpp"
#include "tests/impl/step/training.hpp"
#include "tests/profiler/collect/cupti/recording_file.hpp"

namespace underlap::gpu {
namespace {

void train(const RankOrder& order, cuda::ControlPlane& control) {
  plan::Config config = testing_support::small_config(order.world_size);
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = order.overlap;
  config.ddp.bucket_size = 9000;
  const cuda::NcclApi nccl = cuda::NcclApi::load();
  cuda::NcclTransport transport(nccl, control, {.rank = order.rank});
  const auto data = model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
  cuda::CudaDevice device(transport, {.rank = order.rank,
                                      .products = context_with_libraries().products,
                                      .rehearsed = record_launches(config, data, order.rank)});
  Trainer trainer(device, config, parallel_groups(config, order.rank), data);
  for (std::int32_t step = 0; step < kTrainedSteps; ++step) trainer.step(0);
  std::ofstream file(order.folder / ("losses." + std::to_string(order.rank)));
  for (const double loss : trainer.take_losses()) file << std::setprecision(17) << loss << '\n';
}

void capture_training(const std::filesystem::path& folder) {
  const cupti::Api api = cupti::Api::load();
  cupti::Collector collector(api, {.rank = 0, .keeps_raw = true});
  collector.start();
  cuda::check(cudaFree(nullptr));
  collector.stop();
  (void)collector.drain();  // what made the context is no operation's
  plan::Config config = testing_support::small_config(2);
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = true;
  config.ddp.bucket_size = 9000;
  cuda::EmulatedLink link({.link = {.gb_per_s = 50, .sms = 4}, .shape = {}});
  cuda::Capture capture(&collector, 0);
  cuda::CudaDevice device(link, {.products = context_with_libraries().products, .tracer = &capture});
  const auto data = model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
  Trainer trainer(device, config, parallel_groups(config, 0), data);
  device.synchronize();
  capture.start();
  for (std::int32_t step = 0; step < kTrainedSteps; ++step) trainer.step(0);
  device.synchronize();
  cuda::Capture::Taken taken = capture.take();
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, 0));
  taken.recording.about["gpu"] = properties.name;
  taken.recording.about["command"] = "tests/gpu/run --record";
  cupti::write_recording(folder / "training.cupti", taken.recording);
  std::printf("%zu slices, %zu marks, %lld untagged\n", taken.assembled.trace.size(),
              taken.assembled.trace.marks.size(), static_cast<long long>(taken.assembled.num_untagged()));
  for (const cuda::Capture::Fault& fault : taken.faults)
    std::printf("%s: %lld: %s\n", fault.cause.c_str(), static_cast<long long>(fault.count), fault.example.c_str());
  if (!taken.faults.empty()) throw MachineError("the capture is incomplete: " + taken.faults.front().example);
}

}  // namespace

std::optional<std::filesystem::path> recording_order(int argc, char** argv) {
  if (argc != 3 || std::string(argv[1]) != "--record") return std::nullopt;
  return argv[2];
}

int record_training(const std::filesystem::path& folder) {
  try {
    capture_training(folder);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}

std::optional<RankOrder> rank_order(int argc, char** argv) {
  if (argc != 6 || std::string(argv[1]) != "--rank") return std::nullopt;
  return RankOrder{.rank = std::atoi(argv[2]),
                   .world_size = std::atoi(argv[3]),
                   .overlap = std::string(argv[4]) == "1",
                   .folder = argv[5]};
}

int run_rank(const RankOrder& order) {
  for (const auto& [name, value] : cuda::shared_gpu_environment(order.rank)) setenv(name.c_str(), value.c_str(), 1);
  cuda::FolderRankStore store(order.folder);
  cuda::StoreControlPlane control(store, std::chrono::seconds(60));
  try {
    train(order, control);
    return 0;
  } catch (const std::exception& error) {
    control.fail(order.rank, error.what());
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}

}  // namespace underlap::gpu
