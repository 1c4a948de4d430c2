// SPDX-License-Identifier: Apache-2.0
//
// Largest magnitudes are compared as the integers that their bits are: that orders floats of one sign, keeps NaN, and
// is what a GPU's atomic maximum can do, so that both give the same bits. A tensor of zeros has scale 1, any other one
// its largest magnitude over the largest value of the format. Conversions multiply in fp32 and round once.
#include "kernels/quantize/quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/fp8.hpp"
#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

// Magnitudes compare as their bits do, and every NaN lies above infinity.
std::uint32_t magnitude_bits(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU; }

template <class T>
std::uint32_t row_amax(const T* x, std::int64_t n) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, magnitude_bits(static_cast<float>(x[i])));
  return largest;
}

void amax_cpu(const Arguments& views) {
  const BoundView& x = views[0];
  float& out = *views[1].as<float>();
  auto largest = std::bit_cast<std::uint32_t>(out);
  with_float_type(x.dtype, [&]<class T>(T*) {
    for (std::int64_t r = 0; r < x.rows; ++r) largest = std::max(largest, row_amax(x.row<const T>(r), x.cols));
  });
  out = std::bit_cast<float>(largest);
}

void fp8_scale_cpu(const Arguments& views) {
  const auto* const amax = views[0].as<const float>();
  const float largest = views.parameters<float>();
  for (std::int64_t i = 0; i < views[0].cols; ++i) {
    const float scale = amax[i] == 0 ? 1.0F : std::max(amax[i] / largest, std::numeric_limits<float>::min());
    *views[1].row<float>(i) = std::isfinite(amax[i]) ? scale : std::numeric_limits<float>::quiet_NaN();
  }
}

template <class From, class To>
void convert_rows(const BoundView& from, const BoundView& to, float factor) {
  for (std::int64_t r = 0; r < from.rows; ++r) {
    const From* const in = from.row<const From>(r);
    To* const out = to.row<To>(r);
    for (std::int64_t c = 0; c < from.cols; ++c) out[c] = To(static_cast<float>(in[c]) * factor);
  }
}

void quantize_cpu(const Arguments& views) {
  const float scale = 1.0F / *views[1].as<const float>();
  with_float_type(views[0].dtype, [&]<class From>(From*) {
    with_fp8_type(views[2].dtype, [&]<class To>(To*) { convert_rows<From, To>(views[0], views[2], scale); });
  });
}

void dequantize_cpu(const Arguments& views) {
  const float inverse_scale = *views[1].as<const float>();
  with_fp8_type(views[0].dtype, [&]<class From>(From*) {
    with_float_type(views[2].dtype, [&]<class To>(To*) { convert_rows<From, To>(views[0], views[2], inverse_scale); });
  });
}

}  // namespace

Operation amax(const View& x, const View& out) {
  static const NameId name = intern("amax");
  return make_operation(name, amax_cpu, {.flops = static_cast<double>(x.elements())},
                        {{x, Access::in, {"x", x.rows, x.cols, {DataType::f32, DataType::bf16}}},
                         {out, Access::inout, {"out", 1, 1, {DataType::f32}}}});
}

Operation fp8_scale(const View& amax, const View& inverse_scale, DataType format) {
  if (!is_fp8(format))
    throw std::invalid_argument(fmt::format("fp8_scale: format is {}, must be f8e4m3 or f8e5m2", to_string(format)));
  static const NameId name = intern("fp8_scale");
  return make_operation(name, fp8_scale_cpu, {.flops = static_cast<double>(amax.elements())},
                        {{amax, Access::in, {"amax", 1, amax.cols, {DataType::f32}}},
                         {inverse_scale, Access::out, {"inverse_scale", amax.cols, 1, {DataType::f32}}}})
      .with_parameters<float>(largest_finite(format));
}

Operation quantize(const View& x, const View& inverse_scale, const View& q) {
  static const NameId name = intern("quantize");
  return make_operation(name, quantize_cpu, {.flops = static_cast<double>(x.elements())},
                        {{x, Access::in, {"x", x.rows, x.cols, {DataType::f32, DataType::bf16}}},
                         {inverse_scale, Access::in, {"inverse_scale", 1, 1, {DataType::f32}}},
                         {q, Access::out, {"q", x.rows, x.cols, {DataType::f8e4m3, DataType::f8e5m2}}}});
}

Operation dequantize(const View& q, const View& inverse_scale, const View& out) {
  static const NameId name = intern("dequantize");
  return make_operation(name, dequantize_cpu, {.flops = static_cast<double>(q.elements())},
                        {{q, Access::in, {"q", q.rows, q.cols, {DataType::f8e4m3, DataType::f8e5m2}}},
                         {inverse_scale, Access::in, {"inverse_scale", 1, 1, {DataType::f32}}},
                         {out, Access::out, {"out", q.rows, q.cols, {DataType::f32, DataType::bf16}}}});
}

std::span<const KernelInfo> list_quantize() {
  static constexpr std::array<KernelInfo, 4> kernels{{
      {"quantize", "amax", "out [1,1] = max(out, largest |x|), x [R,C] f32 or bf16", "R C flops; x once"},
      {"quantize", "fp8_scale", "inverse_scale [1,k] = amax [1,k] / largest finite value of a format",
       "k flops; 8 k bytes"},
      {"quantize", "quantize", "q [R,C] = x / inverse_scale in f8e4m3 or f8e5m2", "R C flops; x and q once"},
      {"quantize", "dequantize", "out [R,C] = q * inverse_scale, out f32 or bf16", "R C flops; q and out once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
