// SPDX-License-Identifier: Apache-2.0
//
// Rows of two tables added (forward), and the rows of dout added to rows of two tables (wgrad).
//
//              bytes an element of out or dout                              flops
//   forward    word 2 and, from the cache, position 2 read, out 2 written   1
//   wgrad      dout 2 read for each table, the tables' rows twice           2
//
// Bound by memory. embedding_wgrad sums in fp32 in token order, bitwise equal to the CPU and without atomics, which
// would add the rows of one token in any order. To sum the rows of dout that belong to one row of dword, tokens are
// sorted first; the first token of each run of equal ones then adds the run:
//
//   t, its id     | 0: 7 | 1: 2 | 2: 7 | 3: 9 | 4: 2 | 5: 7 |     place = ids that are smaller + equal ones before t
//   order         |  1   |  4   |  0   |  2   |  5   |  3   |
//   run_length    |  2   |  0   |  3   |  0   |  0   |  1   |     row 7 += dout[0] + dout[2] + dout[5], in this order
//
// Each token counts those that come before it: T^2 comparisons, but no atomics, whose order is not fixed. By operation
// count this takes about 10 us on an H200 for T = 8192 tokens, under a tenth of the rest at H = 4096. One thread per
// column group walks a run, so a token that fills the batch costs a walk of T rows. Positions that are given are sorted
// and added in the same way; without them, the positions in whole sequences are known.
#include <array>
#include <utility>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/vocab_shard.hpp"

namespace underlap::cuda {
namespace {

using kernels::VocabShard;

/// Whether an id lies in [0, limit); reports `fault` where not.
__device__ bool is_valid(std::int32_t id, std::int64_t limit, Fault fault, std::uint32_t* faults) {
  if (id >= 0 && id < limit) return true;
  atomicOr(faults, std::uint32_t{fault});
  return false;
}

/// Whether a table has a row of that number.
template <class T>
__device__ bool holds(const Rows<T>& table, std::int64_t row) {
  return row >= 0 && row < table.rows;
}

/// What is embedded.
struct Ids {
  const std::int32_t* tokens = nullptr;
  const std::int32_t* positions = nullptr;  ///< nullptr: whole sequences

  /// The row of the position table for the t-th token.
  __device__ std::int64_t position(std::int64_t t, std::int64_t seq_length) const {
    return positions == nullptr ? t - divided(t, seq_length) * seq_length : positions[t];
  }
};

/// Uses are tokens, two matrices, then a table of positions and positions, where there are any.
bool has_table(const Arguments& views) { return views.size() > 3; }

Ids ids_of(const Arguments& views) {
  return {.tokens = views[0].as<const std::int32_t>(),
          .positions = views.size() > 4 ? views[4].as<const std::int32_t>() : nullptr};
}

/// A token or position that is out of range, or not of this shard, loads row 0, whose values are not used. So no branch
/// separates a thread's loads. If a token or position is out of range, nothing is written and the fault is reported.
/// Without a table of positions the table of words is read in its place, and nothing of it is added.
template <int N, bool has_table>
__global__ void embedding_forward_kernel(Ids ids, Rows<const bf16> word, Rows<const bf16> position, Rows<bf16> out,
                                         VocabShard shard, std::uint32_t* faults) {
  for_each_group<N, 2>(
      out.rows, out.cols,
      [&](auto n, std::int64_t t, std::int64_t c) {
        const std::int64_t row = ids.tokens[t] - shard.first;
        const auto of_word = load<n()>(word.at(holds(word, row) ? row : 0, c));
        if constexpr (!has_table) return std::pair(of_word, of_word);
        const std::int64_t place = ids.position(t, position.rows);
        return std::pair(of_word, load<n()>(position.at(holds(position, place) ? place : 0, c)));
      },
      [&](auto n, std::int64_t t, std::int64_t c, const auto& loaded) {
        if (!is_valid(ids.tokens[t], shard.vocab_size, kTokenOutsideVocabulary, faults)) return;
        if constexpr (has_table) {
          const auto place = static_cast<std::int32_t>(ids.position(t, position.rows));
          if (!is_valid(place, position.rows, kPositionOutsideSequence, faults)) return;
        }
        const bool is_held = holds(word, ids.tokens[t] - shard.first);
        Group<bf16, n()> sum;
        for (int i = 0; i < n(); ++i)
          sum.element[i] = !is_held     ? bf16(0.0F)
                           : !has_table ? loaded.first.element[i]
                                        : narrowed<bf16>(static_cast<float>(loaded.first.element[i]) +
                                                         static_cast<float>(loaded.second.element[i]));
        store(out.at(t, c), sum);
      });
}

void forward_cuda(const Arguments& views, LaunchContext& context) {
  const bool adds = has_table(views);
  const auto word = rows_of<const bf16>(views[1]), position = rows_of<const bf16>(views[adds ? 3 : 1]);
  const auto out = rows_of<bf16>(views[2]);
  const int group = group_for(8, word, position, out);
  const auto with = group == 1 ? embedding_forward_kernel<1, true> : embedding_forward_kernel<8, true>;
  const auto without = group == 1 ? embedding_forward_kernel<1, false> : embedding_forward_kernel<8, false>;
  launch(adds ? with : without, blocks_of_groups(out.rows, out.cols, group, 2), context.stream, ids_of(views), word,
         position, out, views.parameters<VocabShard>(), context.faults);
}

/// Ids in sorted order, equal ones in the order of the batch.
struct Sorted {
  std::int32_t* order;       ///< [T] place in the batch of each
  std::int32_t* run_length;  ///< [T] at the first of a run of equal ids, how many; elsewhere 0
};

/// The ids of T tokens, and what they must be.
struct Limited {
  const std::int32_t* ids = nullptr;
  std::int64_t limit = 0;
  Fault fault = kTokenOutsideVocabulary;  ///< of an id that is not in [0, limit)
};

constexpr unsigned kSortThreads = 256;

/// One warp an id: its lanes compare it with 32 neighboring ones at a time, which are in the cache after the first
/// warps. One pass counts all that the place and the run's length take.
__global__ void sort_ids_kernel(Limited in, std::int32_t count, Sorted sorted, std::uint32_t* faults) {
  const auto t = static_cast<std::int32_t>((blockIdx.x * blockDim.x + threadIdx.x) / kWarpThreads);
  const auto lane = static_cast<std::int32_t>(threadIdx.x % kWarpThreads);
  if (t >= count) return;
  const std::int32_t id = in.ids[t];
  std::int32_t smaller = 0, equal_before = 0, equal = 0;
#pragma unroll 4
  for (std::int32_t other = lane; other < count; other += kWarpThreads) {
    const std::int32_t value = in.ids[other];
    smaller += value < id ? 1 : 0;
    equal += value == id ? 1 : 0;
    equal_before += value == id && other < t ? 1 : 0;
  }
  smaller = combine_warp(smaller, Plus());
  equal = combine_warp(equal, Plus());
  equal_before = combine_warp(equal_before, Plus());
  if (lane != 0) return;
  is_valid(id, in.limit, in.fault, faults);
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

/// A run is added in order, so its rows are loaded before they are added: 64 bytes a thread.
constexpr int kRowsInFlight = 4;

/// Adds N columns of `count` rows of dout, the k-th of which is row_of(k), one after the other.
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

/// Runs and their column groups, in the order of the sorted ids. The table's rows are those of ids from `first_id` on.
/// One place in a run does all of it; the threads of the others leave at once. A row of the table has one writer.
template <class T, int N>
__global__ void add_runs_kernel(const std::int32_t* ids, Sorted sorted, Rows<const bf16> dout, Rows<T> table,
                                std::int64_t first_id) {
  for_each_group<N, 1>(
      dout.rows, dout.cols, [](auto, std::int64_t, std::int64_t) { return 0; },
      [&](auto n, std::int64_t place, std::int64_t col, int) {
        const std::int32_t length = sorted.run_length[place];
        if (length == 0) return;
        const std::int64_t row = ids[sorted.order[place]] - first_id;
        if (!holds(table, row)) return;
        float total[n()] = {};
        add_rows<n()>(
            dout, col, length, [&](std::int64_t k) { return sorted.order[place + k]; }, total);
        add_to<n()>(table.at(row, col), total);
      });
}

/// Of whole sequences: row s of dposition gets dout of tokens s, s + S, s + 2 S and so on.
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

/// table[ids[t] - first_id] += dout[t], in two launches: who sorts reads ids alone, who adds reads dout once.
void add_by_id(const Limited& in, const BoundView& rows, const BoundView& to, std::int64_t first_id,
               std::int32_t* memory, LaunchContext& context) {
  const auto dout = rows_of<const bf16>(rows);
  const Sorted sorted{.order = memory, .run_length = memory + dout.rows};
  launch(sort_ids_kernel, {.blocks = blocks_for(dout.rows * kWarpThreads, kSortThreads), .threads = kSortThreads},
         context.stream, in, static_cast<std::int32_t>(dout.rows), sorted, context.faults);
  with_float_type(to.dtype, [&]<class T>(T*) {
    const auto table = rows_of<T>(to);
    const int group = group_for(8, dout, table);
    launch(group == 1 ? add_runs_kernel<T, 1> : add_runs_kernel<T, 8>, blocks_of_groups(dout.rows, dout.cols, group, 1),
           context.stream, in.ids, sorted, dout, table, first_id);
  });
}

/// dposition of whole sequences.
void add_in_turn(const BoundView& rows, const BoundView& to, LaunchContext& context) {
  const auto dout = rows_of<const bf16>(rows);
  with_float_type(to.dtype, [&]<class T>(T*) {
    const auto dposition = rows_of<T>(to);
    const int group = group_for(8, dout, dposition);
    launch(group == 1 ? add_positions_kernel<T, 1> : add_positions_kernel<T, 8>,
           blocks_of_groups(dposition.rows, dposition.cols, group, 1), context.stream, dout, dposition);
  });
}

void wgrad_cuda(const Arguments& views, LaunchContext& context) {
  const BoundView& dout = views[1];
  const auto shard = views.parameters<VocabShard>();
  const Ids ids = ids_of(views);
  // What sorts the tokens can then sort the positions: one stream.
  auto* const memory = reinterpret_cast<std::int32_t*>(context.workspace->take(2 * dout.rows * sizeof(std::int32_t)));
  add_by_id({ids.tokens, shard.vocab_size, kTokenOutsideVocabulary}, dout, views[2], shard.first, memory, context);
  if (!has_table(views)) return;
  const BoundView& dposition = views[3];
  if (ids.positions == nullptr) return add_in_turn(dout, dposition, context);
  add_by_id({ids.positions, dposition.rows, kPositionOutsideSequence}, dout, dposition, 0, memory, context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_embedding() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"embedding_forward", forward_cuda},
      {"embedding_wgrad", wgrad_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
