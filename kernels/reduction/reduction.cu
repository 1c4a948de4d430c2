// SPDX-License-Identifier: Apache-2.0
//
// Sums: of squares (the gradient's norm), and of what n ranks sent into n slots; and the factor that clips a gradient.
//
//                       bytes an element                                  flops
//   sum_of_squares      2 or 4 read                                       2, in fp64
//   sum_of_squares_in   the same, elements outside the ranges read too    2
//   sum_slots           n times 2 or 4 read, 2 or 4 written               n + 1
//   sum_fp8_slots       n read, 2 or 4 written (fp8_slots.cu)             2 n
//   clip_factor         8 in all, one thread
//
// Bound by memory, the fp64 sums too on GPUs that do fp64 at half the rate of fp32 (A100 to B200). A sum of squares
// takes two kernels, so that it needs no atomics:
//
//   x           |   block 0   |   block 1   | ... |  block 1023 |   a sum of each thread, then the tree of reduce.cuh
//   partials    | fp64 | fp64 | ... | fp64 |                        8 KiB, in the workspace
//   out         += partials, added by one block in the same way
//
// The order of a sum depends on shape and alignment alone: not on the device, nor on which block runs when. Slots are
// added in their order, which is that of the ranks, by the thread that owns the columns.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/reduction/slots.cuh"

namespace underlap::cuda {
namespace {

constexpr unsigned kThreads = 256;
/// Nearly two waves on an H200, whose 132 multiprocessors hold 4 of these blocks each; the same number everywhere.
constexpr int kMaxPartials = 1024;

/// Partial sum number blockIdx.x of the squares, in fp64.
template <class T, int N>
__global__ void sum_of_squares_kernel(Rows<const T> x, double* partials) {
  __shared__ double slots[kMaxWarps];
  double sum = 0;
  for_each_group<N, 4>(
      x.rows, x.cols, [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(x.at(r, c)); },
      [&](auto n, std::int64_t, std::int64_t, const auto& group) {
        for (int i = 0; i < n(); ++i) {
          const auto value = static_cast<double>(static_cast<float>(group.element[i]));
          sum = __fma_rn(value, value, sum);  // the square of a float is exact in fp64
        }
      });
  sum = combine_block(sum, 0.0, slots, Plus());
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// The ranges of a row, in order.
struct Ranges {
  const double* begin_end = nullptr;  // whole numbers, which a double holds up to 2^53
  int num = 0;

  __device__ std::int64_t begin(int k) const { return static_cast<std::int64_t>(begin_end[2 * k]); }
  __device__ std::int64_t end(int k) const { return static_cast<std::int64_t>(begin_end[2 * k + 1]); }
  /// The first that ends after `column`; num: no range does.
  __device__ int first_after(std::int64_t column) const {
    const auto at = static_cast<double>(column);  // compared as they are: GPUs convert few doubles at a time
    int low = 0, high = num;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (begin_end[2 * middle + 1] > at)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
};

/// The columns around one that are all inside the ranges, or all outside. A search takes longer than a load, and most
/// ranges hold many groups of a thread, so a thread keeps its last answer.
struct Region {
  std::int64_t begin = 0, end = 0;
  bool is_inside = false;

  __device__ Region() = default;
  __device__ Region(const Ranges& ranges, std::int64_t column) {
    const int k = ranges.first_after(column);
    const std::int64_t before = k == 0 ? 0 : ranges.end(k - 1);
    const std::int64_t next = k == ranges.num ? std::numeric_limits<std::int64_t>::max() : ranges.begin(k);
    is_inside = next <= column;
    begin = is_inside ? next : before;
    end = is_inside ? ranges.end(k) : next;
  }
  __device__ bool holds(std::int64_t from, std::int64_t to) const { return begin <= from && to <= end; }
};

/// Partial sum number blockIdx.x of the squares inside the ranges, in fp64.
template <class T, int N>
__global__ void sum_of_squares_in_kernel(Rows<const T> x, Ranges ranges, double* partials) {
  __shared__ double slots[kMaxWarps];
  double sum = 0;
  Region region;
  for_each_group<N, 4>(
      x.rows, x.cols, [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(x.at(r, c)); },
      [&](auto n, std::int64_t r, std::int64_t c, const auto& group) {
        const auto add = [&](T element) {
          const auto value = static_cast<double>(static_cast<float>(element));
          sum = __fma_rn(value, value, sum);
        };
        if (!region.holds(c, c + n())) region = Region(ranges, c);
        if (region.holds(c, c + n())) {
          if (!region.is_inside) return;
          for (int i = 0; i < n(); ++i) add(group.element[i]);
          return;
        }
#pragma unroll 1
        for (int i = 0; i < n(); ++i) {  // a range begins or ends here; an index known at run time needs memory
          if (!region.holds(c + i, c + i + 1)) region = Region(ranges, c + i);
          if (region.is_inside) add(*x.at(r, c + i));
        }
      });
  sum = combine_block(sum, 0.0, slots, Plus());
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// One block.
__global__ void add_partials_kernel(const double* partials, int num_partials, float* out) {
  __shared__ double slots[kMaxWarps];
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < num_partials; i += kThreads) sum += partials[i];
  sum = combine_block(sum, 0.0, slots, Plus());
  if (threadIdx.x == 0) *out = static_cast<float>(static_cast<double>(*out) + sum);
}

/// `wide`, or `one` where x is not aligned, makes the partial sums of x, which are then added to `out`.
template <class T, class... Arguments>
void launch_sum(const BoundView& view, float* out, LaunchContext& context,
                void (*one)(Rows<const T>, Arguments..., double*), void (*wide)(Rows<const T>, Arguments..., double*),
                Arguments... arguments) {
  constexpr int kWide = 16 / sizeof(T);
  auto x = rows_of<const T>(view);
  flatten(x);
  const int group = group_for(kWide, x);
  LaunchShape shape = blocks_of_groups(x.rows, x.cols, group, 4);
  shape.blocks = std::min<unsigned>(shape.blocks, kMaxPartials);
  auto* const partials = reinterpret_cast<double*>(context.workspace->take(shape.blocks * sizeof(double)));
  launch(group == 1 ? one : wide, shape, context.stream, x, arguments..., partials);
  launch(add_partials_kernel, {.blocks = 1, .threads = kThreads}, context.stream, partials, shape.blocks, out);
}

void sum_of_squares_cuda(const Arguments& views, LaunchContext& context) {
  with_float_type(views[0].dtype, [&]<class T>(T*) {
    launch_sum<T>(views[0], views[1].as<float>(), context, sum_of_squares_kernel<T, 1>,
                  sum_of_squares_kernel<T, 16 / sizeof(T)>);
  });
}

void sum_of_squares_in_cuda(const Arguments& views, LaunchContext& context) {
  const Ranges ranges{views[1].as<const double>(), static_cast<int>(views[1].rows)};
  with_float_type(views[0].dtype, [&]<class T>(T*) {
    launch_sum<T, Ranges>(views[0], views[2].as<float>(), context, sum_of_squares_in_kernel<T, 1>,
                          sum_of_squares_in_kernel<T, 16 / sizeof(T)>, ranges);
  });
}

/// One thread, on the device: so the host does not wait for the norm.
__global__ void clip_factor_kernel(const float* sum_of_squares, float* factor, double max_norm) {
  const auto sum = static_cast<double>(*sum_of_squares);
  if (max_norm == 0) {
    *factor = 1.0F;
  } else if (!(fabs(sum) <= std::numeric_limits<double>::max())) {
    *factor = std::numeric_limits<float>::quiet_NaN();  // every gradient then is NaN, which the optimizer reports
  } else {
    *factor = static_cast<float>(fmin(1.0, max_norm / (sqrt(sum) + 1e-6)));
  }
}

void clip_factor_cuda(const Arguments& views, LaunchContext& context) {
  launch(clip_factor_kernel, {.blocks = 1, .threads = 1}, context.stream, views[0].as<const float>(),
         views[1].as<float>(), views.parameters<double>());
}

/// Adds the group of `n` columns at `col` of all slots in slot order: as the CPU implementation does, to the bit.
template <int N, class From>
__device__ void add_slots(const Rows<const From>& slots, std::int64_t col, float* total) {
  for (std::int64_t first = 0; first < slots.rows; first += kSlotsInFlight) {
    Group<From, N> group[kSlotsInFlight];
#pragma unroll
    for (int k = 0; k < kSlotsInFlight; ++k)
      group[k] = load<N>(slots.at(first + k < slots.rows ? first + k : first, col));
#pragma unroll
    for (int k = 0; k < kSlotsInFlight; ++k)
      if (first + k < slots.rows)
        for (int i = 0; i < N; ++i) total[i] += static_cast<float>(group[k].element[i]);
  }
}

/// The loop has nothing to load itself: add_slots has its own loads in flight.
template <class From, class To, int N>
__global__ void sum_slots_kernel(Rows<const From> slots, Rows<To> out, float factor) {
  for_each_group<N, 1>(
      1, out.cols, [](auto, std::int64_t, std::int64_t) { return 0; },
      [&](auto n, std::int64_t, std::int64_t col, int) {
        float total[n()] = {};
        add_slots<n()>(slots, col, total);
        Group<To, n()> group;
        for (int i = 0; i < n(); ++i) group.element[i] = narrowed<To>(total[i] * factor);
        store(out.at(0, col), group);
      });
}

template <class From, class To>
void launch_sum_slots(const Arguments& views, LaunchContext& context) {
  const auto slots = rows_of<const From>(views[0]);
  const auto out = rows_of<To>(views[1]);
  const int group = group_for(8, slots, out);
  launch(group == 1 ? sum_slots_kernel<From, To, 1> : sum_slots_kernel<From, To, 8>,
         blocks_of_groups(1, out.cols, group, 1), context.stream, slots, out,
         static_cast<float>(views.parameters<double>()));
}

void sum_slots_cuda(const Arguments& views, LaunchContext& context) {
  with_float_type(views[0].dtype, [&]<class From>(From*) {
    with_float_type(views[1].dtype, [&]<class To>(To*) { launch_sum_slots<From, To>(views, context); });
  });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_reduction() {
  static constexpr std::array<CudaImplementationInfo, 5> all{{
      {"sum_of_squares", sum_of_squares_cuda},
      {"sum_of_squares_in", sum_of_squares_in_cuda},
      {"clip_factor", clip_factor_cuda},
      {"sum_slots", sum_slots_cuda},
      {"sum_fp8_slots", sum_fp8_slots_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
