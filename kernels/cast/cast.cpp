// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/cast.hpp"

#include <array>

#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

void cast_cpu(const Arguments& views) {
  const BoundView &x = views[0], &out = views[1];
  for (std::int64_t r = 0; r < x.rows; ++r) {
    if (x.dtype == DataType::f32) {
      narrow(x.row<float>(r), out.row<bf16>(r), x.cols);
    } else {
      widen(x.row<bf16>(r), out.row<float>(r), x.cols);
    }
  }
}

}  // namespace

Operation cast(const View& x, const View& out) {
  const DataType other = x.tensor.dtype == DataType::f32 ? DataType::bf16 : DataType::f32;
  static const NameId name = intern("cast");
  return make_operation(name, cast_cpu, {},
                        {{x, Access::in, {"x", x.rows, x.cols, {DataType::f32, DataType::bf16}}},
                         {out, Access::out, {"out", x.rows, x.cols, {other}}}});
}

std::span<const KernelInfo> list_cast() {
  static constexpr std::array<KernelInfo, 1> kernels{{
      {"cast", "cast", "out [R,C] = x, f32 to bf16 or bf16 to f32", "no flops; 6 R C bytes"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
