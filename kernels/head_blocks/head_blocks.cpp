// SPDX-License-Identifier: Apache-2.0
#include "kernels/head_blocks/head_blocks.hpp"

#include <array>
#include <cstring>

#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"

namespace underlap::kernels {
namespace {

/// Calls f for each row of `blocks`, with where it lies there and in `heads`, and its bytes.
template <class F>
void for_each_row(const BoundView& heads, const BoundView& blocks, F f) {
  const std::int64_t size = size_of(heads.dtype);
  for (std::int64_t r = 0; r < blocks.rows; ++r) {
    const std::int64_t row = r % heads.rows, column = r / heads.rows * blocks.cols;
    f(heads.data + (row * heads.leading_dimension + column) * size, blocks.data + r * blocks.leading_dimension * size,
      static_cast<std::size_t>(blocks.cols * size));
  }
}

void to_blocks_cpu(const Arguments& views) {
  for_each_row(views[0], views[1],
               [](std::byte* heads, std::byte* block, std::size_t bytes) { std::memcpy(block, heads, bytes); });
}

void to_heads_cpu(const Arguments& views) {
  for_each_row(views[1], views[0],
               [](std::byte* heads, std::byte* block, std::size_t bytes) { std::memcpy(heads, block, bytes); });
}

}  // namespace

Operation heads_to_blocks(const View& x, const View& out) {
  static const NameId name = intern("heads_to_blocks");
  require_multiple("heads_to_blocks", "columns", x.cols, "columns of a block", out.cols);
  return make_operation(name, to_blocks_cpu, {},
                        {{x, Access::in, {"x", x.rows, x.cols, {x.tensor.dtype}}},
                         {out, Access::out, {"out", x.cols / out.cols * x.rows, out.cols, {x.tensor.dtype}}}});
}

Operation blocks_to_heads(const View& x, const View& out) {
  static const NameId name = intern("blocks_to_heads");
  require_multiple("blocks_to_heads", "columns", out.cols, "columns of a block", x.cols);
  return make_operation(name, to_heads_cpu, {},
                        {{x, Access::in, {"x", out.cols / x.cols * out.rows, x.cols, {out.tensor.dtype}}},
                         {out, Access::out, {"out", out.rows, out.cols, {out.tensor.dtype}}}});
}

std::span<const KernelInfo> list_head_blocks() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"head_blocks", "heads_to_blocks", "out [n T,C] = the n blocks of columns of x [T,n C]",
       "no flops; x and out once"},
      {"head_blocks", "blocks_to_heads", "out [T,n C] = the n blocks of rows of x [n T,C], side by side",
       "no flops; x and out once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
