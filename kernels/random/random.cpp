// SPDX-License-Identifier: Apache-2.0
//
// A counter-based generator: deviate number i depends on (seed, i) alone, so shards, rows and threads need no common
// state and a block of a matrix gets what the whole matrix has there, however it is cut.
//
//   i / 2 -> Philox, 10 rounds keyed by the seed -> two words -> Box and Muller -> deviates 2 (i / 2) and 2 (i / 2) + 1
#include "kernels/random/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

using Words = std::array<std::uint32_t, 4>;

/// Philox 4x32 with 10 rounds: 128 random bits that depend on `counter` and `key` alone. A round multiplies two words
/// to 64 bits each, and mixes the halves with the other words and the key, which grows by a constant; the constants are
/// the paper's.
Words philox(Words counter, std::uint64_t key) {
  auto key_low = static_cast<std::uint32_t>(key);
  auto key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ULL * counter[0];
    const std::uint64_t b = 0xCD9E8D57ULL * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key_low, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key_high, static_cast<std::uint32_t>(a)};
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  return counter;
}

/// Normal deviates 2 * pair and 2 * pair + 1 of the stream. fp64, so that rounding to fp32 hides what one machine's
/// logarithm and cosine do differently in the last bit.
std::array<double, 2> normal_pair(std::uint64_t seed, std::uint64_t pair) {
  const Words words = philox({static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32), 0, 0}, seed);
  constexpr double kUnit = 1.0 / 4294967296.0;
  const double radius = std::sqrt(-2.0 * std::log((words[0] + 0.5) * kUnit));
  const double angle = 2.0 * std::numbers::pi * (words[1] + 0.5) * kUnit;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Deviates that follow each other in the stream.
template <class T>
void fill_run(T* out, std::int64_t n, std::uint64_t first, const RandomParameters& p) {
  std::array<double, 2> pair = normal_pair(p.seed, first / 2);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t index = first + static_cast<std::uint64_t>(i);
    if (index % 2 == 0) pair = normal_pair(p.seed, index / 2);
    out[i] = static_cast<T>(static_cast<float>(p.stddev * pair[index % 2]));
  }
}

/// A row of out, which begins at element k of the block.
template <class T>
void fill_row(T* out, std::int64_t n, std::int64_t k, const RandomParameters& p) {
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t row = (k + i) / p.block.local_cols, col = (k + i) % p.block.local_cols;
    const std::int64_t run = std::min(n - i, p.block.local_cols - col);
    fill_run(out + i, run, static_cast<std::uint64_t>(p.block.first + row * p.block.whole_cols + col), p);
    i += run;
  }
}

void random_cpu(const Arguments& views) {
  const BoundView& out = views[0];
  const auto p = views.parameters<RandomParameters>();
  with_float_type(out.dtype, [&]<class T>(T*) {
    for (std::int64_t r = 0; r < out.rows; ++r) fill_row(out.row<T>(r), out.cols, p.first_index + r * out.cols, p);
  });
}

Operation make(NameId name, const View& out, const RandomParameters& p) {
  const std::string_view called = name_of(name);
  require(called, p.first_index >= 0, "first_index", static_cast<double>(p.first_index), "at least 0");
  require(called, p.stddev >= 0, "stddev", p.stddev, "at least 0");
  return make_operation(name, random_cpu, {.flops = 60 * static_cast<double>(out.elements())},
                        {{out, Access::out, {"out", out.rows, out.cols, {DataType::f32, DataType::bf16}}}})
      .with_parameters(p);
}

/// One row without an end.
constexpr MatrixBlock kWholeStream{.local_cols = std::numeric_limits<std::int64_t>::max(),
                                   .whole_cols = std::numeric_limits<std::int64_t>::max()};

}  // namespace

Operation random_normal(const View& out, std::uint64_t seed, std::int64_t first_index, double stddev) {
  static const NameId name = intern("random_normal");
  return make(name, out, {seed, first_index, stddev, kWholeStream});
}

Operation random_normal_block(const View& out, std::uint64_t seed, std::int64_t first_index, double stddev,
                              const MatrixBlock& block) {
  constexpr auto kName = "random_normal_block";
  require(kName, block.local_cols > 0, "local_cols", static_cast<double>(block.local_cols), "at least 1");
  require(kName, block.first >= 0, "first", static_cast<double>(block.first), "at least 0");
  require(kName, block.whole_cols >= block.local_cols, "whole_cols", static_cast<double>(block.whole_cols),
          "at least local_cols");
  require(kName, block.first % block.whole_cols <= block.whole_cols - block.local_cols, "first",
          static_cast<double>(block.first), "such that a row of the block ends inside its row of the matrix");
  static const NameId name = intern(kName);
  return make(name, out, {seed, first_index, stddev, block});
}

std::span<const KernelInfo> list_random() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"random", "random_normal", "out [R,C] = stddev * normal deviates, counter-based, f32 or bf16",
       "60 R C operations; out once"},
      {"random", "random_normal_block", "out [R,C] = a block of columns of the matrix that random_normal makes",
       "60 R C operations; out once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
