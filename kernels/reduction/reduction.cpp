// SPDX-License-Identifier: Apache-2.0
//
// Sums that do not depend on the machine: of squares in fp64, by 16 lanes a row and then row after row; of slots in
// fp32, column by column in slot order, for some columns at a time.
#include "kernels/reduction/reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/fp8.hpp"
#include "kernels/registry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

constexpr std::int64_t kLanes = 16;

/// Lane i % 16 takes the square of value i; the lanes are added from left to right.
template <class T>
double row_sum_of_squares(const T* x, std::int64_t n) {
  std::array<double, kLanes> lanes{};
  const auto add_square = [&](std::int64_t lane, std::int64_t i) {
    const auto value = static_cast<double>(static_cast<float>(x[i]));
    lanes[static_cast<std::size_t>(lane)] += value * value;
  };
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) add_square(lane, i + lane);
  }
  for (std::int64_t i = whole; i < n; ++i) add_square(i - whole, i);
  return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

void sum_of_squares_cpu(const Arguments& views) {
  const BoundView& x = views[0];
  float* const out = views[1].as<float>();
  double total = 0;
  with_float_type(x.dtype, [&]<class T>(T*) {
    for (std::int64_t r = 0; r < x.rows; ++r) total += row_sum_of_squares(x.row<const T>(r), x.cols);
  });
  *out = static_cast<float>(static_cast<double>(*out) + total);
}

void sum_of_squares_in_cpu(const Arguments& views) {
  const BoundView &x = views[0], &ranges = views[1];
  float* const out = views[2].as<float>();
  double total = 0;
  with_float_type(x.dtype, [&]<class T>(T*) {
    for (std::int64_t k = 0; k < ranges.rows; ++k) {
      const double* const range = ranges.row<const double>(k);
      const auto begin = static_cast<std::int64_t>(range[0]);
      total += row_sum_of_squares(x.as<const T>() + begin, static_cast<std::int64_t>(range[1]) - begin);
    }
  });
  *out = static_cast<float>(static_cast<double>(*out) + total);
}

void clip_factor_cpu(const Arguments& views) {
  const auto sum_of_squares = static_cast<double>(*views[0].as<float>());
  const double max_norm = views.parameters<double>();
  float& factor = *views[1].as<float>();
  if (max_norm == 0) {
    factor = 1.0F;
  } else if (!std::isfinite(sum_of_squares)) {
    factor = std::numeric_limits<float>::quiet_NaN();
  } else {
    factor = static_cast<float>(std::min(1.0, max_norm / (std::sqrt(sum_of_squares) + 1e-6)));
  }
}

// Columns summed at a time, so that the partial sums stay in the first-level cache.
constexpr std::int64_t kColumns = 2048;

template <class T>
void sum_columns(const BoundView& slots, std::int64_t first, std::int64_t columns, float* total) {
  std::fill_n(total, columns, 0.0F);
  for (std::int64_t slot = 0; slot < slots.rows; ++slot) {
    const T* const from = slots.row<T>(slot) + first;
    for (std::int64_t c = 0; c < columns; ++c) total[c] += static_cast<float>(from[c]);
  }
}

template <class T>
void store_scaled(const float* total, std::int64_t n, float factor, T* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(total[i] * factor);
}

void sum_slots_cpu(const Arguments& views) {
  const BoundView &slots = views[0], &out = views[1];
  const auto factor = static_cast<float>(views.parameters<double>());
  Scratch scratch;
  float* const total = scratch.take(kColumns);
  for (std::int64_t first = 0; first < slots.cols; first += kColumns) {
    const std::int64_t columns = std::min(kColumns, slots.cols - first);
    with_float_type(slots.dtype, [&]<class T>(T*) { sum_columns<T>(slots, first, columns, total); });
    with_float_type(out.dtype, [&]<class T>(T*) { store_scaled(total, columns, factor, out.as<T>() + first); });
  }
}

template <class From, class To>
void sum_fp8_rows(const BoundView& slots, const float* inverse_scales, const BoundView& out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    To* const to = out.row<To>(r);
    for (std::int64_t c = 0; c < out.cols; ++c) {
      float total = 0;
      for (std::int64_t row = r, slot = 0; row < slots.rows; row += out.rows, ++slot)
        total += static_cast<float>(slots.row<const From>(row)[c]) * inverse_scales[slot];
      to[c] = static_cast<To>(total);
    }
  }
}

void sum_fp8_slots_cpu(const Arguments& views) {
  const auto* const inverse_scales = views[1].as<const float>();
  with_fp8_type(views[0].dtype, [&]<class From>(From*) {
    with_float_type(views[2].dtype, [&]<class To>(To*) { sum_fp8_rows<From, To>(views[0], inverse_scales, views[2]); });
  });
}

}  // namespace

Operation sum_of_squares(const View& x, const View& out) {
  static const NameId name = intern("sum_of_squares");
  return make_operation(name, sum_of_squares_cpu, {.flops = 2 * static_cast<double>(x.elements())},
                        {{x, Access::in, {"x", x.rows, x.cols, {DataType::f32, DataType::bf16}}},
                         {out, Access::inout, {"out", 1, 1, {DataType::f32}}}});
}

Operation sum_of_squares_in(const View& x, const View& ranges, const View& out) {
  static const NameId name = intern("sum_of_squares_in");
  require("sum_of_squares_in", ranges.is_dense(), "ranges' leading dimension", ranges.leading_dimension, "2");
  return make_operation(name, sum_of_squares_in_cpu, {.flops = 2 * static_cast<double>(x.elements())},
                        {{x, Access::in, {"x", 1, x.cols, {DataType::f32, DataType::bf16}}},
                         {ranges, Access::in, {"ranges", ranges.rows, 2, {DataType::f64}}},
                         {out, Access::inout, {"out", 1, 1, {DataType::f32}}}});
}

Operation clip_factor(const View& sum_of_squares, const View& factor, double max_norm) {
  static const NameId name = intern("clip_factor");
  require("clip_factor", max_norm >= 0, "max_norm", max_norm, "at least 0");
  return make_operation(name, clip_factor_cpu, {.flops = 4},
                        {{sum_of_squares, Access::in, {"sum_of_squares", 1, 1, {DataType::f32}}},
                         {factor, Access::out, {"factor", 1, 1, {DataType::f32}}}})
      .with_parameters<double>(max_norm);
}

Operation sum_slots(const View& slots, const View& out, double factor) {
  static const NameId name = intern("sum_slots");
  return make_operation(name, sum_slots_cpu, {.flops = static_cast<double>(slots.elements() + out.elements())},
                        {{slots, Access::in, {"slots", slots.rows, slots.cols, {DataType::f32, DataType::bf16}}},
                         {out, Access::out, {"out", 1, slots.cols, {DataType::f32, DataType::bf16}}}})
      .with_parameters<double>(factor);
}

Operation sum_fp8_slots(const View& slots, const View& inverse_scales, const View& out) {
  static const NameId name = intern("sum_fp8_slots");
  return make_operation(
      name, sum_fp8_slots_cpu, {.flops = 2 * static_cast<double>(slots.elements())},
      {{slots, Access::in, {"slots", inverse_scales.cols * out.rows, out.cols, {DataType::f8e4m3, DataType::f8e5m2}}},
       {inverse_scales, Access::in, {"inverse_scales", 1, inverse_scales.cols, {DataType::f32}}},
       {out, Access::out, {"out", out.rows, out.cols, {DataType::bf16, DataType::f32}}}});
}

std::span<const KernelInfo> list_reduction() {
  static constexpr std::array<KernelInfo, 5> kernels{{
      {"reduction", "sum_of_squares", "out [1,1] += sum of x [R,C] squared", "2 R C flops; x once"},
      {"reduction", "sum_of_squares_in", "out [1,1] += sum of the ranges [n,2] of x [1,C] squared",
       "2 C flops; x and ranges once"},
      {"reduction", "clip_factor", "factor [1,1] = min(1, max_norm / norm)", "4 flops; 8 bytes"},
      {"reduction", "sum_slots", "out [e] = factor * sum of slots [n,e] in slot order",
       "(n + 1) e flops; slots and out once"},
      {"reduction", "sum_fp8_slots", "out [R,C] = sum of fp8 slots [n R,C] times inverse scales [1,n], in slot order",
       "2 n R C flops; slots and out once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
