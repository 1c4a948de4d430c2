// SPDX-License-Identifier: Apache-2.0
// Traffic as in embedding.hpp. embedding_wgrad sums in fp32 in token order, as the CPU form does, to the bit.
//
// To sum the rows of dout that meet in one row of dword, tokens are sorted first: each token counts those that come
// before it, which is its place. T^2 comparisons, without atomics and without an order of arrival: about 10 us of an
// H200 for T = 8192 tokens, under a tenth of the rest at H = 4096. Then the first token of each run of equal ones adds
// the run. A run is walked by one thread a column group, so a token that fills the batch costs a walk of T rows.
#include <array>
#include <utility>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/reduce.cuh"

namespace underlap::cuda {
namespace {

/// Whether a token is one of the vocabulary; reports it where not.
__device__ bool is_valid(std::int32_t token, std::int64_t vocabulary, std::uint32_t* faults) {
  if (token >= 0 && token < vocabulary) return true;
  atomicOr(faults, std::uint32_t{kTokenOutsideVocabulary});
  return false;
}

template <int N>
__global__ void embedding_forward_kernel(const std::int32_t* tokens, Rows<const bf16> word, Rows<const bf16> position,
                                         Rows<bf16> out, std::uint32_t* faults) {
  for_each_group<N, 2>(
      out.rows, out.cols,
      [&](auto n, std::int64_t t, std::int64_t c) {
        const std::int32_t token = tokens[t];
        const std::int64_t known = token >= 0 && token < word.rows ? token : 0;
        return std::pair(load<n()>(word.at(known, c)),
                         load<n()>(position.at(t - divided(t, position.rows) * position.rows, c)));
      },
      [&](auto n, std::int64_t t, std::int64_t c, const auto& loaded) {
        if (!is_valid(tokens[t], word.rows, faults)) return;
        Group<bf16, n()> sum;
        for (int i = 0; i < n(); ++i)
          sum.element[i] = narrowed<bf16>(static_cast<float>(loaded.first.element[i]) +
                                          static_cast<float>(loaded.second.element[i]));
        store(out.at(t, c), sum);
      });
}

void forward_form(const Arguments& views, LaunchContext& context) {
  const auto word = rows_of<const bf16>(views[1]), position = rows_of<const bf16>(views[2]);
  const auto out = rows_of<bf16>(views[3]);
  const int group = group_for(8, word, position, out);
  launch(group == 1 ? embedding_forward_kernel<1> : embedding_forward_kernel<8>,
         blocks_of_groups(out.rows, out.cols, group, 2), context.stream, views[0].as<const std::int32_t>(), word,
         position, out, context.faults);
}

/// Tokens in sorted order, equal ones in the order of the batch.
struct Sorted {
  std::int32_t* order;       ///< [T] place in the batch of each
  std::int32_t* run_length;  ///< [T] at the first of a run of equal tokens, how many; elsewhere 0
};

constexpr unsigned kSortThreads = 256;

/// One warp a token.
__global__ void sort_tokens_kernel(const std::int32_t* tokens, std::int32_t num_tokens, Sorted sorted,
                                   std::int64_t vocabulary, std::uint32_t* faults) {
  const auto t = static_cast<std::int32_t>((blockIdx.x * blockDim.x + threadIdx.x) / kWarpThreads);
  const auto lane = static_cast<std::int32_t>(threadIdx.x % kWarpThreads);
  if (t >= num_tokens) return;
  const std::int32_t token = tokens[t];
  std::int32_t smaller = 0, equal_before = 0, equal = 0;
#pragma unroll 4
  for (std::int32_t other = lane; other < num_tokens; other += kWarpThreads) {
    const std::int32_t value = tokens[other];
    smaller += value < token ? 1 : 0;
    equal += value == token ? 1 : 0;
    equal_before += value == token && other < t ? 1 : 0;
  }
  smaller = combine_warp(smaller, Plus());
  equal = combine_warp(equal, Plus());
  equal_before = combine_warp(equal_before, Plus());
  if (lane != 0) return;
  is_valid(token, vocabulary, faults);
  sorted.order[smaller + equal_before] = t;
  sorted.run_length[smaller + equal_before] = equal_before == 0 ? equal : 0;
}

/// to[0, N) += total, rounded once.
template <int N, class T>
__device__ void add_to(T* to, const float* total) {
  Group<T, N> group = load<N>(to);
  for (int i = 0; i < N; ++i) group.element[i] = narrowed<T>(static_cast<float>(group.element[i]) + total[i]);
  store(to, group);
}

constexpr int kRowsInFlight = 4;

/// Adds N columns of `count` rows of dout, the k-th of which is row_of(k).
template <int N, class RowOf>
__device__ void add_rows(const Rows<const bf16>& dout, std::int64_t col, std::int64_t count, RowOf row_of,
                         float* total) {
  for (std::int64_t first = 0; first < count; first += kRowsInFlight) {
    Group<bf16, N> loaded[kRowsInFlight];
#pragma unroll
    for (int k = 0; k < kRowsInFlight; ++k)
      loaded[k] = load<N>(dout.at(row_of(first + k < count ? first + k : first), col));
#pragma unroll
    for (int k = 0; k < kRowsInFlight; ++k)
      if (first + k < count)
        for (int i = 0; i < N; ++i) total[i] += static_cast<float>(loaded[k].element[i]);
  }
}

/// Runs and their column groups, in the order of the sorted tokens.
template <class T, int N>
__global__ void add_runs_kernel(const std::int32_t* tokens, Sorted sorted, Rows<const bf16> dout, Rows<T> dword) {
  for_each_group<N, 1>(
      dout.rows, dout.cols, [](auto, std::int64_t, std::int64_t) { return 0; },
      [&](auto n, std::int64_t place, std::int64_t col, int) {
        const std::int32_t length = sorted.run_length[place];
        if (length == 0) return;
        const std::int32_t token = tokens[sorted.order[place]];
        if (token < 0 || token >= dword.rows) return;
        float total[n()] = {};
        add_rows<n()>(
            dout, col, length, [&](std::int64_t k) { return sorted.order[place + k]; }, total);
        add_to<n()>(dword.at(token, col), total);
      });
}

template <class T, int N>
__global__ void add_positions_kernel(Rows<const bf16> dout, Rows<T> dposition) {
  for_each_group<N, 1>(
      dposition.rows, dposition.cols, [](auto, std::int64_t, std::int64_t) { return 0; },
      [&](auto n, std::int64_t s, std::int64_t col, int) {
        float total[n()] = {};
        const std::int64_t sequences = divided(dout.rows, dposition.rows);
        add_rows<n()>(
            dout, col, sequences, [&](std::int64_t k) { return s + k * dposition.rows; }, total);
        add_to<n()>(dposition.at(s, col), total);
      });
}

template <class T>
void launch_add_runs(const Arguments& views, const Sorted& sorted, LaunchContext& context) {
  const auto dout = rows_of<const bf16>(views[1]);
  const auto dword = rows_of<T>(views[2]);
  const int group = group_for(8, dout, dword);
  launch(group == 1 ? add_runs_kernel<T, 1> : add_runs_kernel<T, 8>, blocks_of_groups(dout.rows, dout.cols, group, 1),
         context.stream, views[0].as<const std::int32_t>(), sorted, dout, dword);
}

template <class T>
void launch_add_positions(const Arguments& views, LaunchContext& context) {
  const auto dout = rows_of<const bf16>(views[1]);
  const auto dposition = rows_of<T>(views[3]);
  const int group = group_for(8, dout, dposition);
  launch(group == 1 ? add_positions_kernel<T, 1> : add_positions_kernel<T, 8>,
         blocks_of_groups(dposition.rows, dposition.cols, group, 1), context.stream, dout, dposition);
}

void wgrad_form(const Arguments& views, LaunchContext& context) {
  const std::int64_t tokens = views[0].cols;
  auto* const memory = reinterpret_cast<std::int32_t*>(context.workspace->take(2 * tokens * sizeof(std::int32_t)));
  const Sorted sorted{.order = memory, .run_length = memory + tokens};
  launch(sort_tokens_kernel, {.blocks = blocks_for(tokens * kWarpThreads, kSortThreads), .threads = kSortThreads},
         context.stream, views[0].as<const std::int32_t>(), static_cast<std::int32_t>(tokens), sorted, views[2].rows,
         context.faults);
  if (views[2].dtype == DataType::f32) {
    launch_add_runs<float>(views, sorted, context);
  } else {
    launch_add_runs<bf16>(views, sorted, context);
  }
  if (views[3].dtype == DataType::f32) return launch_add_positions<float>(views, context);
  launch_add_positions<bf16>(views, context);
}

}  // namespace

std::span<const CudaFormInfo> cuda_forms_embedding() {
  static constexpr std::array<CudaFormInfo, 2> forms{{
      {"embedding_forward", forward_form},
      {"embedding_wgrad", wgrad_form},
  }};
  return forms;
}

}  // namespace underlap::cuda
