// SPDX-License-Identifier: Apache-2.0
//
// Rates of the CPU forms at the shapes of a tiny transformer layer: 2 sequences of 128 tokens, head size 32,
// feed-forward 4 H, byte vocabulary; each on one thread, per second of that thread's CPU time. GFLOP/s and GB/s follow
// from the operation's declared cost, so a GB/s above what memory delivers says that the tensors stay in cache.
//
//   build/bin/kernel_rates [--benchmark_filter=gemm]

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include <omp.h>

#include "kernels/activation/activation.hpp"
#include "kernels/adam/adam.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/bf16.hpp"
#include "kernels/cast/cast.hpp"
#include "kernels/cross_entropy/cross_entropy.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reduction/reduction.hpp"
#include "kernels/rms_norm/rms_norm.hpp"

namespace underlap::kernels {
namespace {

constexpr std::int64_t kSequences = 2, kSequence = 128, kTokens = kSequences * kSequence;
constexpr std::int64_t kVocabulary = 256, kHeadSize = 32, kParameters = 1 << 20, kSlots = 4;

/// Tensors with memory, filled with values in (-0.1, 0.1), on which no operation overflows.
class Memory {
 public:
  View make(DataType dtype, std::int64_t rows, std::int64_t cols) {
    const Tensor tensor{.id = static_cast<std::uint32_t>(blocks_.size() + 1), .dtype = dtype, .elements = rows * cols};
    blocks_.emplace_back(static_cast<std::size_t>(tensor.elements * size_of(dtype)));
    const View view = matrix(tensor, rows, cols);
    if (dtype == DataType::bf16) fill_evenly(reinterpret_cast<bf16*>(blocks_.back().data()), tensor.elements);
    if (dtype == DataType::f32) fill_evenly(reinterpret_cast<float*>(blocks_.back().data()), tensor.elements);
    return view;
  }

  /// Views cannot be bound once for all: blocks_ grows while an operation is put together.
  std::vector<BoundView> bind(const Operation& operation) {
    std::vector<BoundView> bound;
    for (const Use& use : operation.uses()) {
      const View& v = use.view;
      bound.push_back({.data = blocks_.at(v.tensor.id - 1).data() + v.offset * size_of(v.tensor.dtype),
                       .dtype = v.tensor.dtype,
                       .rows = v.rows,
                       .cols = v.cols,
                       .leading_dimension = v.leading_dimension});
    }
    return bound;
  }

  void run(const Operation& operation) { operation.cpu()(Arguments(bind(operation), operation.parameters())); }

 private:
  /// A random generator would take longer than the measuring.
  template <class T>
  static void fill_evenly(T* values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = T(static_cast<float>(i * 7919 % 2001 - 1000) * 1e-4F);
  }

  std::vector<std::vector<std::byte>> blocks_;
};

using Make = std::function<Operation(Memory&)>;

void measure(benchmark::State& state, const Make& make) {
  Memory memory;
  const Operation operation = make(memory);
  const std::vector<BoundView> bound = memory.bind(operation);
  const Arguments arguments(bound, operation.parameters());
  operation.cpu()(arguments);
  for (auto _ : state) {
    operation.cpu()(arguments);
    benchmark::ClobberMemory();
  }
  const Cost& cost = operation.cost();
  using benchmark::Counter;
  state.counters["GFLOP/s"] = Counter(cost.flops * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] =
      Counter(static_cast<double>(cost.bytes_read + cost.bytes_written) * 1e-9, Counter::kIsIterationInvariantRate);
}

void add(const std::string& shape, const Make& make) {
  Memory scratch;
  const std::string name(name_of(make(scratch).name()));
  benchmark::RegisterBenchmark((name + "/" + shape).c_str(), [make](benchmark::State& state) {
    measure(state, make);
  })->Unit(benchmark::kMicrosecond);
}

constexpr DataType kBf16 = DataType::bf16, kF32 = DataType::f32, kI32 = DataType::i32;

std::string shape_of(std::int64_t rows, std::int64_t cols) {
  return "[" + std::to_string(rows) + "," + std::to_string(cols) + "]";
}

/// The three GEMMs of a linear layer from `k` to `n` features.
void add_linear(std::int64_t n, std::int64_t k) {
  const std::string shape = "M" + std::to_string(kTokens) + "_N" + std::to_string(n) + "_K" + std::to_string(k);
  add(shape,
      [=](Memory& m) { return gemm_fprop(m.make(kBf16, kTokens, k), m.make(kBf16, n, k), m.make(kBf16, kTokens, n)); });
  add(shape,
      [=](Memory& m) { return gemm_dgrad(m.make(kBf16, kTokens, n), m.make(kBf16, n, k), m.make(kBf16, kTokens, k)); });
  for (const DataType main_gradient : {kF32, kBf16}) {
    add(shape + "_" + std::string(to_string(main_gradient)), [=](Memory& m) {
      return gemm_wgrad(m.make(kBf16, kTokens, n), m.make(kBf16, kTokens, k), m.make(main_gradient, n, k));
    });
  }
}

void add_attention(std::int64_t hidden) {
  const std::int64_t heads = hidden / kHeadSize;
  const std::string shape = "T" + std::to_string(kTokens) + "_A" + std::to_string(heads);
  const auto activation = [=](Memory& m) { return m.make(kBf16, kTokens, hidden); };
  add(shape, [=](Memory& m) {
    return attention_forward({.q = activation(m),
                              .k = activation(m),
                              .v = activation(m),
                              .out = activation(m),
                              .lse = m.make(kF32, heads, kTokens),
                              .seq_length = kSequence,
                              .head_size = kHeadSize});
  });
  add(shape, [=](Memory& m) {
    const AttentionForward forward{.q = activation(m),
                                   .k = activation(m),
                                   .v = activation(m),
                                   .out = activation(m),
                                   .lse = m.make(kF32, heads, kTokens),
                                   .seq_length = kSequence,
                                   .head_size = kHeadSize};
    m.run(attention_forward(forward));
    return attention_backward({.q = forward.q,
                               .k = forward.k,
                               .v = forward.v,
                               .out = forward.out,
                               .lse = forward.lse,
                               .dout = activation(m),
                               .dq = activation(m),
                               .dk = activation(m),
                               .dv = activation(m),
                               .seq_length = kSequence,
                               .head_size = kHeadSize});
  });
}

void add_norm(std::int64_t hidden) {
  const std::string shape = shape_of(kTokens, hidden);
  const auto activation = [=](Memory& m) { return m.make(kBf16, kTokens, hidden); };
  const auto weight = [=](Memory& m) { return m.make(kBf16, 1, hidden); };
  const auto rstd = [=](Memory& m) { return m.make(kF32, 1, kTokens); };
  add(shape, [=](Memory& m) { return rms_norm_forward(activation(m), weight(m), activation(m), rstd(m), 1e-5); });
  add(shape, [=](Memory& m) {
    return rms_norm_dgrad({.x = activation(m),
                           .weight = weight(m),
                           .rstd = rstd(m),
                           .dout = activation(m),
                           .residual = activation(m),
                           .dx = activation(m)});
  });
  add(shape, [=](Memory& m) { return rms_norm_wgrad(activation(m), rstd(m), activation(m), m.make(kF32, 1, hidden)); });
}

void add_activations(std::int64_t width) {
  const std::string shape = shape_of(kTokens, width);
  const auto wide = [=](Memory& m) { return m.make(kBf16, kTokens, 2 * width); };
  const auto narrow = [=](Memory& m) { return m.make(kBf16, kTokens, width); };
  add(shape, [=](Memory& m) { return swiglu_forward(wide(m), narrow(m)); });
  add(shape, [=](Memory& m) { return swiglu_backward(wide(m), narrow(m), wide(m)); });
  add(shape, [=](Memory& m) { return gelu_forward(narrow(m), narrow(m)); });
  add(shape, [=](Memory& m) { return gelu_backward(narrow(m), narrow(m), narrow(m)); });
  add(shape, [=](Memory& m) { return squared_relu_forward(narrow(m), narrow(m)); });
  add(shape, [=](Memory& m) { return squared_relu_backward(narrow(m), narrow(m), narrow(m)); });
  add(shape, [=](Memory& m) { return residual_add(narrow(m), narrow(m), narrow(m)); });
}

/// Tokens or targets: the vocabulary over and over.
View make_tokens(Memory& m) {
  const View tokens = m.make(kI32, 1, kTokens);
  const Operation fill_tokens = fill(tokens, 0);
  std::int32_t* const values = m.bind(fill_tokens)[0].as<std::int32_t>();
  for (std::int64_t t = 0; t < kTokens; ++t) values[t] = static_cast<std::int32_t>(t * 37 % kVocabulary);
  return tokens;
}

void add_ends(std::int64_t hidden) {
  const std::string shape = shape_of(kTokens, hidden);
  add(shape, [=](Memory& m) {
    return embedding_forward(make_tokens(m), m.make(kBf16, kVocabulary, hidden), m.make(kBf16, kSequence, hidden),
                             m.make(kBf16, kTokens, hidden));
  });
  add(shape, [=](Memory& m) {
    return embedding_wgrad(make_tokens(m), m.make(kBf16, kTokens, hidden), m.make(kF32, kVocabulary, hidden),
                           m.make(kF32, kSequence, hidden));
  });
}

void add_loss() {
  const std::string shape = shape_of(kTokens, kVocabulary);
  const auto logits = [](Memory& m) { return m.make(kBf16, kTokens, kVocabulary); };
  add(shape, [=](Memory& m) {
    return cross_entropy_forward(logits(m), make_tokens(m), m.make(kF32, 1, kTokens), m.make(kF32, 1, 1), 1);
  });
  add(shape, [=](Memory& m) {
    return cross_entropy_backward(logits(m), make_tokens(m), m.make(kF32, 1, kTokens), logits(m), 1);
  });
}

/// What works on flat buffers of parameters and gradients.
void add_flat() {
  const std::string shape = shape_of(1, kParameters);
  const auto f32 = [](Memory& m) { return m.make(kF32, 1, kParameters); };
  const auto bf16_buffer = [](Memory& m) { return m.make(kBf16, 1, kParameters); };
  const auto scalar = [](Memory& m) { return m.make(kF32, 1, 1); };
  add(shape, [=](Memory& m) {
    const View second_moment = f32(m);
    m.run(fill(second_moment, 0.01));
    return adam({.grad = f32(m),
                 .grad_factor = scalar(m),
                 .main = f32(m),
                 .m = f32(m),
                 .v = second_moment,
                 .param = bf16_buffer(m),
                 .nonfinite = m.make(kI32, 1, 1)},
                {});
  });
  add(shape + "_to_bf16", [=](Memory& m) { return cast(f32(m), bf16_buffer(m)); });
  add(shape + "_to_f32", [=](Memory& m) { return cast(bf16_buffer(m), f32(m)); });
  add(shape + "_f32", [=](Memory& m) { return scale(f32(m), 1); });
  add(shape + "_bf16", [=](Memory& m) { return scale(bf16_buffer(m), 1); });
  add(shape + "_f32", [=](Memory& m) { return fill(f32(m), 0); });
  add(shape + "_f32", [=](Memory& m) { return sum_of_squares(f32(m), scalar(m)); });
  add(shape + "_bf16", [=](Memory& m) { return sum_of_squares(bf16_buffer(m), scalar(m)); });
  add(shape, [=](Memory& m) { return clip_factor(scalar(m), scalar(m), 1); });
  add(shape_of(kSlots, kParameters / kSlots) + "_bf16", [=](Memory& m) {
    return sum_slots(m.make(kBf16, kSlots, kParameters / kSlots), m.make(kBf16, 1, kParameters / kSlots), 1);
  });
  add(shape + "_f32", [=](Memory& m) { return random_normal(f32(m), 1, 0, 1); });
}

void add_all() {
  for (const std::int64_t hidden : {128, 256}) {
    add_linear(3 * hidden, hidden);
    add_linear(4 * hidden, hidden);
    add_linear(hidden, 4 * hidden);
    add_attention(hidden);
    add_norm(hidden);
    add_activations(4 * hidden);
    add_ends(hidden);
  }
  add_loss();
  add_flat();
}

}  // namespace
}  // namespace underlap::kernels

int main(int argc, char** argv) {
  omp_set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  underlap::kernels::add_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
