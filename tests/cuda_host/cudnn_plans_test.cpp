// SPDX-License-Identifier: Apache-2.0
// Whether cuDNN has engines for the graphs of attention: the library itself makes plans for GPUs that are described to
// it, on a machine that has none. Nothing is executed.
#include <dlfcn.h>

#include <optional>
#include <utility>

#include "kernels/attention/cudnn_attention_graph.hpp"
#include "platform/errors.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

/// A GPU as cuDNN describes one. Only the architecture and its shared memory are of importance here; the rest is an
/// H200's.
std::string description(int compute_capability, int shared_bytes) {
  return R"({"version": 1, "deviceName": "described", "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
    "multiProcessorCount": 132, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560,
    "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024,
    "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
    "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 150120000000, "deviceVer": )" +
         std::to_string(compute_capability) + R"(, "maxSharedMemoryPerBlockOptin": )" + std::to_string(shared_bytes) +
         "}";
}

/// Skips where cuDNN is missing or cannot plan without a device. The driver is opened before cuDNN looks for one.
class CudnnPlans : public ::testing::TestWithParam<std::pair<int, int>> {
 protected:
  void SetUp() override {
    if (dlopen(UNDERLAP_PLAYED_DRIVER, RTLD_NOW | RTLD_GLOBAL) == nullptr) FAIL() << dlerror();
    try {
      api = CudnnApi::load();
    } catch (const MachineError& error) {
      GTEST_SKIP() << error.what();
    }
#if CUDNN_VERSION >= 90800
    if (api.get_version() < 90'800) GTEST_SKIP() << "cuDNN " << api.version() << " plans for no GPU that is not there";
    device.emplace(make_descriptor(api, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
    const std::string text = description(GetParam().first, GetParam().second);
    api.check(api.set_attribute(device->get(), CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                static_cast<std::int64_t>(text.size()), text.data()),
              "describing a GPU");
    if (api.finalize(device->get()) != CUDNN_STATUS_SUCCESS)
      GTEST_SKIP() << "cuDNN " << api.version() << " describes GPUs in another way: " << api.text(CUDNN_STATUS_SUCCESS);
#else
    GTEST_SKIP() << "built with a cuDNN that plans for no GPU that is not there";
#endif
  }

  CudnnTarget target() const { return {.device = device->get()}; }

  /// q, k and v packed in one tensor, as the model has them.
  static AttentionShape shape(std::int64_t sequences, std::int64_t seq_length, std::int64_t heads, std::int64_t groups,
                              std::int64_t head_size) {
    const std::int64_t packed = (heads + 2 * groups) * head_size, wide = heads * head_size;
    return {.sequences = sequences,
            .seq_length = seq_length,
            .kv_length = seq_length,
            .causal = true,
            .heads = heads,
            .groups = groups,
            .head_size = head_size,
            .strides = {.q = packed,
                        .k = packed,
                        .v = packed,
                        .out = wide,
                        .dout = wide,
                        .dq = packed,
                        .dk = packed,
                        .dv = packed}};
  }

  /// Of both passes, and of backward with either kind of sum.
  void expect_plans(const AttentionShape& s) {
    EXPECT_GE(plan_attention_forward(api, target(), s).workspace_bytes, 0);
    for (const DqSums sums : {DqSums::ordered, DqSums::atomic})
      EXPECT_GE(plan_attention_backward(api, target(), s, sums).workspace_bytes, 0);
  }

  CudnnApi api;
  std::optional<CudnnDescriptor> device;
};

// A plan takes its second: there is code to be generated.
TEST_P(CudnnPlans, ExistForTheShapesOfModels) {
  const AttentionShape model = shape(1, 8192, 32, 8, 128);  // llama3-8b
  const AttentionShape tiny = shape(8, 128, 4, 2, 32);
  const AttentionShape odd = shape(2, 333, 4, 4, 64);
  for (const AttentionShape& s : {model, tiny, odd}) expect_plans(s);
}

// The tiles of context parallelism: of a ring, where keys come from an earlier and from a later rank, and of gathered
// keys, where the diagonal ends in the corner.
TEST_P(CudnnPlans, ExistForTiles) {
  const AttentionShape square = shape(1, 2048, 8, 2, 128);
  AttentionShape earlier = square, later = square, gathered = square;
  earlier.causal = later.causal = false;
  earlier.kv_length = later.seq_length = gathered.seq_length = 1024;
  gathered.kv_length = 3072;
  for (const AttentionShape& tile : {earlier, later, gathered}) expect_plans(tile);
  AttentionShape odd = shape(2, 100, 4, 4, 64);
  odd.kv_length = 333;
  expect_plans(odd);
}

// What the header says of memory, and so what a run with `ordered` has to have free.
TEST_P(CudnnPlans, PassTheScoresGradientsThroughTheWorkspaceOnlyWhereOrderMatters) {
  const AttentionShape s = shape(1, 4096, 8, 2, 128);
  const std::int64_t scores = 2 * s.heads * s.seq_length * s.seq_length;
  const std::int64_t heads = 2 * 2 * s.heads * s.seq_length * s.head_size;  // dk and dv before they are added
  const std::int64_t ordered = plan_attention_backward(api, target(), s, DqSums::ordered).workspace_bytes;
  EXPECT_GE(ordered, scores + heads);
  EXPECT_LT(ordered, scores + heads + (std::int64_t{1} << 20));
  EXPECT_LT(plan_attention_backward(api, target(), s, DqSums::atomic).workspace_bytes, heads + scores / 4);
}

TEST_P(CudnnPlans, NameTheShapeThatCudnnHasNoEngineFor) {
  EXPECT_THAT([&] { plan_attention_forward(api, target(), shape(1, 64, 2, 2, 5)); },
              ThrowsMessage<MachineError>(AllOf(HasSubstr("attention forward, 1 sequences of 64, 2 heads of 5"),
                                                HasSubstr("no engine supports the graph"))));
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnPlans,
                         ::testing::Values(std::pair{800, 166'912}, std::pair{900, 232'448}, std::pair{1000, 232'448}),
                         [](const auto& gpu) { return "Sm" + std::to_string(gpu.param.first / 10); });

}  // namespace
}  // namespace underlap::cuda
