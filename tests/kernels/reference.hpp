// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "tests/kernels/run_operation.hpp"

namespace underlap::test {

/// How far a result may lie from its reference: relative to the element, and to the root mean square of all.
struct Tolerance {
  double relative = 0;
  double of_rms = 0;
};

/// One rounding to bf16 is at most 2^-8 of the value; the rest is what fp32 sums lose.
inline constexpr Tolerance kBf16Rounded{.relative = 0.00393, .of_rms = 1e-5};
inline constexpr Tolerance kFp32{.relative = 1e-5, .of_rms = 1e-5};
/// For gradients that are formed from a tensor that was itself rounded to bf16.
inline constexpr Tolerance kBf16Input{.relative = 0.00393, .of_rms = 0.02};

inline double rms(const Matrix& m) {
  double sum = 0;
  for (const double value : m.values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(m.values.size()));
}

inline void expect_close(const Matrix& actual, const Matrix& expected, const Tolerance& tolerance) {
  ASSERT_EQ(actual.values.size(), expected.values.size());
  constexpr double kNoise = 1e-9;  // of finite differences, where the derivative is zero
  const double floor = tolerance.of_rms * rms(expected) + kNoise;
  for (std::int64_t r = 0; r < expected.rows; ++r) {
    for (std::int64_t c = 0; c < expected.cols; ++c) {
      ASSERT_NEAR(actual(r, c), expected(r, c), tolerance.relative * std::abs(expected(r, c)) + floor)
          << "at row " << r << ", column " << c;
    }
  }
}

/// The sum of a * b, element by element: with b the gradient of an output, the scalar whose gradient backward
/// implementations.
inline double inner_product(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

/// The gradient of the scalar f at x by central differences.
template <class F>
Matrix finite_differences(Matrix x, F f) {
  constexpr double kStep = 1e-5;
  Matrix gradient(x.rows, x.cols);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double at = x.values[i];
    x.values[i] = at + kStep;
    const double above = f(x);
    x.values[i] = at - kStep;
    const double below = f(x);
    x.values[i] = at;
    gradient.values[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

inline Matrix plus(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

/// `row` added to each row of `a`.
inline Matrix plus_row(const Matrix& a, const Matrix& row) {
  return matrix_of(a.rows, a.cols, [&](std::int64_t r, std::int64_t c) { return a(r, c) + row(0, c); });
}

inline Matrix times(Matrix a, double factor) {
  for (double& value : a.values) value *= factor;
  return a;
}

}  // namespace underlap::test
