// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduction/reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/reduction/reduction_parameters.hpp"
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

void sum_of_squares_form(const Arguments& views) {
  const BoundView& x = views[0];
  float* const out = views[1].as<float>();
  double total = 0;
  with_float_type(x.dtype, [&]<class T>(T*) {
    for (std::int64_t r = 0; r < x.rows; ++r) total += row_sum_of_squares(x.row<const T>(r), x.cols);
  });
  *out = static_cast<float>(static_cast<double>(*out) + total);
}

void clip_factor_form(const Arguments& views) {
  const auto sum_of_squares = static_cast<double>(*views[0].as<float>());
  const double max_norm = views.parameters<ReductionParameters>().value;
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

void sum_slots_form(const Arguments& views) {
  const BoundView &slots = views[0], &out = views[1];
  const auto factor = static_cast<float>(views.parameters<ReductionParameters>().value);
  Scratch scratch;
  float* const total = scratch.take(kColumns);
  for (std::int64_t first = 0; first < slots.cols; first += kColumns) {
    const std::int64_t columns = std::min(kColumns, slots.cols - first);
    with_float_type(slots.dtype, [&]<class T>(T*) { sum_columns<T>(slots, first, columns, total); });
    with_float_type(out.dtype, [&]<class T>(T*) { store_scaled(total, columns, factor, out.as<T>() + first); });
  }
}

}  // namespace

Operation sum_of_squares(const View& x, const View& out) {
  constexpr auto kName = "sum_of_squares";
  require(kName, x, {"x", x.rows, x.cols, {DataType::f32, DataType::bf16}});
  require(kName, out, {"out", 1, 1, {DataType::f32}});
  static const NameId name = intern(kName);
  return Operation(name, sum_of_squares_form,
                   {.flops = 2 * static_cast<double>(x.elements()),
                    .bytes_read = x.bytes() + out.bytes(),
                    .bytes_written = out.bytes()},
                   {{x, Access::in}, {out, Access::inout}});
}

Operation clip_factor(const View& sum_of_squares, const View& factor, double max_norm) {
  constexpr auto kName = "clip_factor";
  require(kName, sum_of_squares, {"sum_of_squares", 1, 1, {DataType::f32}});
  require(kName, factor, {"factor", 1, 1, {DataType::f32}});
  require(kName, max_norm >= 0, "max_norm", max_norm, "at least 0");
  static const NameId name = intern(kName);
  return Operation(name, clip_factor_form,
                   {.flops = 4, .bytes_read = sum_of_squares.bytes(), .bytes_written = factor.bytes()},
                   {{sum_of_squares, Access::in}, {factor, Access::out}})
      .with_parameters(ReductionParameters{max_norm});
}

Operation sum_slots(const View& slots, const View& out, double factor) {
  constexpr auto kName = "sum_slots";
  require(kName, slots, {"slots", slots.rows, slots.cols, {DataType::f32, DataType::bf16}});
  require(kName, out, {"out", 1, slots.cols, {DataType::f32, DataType::bf16}});
  static const NameId name = intern(kName);
  return Operation(name, sum_slots_form,
                   {.flops = static_cast<double>(slots.elements() + out.elements()),
                    .bytes_read = slots.bytes(),
                    .bytes_written = out.bytes()},
                   {{slots, Access::in}, {out, Access::out}})
      .with_parameters(ReductionParameters{factor});
}

std::span<const KernelInfo> list_reduction() {
  static constexpr std::array<KernelInfo, 3> kernels{{
      {"reduction", "sum_of_squares", "out [1,1] += sum of x [R,C] squared", "2 R C flops; x once"},
      {"reduction", "clip_factor", "factor [1,1] = min(1, max_norm / norm)", "4 flops; 8 bytes"},
      {"reduction", "sum_slots", "out [e] = factor * sum of slots [n,e] in slot order",
       "(n + 1) e flops; slots and out once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
