// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/nccl_pair.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <system_error>
#include <thread>

#include "impl/device/cuda/nccl/nccl_config.hpp"
#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"
#include "platform/numbers/median.hpp"
#include "research/calibrate/shared_gpu.hpp"

namespace underlap::bench {
namespace {

ncclConfig_t config_of(const cuda::NcclApi& api, const NcclPair::Options& options) {
  int device = 0, major = 0;
  cuda::check(cudaGetDevice(&device));
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  static const std::string kPurpose = "pair";
  std::vector<std::string> notices;
  return cuda::nccl_config({.sms = options.sms, .cga_size = options.cga_size},
                           {.version = api.version, .compute_capability_major = major}, kPurpose, notices);
}

}  // namespace

NcclPair::NcclPair(const Options& options) : shard_bytes_(options.message_bytes / 2) {
  ranks_[0].api = cuda::NcclApi::load();
  for (const auto& [name, value] :
       {std::pair{"NCCL_RUNTIME_CONNECT", "0"}, {"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}})
    setenv(name, value, 1);
  if (is_by_memory())
    share_the_gpu();
  else
    pretend_two_hosts();
  for (int rank = 0; rank < 2; ++rank) {
    ranks_[rank].stream = make_priority_stream();
    ranks_[rank].input = make_filled_bytes(shard_bytes_, ranks_[rank].stream.get());
    ranks_[rank].output = make_filled_bytes(2 * shard_bytes_, ranks_[rank].stream.get());
  }
  connect(options);
  enqueue(1);  // the first transfer sets up what it needs
  synchronize();
}

NcclPair::~NcclPair() {
  for (const Rank& rank : ranks_)
    if (rank.communicator != nullptr) (void)rank.api.CommAbort(rank.communicator);
}

void NcclPair::share_the_gpu() {
  shard_bytes_ *= kByMemory;
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  ranks_[1].api = cuda::NcclApi::load(ranks_[0].api.path);  // the same instance
}

void NcclPair::pretend_two_hosts() {
  for (const auto& [name, value] : cuda::shared_gpu_environment(0)) setenv(name.c_str(), value.c_str(), 1);
  unsetenv("NCCL_MAX_CTAS");  // the number of blocks is what is compared
  const std::filesystem::path copy = folder_.path() / "libnccl-second.so.2";
  std::error_code error;
  std::filesystem::copy_file(ranks_[0].api.path, copy, error);
  if (error)
    throw MachineError(fmt::format("cannot copy {} to {}: {}", ranks_[0].api.path, copy.string(), error.message()));
  ranks_[1].api = cuda::NcclApi::load(copy);
  for (int rank = 0; rank < 2; ++rank) fix_host(rank);
}

// The first communicator of a copy computes its host's hash: one of a single rank, which connects to nobody.
void NcclPair::fix_host(int rank) {
  const cuda::NcclApi& api = ranks_[rank].api;
  setenv("NCCL_HOSTID", fmt::format("underlap-pair-{}", rank).c_str(), 1);
  ncclUniqueId id{};
  cuda::check(api, api.GetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t alone = nullptr;
  cuda::check(api, api.CommInitRankConfig(&alone, 1, id, 0, &config));
  cuda::check(api, api.CommDestroy(alone));
}

// Both at once: each waits for the other.
void NcclPair::connect(const Options& options) {
  ncclUniqueId id{};
  cuda::check(ranks_[0].api, ranks_[0].api.GetUniqueId(&id));
  int device = 0;
  cuda::check(cudaGetDevice(&device));
  std::exception_ptr failure[2];
  const auto init = [&](int rank) {
    try {
      cuda::check(cudaSetDevice(device));
      ncclConfig_t config = config_of(ranks_[rank].api, options);
      cuda::check(ranks_[rank].api,
                  ranks_[rank].api.CommInitRankConfig(&ranks_[rank].communicator, 2, id, rank, &config));
    } catch (...) {
      failure[rank] = std::current_exception();
    }
  };
  {
    const std::jthread other(init, 1);
    init(0);
  }
  for (const std::exception_ptr& error : failure)
    if (error != nullptr) std::rethrow_exception(error);
}

void NcclPair::enqueue(int transfers) {
  for (int i = 0; i < transfers; ++i)
    for (const Rank& rank : ranks_)
      cuda::check(rank.api,
                  rank.api.AllGather(rank.input.get(), rank.output.get(), static_cast<std::size_t>(shard_bytes_ / 2),
                                     ncclBfloat16, rank.communicator, rank.stream.get()));
}

void NcclPair::synchronize() {
  for (const Rank& rank : ranks_) cuda::check(cudaStreamSynchronize(rank.stream.get()));
}

double NcclPair::measure_gb_per_s() {
  constexpr int kSamples = 7;
  const cuda::EventHandle begin = cuda::make_timing_event(), end = cuda::make_timing_event();
  std::vector<double> rates;
  for (int sample = 0; sample < kSamples; ++sample) {
    cuda::check(cudaEventRecord(begin.get(), stream()));
    enqueue(2);
    cuda::check(cudaEventRecord(end.get(), stream()));
    synchronize();
    rates.push_back(2 * static_cast<double>(shard_bytes_) / elapsed_us(begin, end) * 1e-3);
  }
  return median(rates);
}

}  // namespace underlap::bench
