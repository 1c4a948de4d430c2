// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "impl/plan/config.hpp"
#include "impl/step/trainer.hpp"
#include "kernels/bf16.hpp"
#include "tests/impl/device/ranks.hpp"
#include "tests/testing.hpp"

namespace underlap::testing_support {

/// A model small enough to train in milliseconds, with grouped queries and sizes that are no powers of two.
inline plan::Config small_config(std::int32_t data_parallel_size) {
  plan::Config config;
  config.model = {.preset = "",
                  .num_layers = 2,
                  .hidden_size = 48,
                  .ffn_hidden_size = 80,
                  .num_attention_heads = 6,
                  .num_query_groups = 3,
                  .vocab_size = 256,
                  .seq_length = 24,
                  .share_embeddings_and_output_weights = false,
                  .activation = plan::Activation::swiglu};
  config.parallel.data_parallel_size = data_parallel_size;
  config.train = {.micro_batch_size = 2, .num_microbatches = 1, .data = ""};
  config.optimizer.lr = 3e-3;
  return config;
}

/// Means by step over the ranks that find losses.
inline std::vector<double> mean_losses(const std::vector<std::vector<double>>& by_rank) {
  std::vector<double> sums;
  double num_ranks = 0;
  for (const std::vector<double>& losses : by_rank) {
    if (losses.empty()) continue;
    sums.resize(losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i) sums[i] += losses[i];
    ++num_ranks;
  }
  for (double& sum : sums) sum /= num_ranks;
  return sums;
}

inline double largest_relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]) / std::abs(b[i]));
  return largest;
}

inline plan::Config with_overlap(plan::Config config, std::int64_t bucket_size, bool grads = true, bool params = true) {
  config.ddp.overlap_grad_reduce = grads;
  config.ddp.overlap_param_gather = params;
  config.ddp.bucket_size = bucket_size;
  return config;
}

/// Of a rank, those in bf16.
inline std::vector<float> parameters_of(Device& device, const dp::Buffers& buffers) {
  const std::vector<bf16> values = read<bf16>(device, buffers.params);
  return {values.begin(), values.end()};
}

struct Training {
  std::vector<double> losses;     ///< mean over the ranks, by step
  std::vector<Trace> traces;      ///< by rank, with the marks
  std::vector<float> parameters;  ///< of rank 0 after the last step, those in bf16
};

inline void expect_same(const Training& actual, const Training& expected, const std::string& what) {
  EXPECT_THAT(actual.losses, ElementsAreArray(expected.losses)) << what;
  EXPECT_TRUE(actual.parameters == expected.parameters) << what;
}

/// Trains `steps` steps on real streams and sockets, one thread a rank.
inline Training train(const plan::Config& config, std::int32_t steps, host::HostOptions options = {}) {
  const std::int32_t n = config.parallel.world_size();
  const auto data = model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
  Training result;
  result.traces.resize(static_cast<std::size_t>(n));
  std::vector<std::vector<double>> losses(static_cast<std::size_t>(n));
  host::Ranks ranks(n, options);
  ranks.run([&](host::HostDevice& device, const Group& group) {
    const auto me = static_cast<std::size_t>(group.my_index);
    Trainer trainer(device, config, parallel_groups(config, group.my_index), data);
    device.synchronize();
    device.recorder().reserve(static_cast<std::size_t>(steps) * 2000);
    for (std::int32_t i = 0; i < steps; ++i) trainer.step(0);
    losses[me] = trainer.take_losses();
    result.traces[me] = device.recorder().drain().trace;
    result.traces[me].marks = device.take_marks();
    if (me == 0) result.parameters = parameters_of(device, trainer.buffers());
  });
  result.losses = mean_losses(losses);
  return result;
}

}  // namespace underlap::testing_support
