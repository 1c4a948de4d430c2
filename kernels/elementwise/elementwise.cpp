// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise.hpp"

#include <algorithm>
#include <array>

#include "kernels/fp8.hpp"
#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

void residual_add_cpu(const Arguments& views) {
  const BoundView &a = views[0], &b = views[1], &out = views[2];
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const bf16* const left = a.row<bf16>(r);
    const bf16* const right = b.row<bf16>(r);
    bf16* const to = out.row<bf16>(r);
    for (std::int64_t c = 0; c < a.cols; ++c) {
      to[c] = bf16(static_cast<float>(left[c]) + static_cast<float>(right[c]));
    }
  }
}

void accumulate_cpu(const Arguments& views) {
  const BoundView &x = views[0], &sum = views[1];
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const bf16* const from = x.row<bf16>(r);
    bf16* const to = sum.row<bf16>(r);
    for (std::int64_t c = 0; c < x.cols; ++c) to[c] = bf16(static_cast<float>(to[c]) + static_cast<float>(from[c]));
  }
}

void scale_cpu(const Arguments& views) {
  const BoundView& x = views[0];
  const auto factor = static_cast<float>(views.parameters<double>());
  with_float_type(x.dtype, [&]<class T>(T*) {
    for (std::int64_t r = 0; r < x.rows; ++r) {
      T* const row = x.row<T>(r);
      for (std::int64_t c = 0; c < x.cols; ++c) row[c] = static_cast<T>(static_cast<float>(row[c]) * factor);
    }
  });
}

template <class T>
void fill_rows(const BoundView& x, T value) {
  for (std::int64_t r = 0; r < x.rows; ++r) std::fill_n(x.row<T>(r), x.cols, value);
}

void fill_cpu(const Arguments& views) {
  const BoundView& x = views[0];
  const double value = views.parameters<double>();
  switch (x.dtype) {
    case DataType::f32: return fill_rows(x, static_cast<float>(value));
    case DataType::bf16: return fill_rows(x, bf16(static_cast<float>(value)));
    case DataType::i32: return fill_rows(x, static_cast<std::int32_t>(value));
    case DataType::u8: return fill_rows(x, static_cast<std::uint8_t>(value));
    case DataType::f64: return fill_rows(x, value);
    case DataType::f8e4m3: return fill_rows(x, f8e4m3(static_cast<float>(value)));
    case DataType::f8e5m2: return fill_rows(x, f8e5m2(static_cast<float>(value)));
  }
}

}  // namespace

Operation residual_add(const View& a, const View& b, const View& out) {
  static const NameId name = intern("residual_add");
  return make_operation(name, residual_add_cpu, {.flops = static_cast<double>(out.elements())},
                        {{a, Access::in, {"a", a.rows, a.cols, {DataType::bf16}}},
                         {b, Access::in, {"b", a.rows, a.cols, {DataType::bf16}}},
                         {out, Access::out, {"out", a.rows, a.cols, {DataType::bf16}}}});
}

Operation accumulate(const View& x, const View& sum) {
  static const NameId name = intern("accumulate");
  return make_operation(name, accumulate_cpu, {.flops = static_cast<double>(x.elements())},
                        {{x, Access::in, {"x", x.rows, x.cols, {DataType::bf16}}},
                         {sum, Access::inout, {"sum", x.rows, x.cols, {DataType::bf16}}}});
}

Operation scale(const View& x, double factor) {
  static const NameId name = intern("scale");
  return make_operation(name, scale_cpu, {.flops = static_cast<double>(x.elements())},
                        {{x, Access::inout, {"x", x.rows, x.cols, {DataType::f32, DataType::bf16}}}})
      .with_parameters<double>(factor);
}

Operation fill(const View& x, double value) {
  static const NameId name = intern("fill");
  return make_operation(name, fill_cpu, {}, {{x, Access::out, {"x", x.rows, x.cols, {x.tensor.dtype}}}})
      .with_parameters<double>(value);
}

std::span<const KernelInfo> list_elementwise() {
  static constexpr std::array<KernelInfo, 4> kernels{{
      {"elementwise", "residual_add", "out [R,C] = a + b", "R C flops; 6 R C bytes"},
      {"elementwise", "accumulate", "sum [R,C] += x", "R C flops; 6 R C bytes"},
      {"elementwise", "scale", "x [R,C] *= factor, f32 or bf16", "R C flops; x twice"},
      {"elementwise", "fill", "x [R,C] = value, any type", "no flops; x once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
