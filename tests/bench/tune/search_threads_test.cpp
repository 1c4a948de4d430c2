// SPDX-License-Identifier: Apache-2.0
// Steps that several threads play at once.
#include <gtest/gtest.h>

#include "bench/tune/search.hpp"
#include "bench/tune/tune_report.hpp"

namespace underlap::bench {
namespace {

TEST(Search, IsTheSameOnAnyNumberOfThreads) {
  TuneRequest request;
  request.model = {
      "model: {preset: llama3-8b, num_layers: 4, seq_length: 2048, vocab_size: 32000, tensor_model_parallel_size: 1, "
      "pipeline_model_parallel_size: 2, context_parallel_size: 1}\n"
      "train: {micro_batch_size: 1}\n"
      "environment: {layernorm_sm_margin: 16, cuda_device_max_connections: 8}\n"
      "ddp: {average_in_collective: false, pad_buckets_for_high_nccl_busbw: false, align_grad_reduce: true}\n"
      "run: {hardware: h100-sxm}\n",
      "model.yaml",
      {}};
  request.num_gpus = 8;
  request.batch = 32;
  const TuneJob job(request);
  SimulatedSteps one("", false, "", 1), many("", false, "", 5);
  EXPECT_EQ(tune_json(job, search(job, one, {}), plan::FlopConvention::full),
            tune_json(job, search(job, many, {}), plan::FlopConvention::full));
}

}  // namespace
}  // namespace underlap::bench
