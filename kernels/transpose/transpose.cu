// SPDX-License-Identifier: Apache-2.0
//
// out = x^T, for elements of one or two bytes: x and out move once, no flops.
//
// A column of x is a row of out, so one of the two would be touched in single elements, a line of memory for each. A
// block therefore turns one square by way of shared memory. Its rows are 128 bytes, a line: 128 x 128 elements of one
// byte, 64 x 64 of two.
//
//   x              shared memory            out
//   | - - - - |    rows as they came in:    | - - - - |    read_square   a warp: 4 rows of x, 128 bytes each
//   | - - - - |    padded, so that a        | - - - - |    barrier       the square is whole
//   | - - - - |    column meets all banks   | - - - - |    write_square  a warp: rows of out, 128 bytes each
//
// Shared memory moves words of 4 bytes, so a thread that writes takes a word of 16 bytes' worth of rows, and turns
// those 2 or 4 columns in registers.
//
// Bound by memory, while no two threads of a warp want different words of one bank (Square). Source: Ruetsch &
// Micikevicius 2009, "Optimizing matrix transpose in CUDA", for the padded tile.
#include <array>

#include "kernels/cuda/elements.cuh"

namespace underlap::cuda {
namespace {

constexpr unsigned kThreads = 256;

template <class T>
constexpr int kSide = 128 / sizeof(T);

/// The square in shared memory, whose 32 banks are 4 bytes wide. A row is a word longer than its elements, so that the
/// words of a column lie in different banks. A warp that writes takes 4 neighboring words of 8 rows, which are an
/// eighth of the square apart (8 rows, or 16 of one-byte elements): rows 32 apart would still share banks, so every 32
/// rows the next begin 4 words later.
template <class T>
class Square {
 public:
  static constexpr int kPerWord = 4 / sizeof(T);

  __device__ T& at(int row, int col) { return reinterpret_cast<T*>(word_)[place(row) * kPerWord + col]; }
  __device__ const T& at(int row, int col) const {
    return reinterpret_cast<const T*>(word_)[place(row) * kPerWord + col];
  }
  __device__ std::uint32_t& word(int row, int index) { return word_[place(row) + index]; }
  __device__ std::uint32_t word(int row, int index) const { return word_[place(row) + index]; }

 private:
  static constexpr int kWords = kSide<T> / kPerWord;
  static constexpr __device__ int place(int row) { return row * (kWords + 1) + row / 32 * 4; }

  std::uint32_t word_[kSide<T> * (kWords + 1) + kSide<T> / 32 * 4];
};

/// Elements of the square at (row, col) to shared memory. N: how many a thread takes at an access.
template <class T, int N>
__device__ void read_square(const Rows<const T>& x, std::int64_t row, std::int64_t col, Square<T>& square) {
  constexpr int kGroups = kSide<T> / N;
  for (int i = static_cast<int>(threadIdx.x); i < kSide<T> * kGroups; i += kThreads) {
    const int r = i / kGroups, c = i % kGroups * N;
    if (row + r >= x.rows) break;
    if (col + c + N <= x.cols) {
      const auto group = load<N>(x.at(row + r, col + c));
      if constexpr (N > 1) {
        const auto words = std::bit_cast<uint4>(group);
        const int first = c / Square<T>::kPerWord;
        square.word(r, first) = words.x;
        square.word(r, first + 1) = words.y;
        square.word(r, first + 2) = words.z;
        square.word(r, first + 3) = words.w;
      } else {
        square.at(r, c) = group.element[0];
      }
    } else {
      for (int k = 0; col + c + k < x.cols && k < N; ++k) square.at(r, c + k) = *x.at(row + r, col + c + k);
    }
  }
}

/// The square at (row, col) of out from shared memory, where it lies as it was read: element (r, c) of it is (c, r)
/// there.
template <class T, int N>
__device__ void write_square(const Rows<T>& out, std::int64_t row, std::int64_t col, const Square<T>& square) {
  constexpr int kGroups = kSide<T> / N;
  for (int i = static_cast<int>(threadIdx.x); i < kSide<T> * kGroups; i += kThreads) {
    const int r = i / kGroups, c = i % kGroups * N;
    if (row + r >= out.rows) break;
    if (col + c + N <= out.cols) {
      Group<T, N> group;
      for (int k = 0; k < N; ++k) group.element[k] = square.at(c + k, r);
      store(out.at(row + r, col + c), group);
    } else {
      for (int k = 0; col + c + k < out.cols && k < N; ++k) *out.at(row + r, col + c + k) = square.at(c + k, r);
    }
  }
}

/// The same where the whole square lies in out, and rows of out begin at multiples of 16 bytes.
template <class T, int N>
__device__ void write_whole_square(const Rows<T>& out, std::int64_t row, std::int64_t col, const Square<T>& square) {
  static_assert(kThreads == 32 * kSide<T> / N);
  const int index = static_cast<int>(threadIdx.x) / (kSide<T> / N),
            r = static_cast<int>(threadIdx.x) % (kSide<T> / N) * N;
  std::uint32_t words[N];
#pragma unroll
  for (int k = 0; k < N; ++k) words[k] = square.word(r + k, index);
#pragma unroll
  for (int i = 0; i < Square<T>::kPerWord; ++i) {
    Group<T, N> group;
    for (int k = 0; k < N; ++k) group.element[k] = static_cast<T>(words[k] >> (8 * sizeof(T) * i));
    store(out.at(row + index * Square<T>::kPerWord + i, col + r), group);
  }
}

/// A square a block, row by row of squares. Squares at the edges are narrower; the barrier is met by all threads even
/// so.
template <class T, int N>
__global__ void transpose_kernel(Rows<const T> x, Rows<T> out) {
  __shared__ Square<T> square;
  const std::int64_t across = (x.cols + kSide<T> - 1) / kSide<T>;
  const std::int64_t down = divided(std::int64_t{blockIdx.x}, across);
  const std::int64_t row = down * kSide<T>, col = (std::int64_t{blockIdx.x} - down * across) * kSide<T>;
  read_square<T, N>(x, row, col, square);
  __syncthreads();
  if constexpr (N > 1)
    if (row + kSide<T> <= x.rows && col + kSide<T> <= x.cols) return write_whole_square<T, N>(out, col, row, square);
  write_square<T, N>(out, col, row, square);
}

template <class T>
void launch_transpose(const Arguments& views, LaunchContext& context) {
  constexpr int kWide = 16 / sizeof(T);
  const auto x = rows_of<const T>(views[0]);
  const auto out = rows_of<T>(views[1]);
  const int group = group_for(kWide, x, out);
  const unsigned squares = blocks_for(x.rows, kSide<T>) * blocks_for(x.cols, kSide<T>);
  launch(group == 1 ? transpose_kernel<T, 1> : transpose_kernel<T, kWide>, {.blocks = squares, .threads = kThreads},
         context.stream, x, out);
}

void transpose_cuda(const Arguments& views, LaunchContext& context) {
  if (size_of(views[0].dtype) == 1) return launch_transpose<std::uint8_t>(views, context);
  launch_transpose<std::uint16_t>(views, context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_transpose() {
  static constexpr std::array<CudaImplementationInfo, 1> all{{{"transpose", transpose_cuda}}};
  return all;
}

}  // namespace underlap::cuda
