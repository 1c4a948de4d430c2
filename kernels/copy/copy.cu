// SPDX-License-Identifier: Apache-2.0
//
// Copies of strided matrices, and of several pieces into one dense row: every byte is read once and written once.
//
//   concatenate   pieces | a a a | b | c c |      one launch; each piece is spread over all blocks, one piece after
//                 out    | a a a b c c |          the other, a grid-stride loop each
//
// Bound by memory, or by the launch: a small piece takes less time than a launch does, so all pieces go in one kernel.
// Only the size of an element matters: bf16 is moved as 16-bit integers, f32 as 32-bit ones.
#include <algorithm>
#include <array>

#include "kernels/copy/copy.hpp"
#include "kernels/cuda/elements.cuh"

namespace underlap::cuda {
namespace {

template <class T>
struct Piece {
  Rows<const T> from;
  Rows<T> to;
};

template <class T>
struct Pieces {
  Piece<T> piece[kernels::kMaxPieces];
  int count = 0;
};

// __grid_constant__: the pieces are indexed where the launch put them. Without it the compiler may first copy all of
// them into each thread's local memory, because registers cannot be indexed.
template <class T, int N>
__global__ void copy_kernel(const __grid_constant__ Pieces<T> pieces) {
  for (int i = 0; i < pieces.count; ++i) {
    const Piece<T>& piece = pieces.piece[i];
    for_each_group<N, 4>(
        piece.to.rows, piece.to.cols,
        [&](auto n, std::int64_t r, std::int64_t c) { return load<n()>(piece.from.at(r, c)); },
        [&](auto, std::int64_t r, std::int64_t c, const auto& group) { store(piece.to.at(r, c), group); });
  }
}

/// Uses as many blocks as the largest piece needs, which leaves blocks without work in the smaller ones. Uses wide
/// accesses if all pieces allow them.
template <class T>
void launch_copy(Pieces<T> pieces, LaunchContext& context) {
  constexpr int kWide = 16 / sizeof(T);
  int group = kWide;
  for (int i = 0; i < pieces.count; ++i) {
    Piece<T>& piece = pieces.piece[i];
    flatten(piece.from, piece.to);
    group = std::min(group, group_for(kWide, piece.from, piece.to));
  }
  LaunchShape shape;
  for (int i = 0; i < pieces.count; ++i) {
    const LaunchShape wanted = blocks_of_groups(pieces.piece[i].to.rows, pieces.piece[i].to.cols, group, 4);
    if (i == 0 || wanted.blocks > shape.blocks) shape = wanted;
  }
  launch(group == 1 ? copy_kernel<T, 1> : copy_kernel<T, kWide>, shape, context.stream, pieces);
}

void copy_cuda(const Arguments& views, LaunchContext& context) {
  with_element(views[0].dtype, [&]<class T>(T*) {
    launch_copy<T>({.piece = {{rows_of<const T>(views[0]), rows_of<T>(views[1])}}, .count = 1}, context);
  });
}

void concatenate_cuda(const Arguments& views, LaunchContext& context) {
  with_element(views[0].dtype, [&]<class T>(T*) {
    Pieces<T> pieces;
    T* to = views[views.size() - 1].as<T>();
    for (std::size_t i = 0; i + 1 < views.size(); ++i) {
      const auto from = rows_of<const T>(views[i]);
      pieces.piece[pieces.count++] = {from, {to, from.rows, from.cols, from.cols}};
      to += from.rows * from.cols;
    }
    launch_copy(pieces, context);
  });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_copy() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"copy", copy_cuda},
      {"concatenate", concatenate_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
