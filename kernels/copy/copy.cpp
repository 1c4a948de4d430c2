// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy/copy.hpp"

#include <array>
#include <cstring>

#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"

namespace underlap::kernels {
namespace {

std::byte* row_of(const BoundView& view, std::int64_t row) {
  return view.data + row * view.leading_dimension * size_of(view.dtype);
}

std::int64_t row_bytes(const BoundView& view) { return view.cols * size_of(view.dtype); }

void copy_cpu(const Arguments& views) {
  const BoundView &x = views[0], &out = views[1];
  for (std::int64_t r = 0; r < x.rows; ++r)
    std::memcpy(row_of(out, r), row_of(x, r), static_cast<std::size_t>(row_bytes(x)));
}

void concatenate_cpu(const Arguments& views) {
  std::byte* to = views[views.size() - 1].data;
  for (std::size_t i = 0; i + 1 < views.size(); ++i) {
    for (std::int64_t r = 0; r < views[i].rows; ++r, to += row_bytes(views[i]))
      std::memcpy(to, row_of(views[i], r), static_cast<std::size_t>(row_bytes(views[i])));
  }
}

}  // namespace

Operation copy(const View& x, const View& out) {
  static const NameId name = intern("copy");
  return make_operation(name, copy_cpu, {},
                        {{x, Access::in, {"x", x.rows, x.cols, {x.tensor.dtype}}},
                         {out, Access::out, {"out", x.rows, x.cols, {x.tensor.dtype}}}});
}

Operation concatenate(std::span<const View> pieces, const View& out) {
  constexpr auto kName = "concatenate";
  require(kName, !pieces.empty() && pieces.size() <= kMaxPieces, "the number of pieces",
          static_cast<double>(pieces.size()), "from 1 to 9");
  static_assert(kMaxPieces == 9);
  std::array<Use, Operation::kMaxUses> uses;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    require(kName, pieces[i], {"a piece", pieces[i].rows, pieces[i].cols, {out.tensor.dtype}});
    uses[i] = {pieces[i], Access::in};
    elements += pieces[i].elements();
  }
  require(kName, out, {"out", 1, elements, {out.tensor.dtype}});
  uses[pieces.size()] = {out, Access::out};
  static const NameId name = intern(kName);
  return Operation(name, concatenate_cpu, {.flops = 0, .bytes_read = out.bytes(), .bytes_written = out.bytes()},
                   std::span(uses).first(pieces.size() + 1));
}

std::span<const KernelInfo> list_copy() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"copy", "copy", "out [R,C] = x, any type, either strided", "no flops; x and out once"},
      {"copy", "concatenate", "out [1,e] = up to 9 pieces, concatenated, any type", "no flops; out twice"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
