// SPDX-License-Identifier: Apache-2.0
//
// A head is two runs of R/2 features that lie R/2 apart, so a loop over one of them takes whole vectors of both.
#include "kernels/rope/rope.hpp"

#include <array>
#include <cmath>

#include "kernels/registry.hpp"
#include "kernels/rope/rope_parameters.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

void table_cpu(const Arguments& views) {
  const BoundView& table = views[0];
  const auto parameters = views.parameters<RopeTableParameters>();
  const std::int64_t pairs = table.cols / 2;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double frequency = std::pow(parameters.base, -2.0 * static_cast<double>(i) / static_cast<double>(table.cols));
    for (std::int64_t r = 0; r < table.rows; ++r) {
      const double angle = static_cast<double>(parameters.first_position + r) * frequency;
      table.row<float>(r)[i] = static_cast<float>(std::cos(angle));
      table.row<float>(r)[pairs + i] = static_cast<float>(std::sin(angle));
    }
  }
}

void rotate_cpu(const Arguments& views) {
  const BoundView &x = views[0], &table = views[1];
  const auto [head_size, sign] = views.parameters<RopeParameters>();
  const std::int64_t pairs = table.cols / 2;
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const float* const cosines = table.row<float>(t % table.rows);
    const float* const sines = cosines + pairs;
    bf16* const row = x.row<bf16>(t);
    for (bf16* head = row; head < row + x.cols; head += head_size)
      for (std::int64_t i = 0; i < pairs; ++i) {
        const auto a = static_cast<float>(head[i]), b = static_cast<float>(head[pairs + i]);
        const float sine = sign * sines[i];
        head[i] = bf16(a * cosines[i] - b * sine);
        head[pairs + i] = bf16(b * cosines[i] + a * sine);
      }
  }
}

Operation rotate(const char* operation, NameId name, const View& x, const View& table, std::int64_t head_size,
                 float sign) {
  require_multiple(operation, "columns of x", x.cols, "head_size", head_size);
  require_multiple(operation, "rows of x", x.rows, "rows of the table", table.rows);
  require(operation, table.is_dense(), "table's leading dimension", static_cast<double>(table.leading_dimension),
          "dense");
  require(operation, table.cols % 2 == 0 && table.cols <= head_size, "columns of the table",
          static_cast<double>(table.cols), "even and at most head_size");
  const std::int64_t turned = x.rows * (x.cols / head_size) * table.cols;
  const std::int64_t bytes = turned * size_of(DataType::bf16);
  return make_operation(
             name, rotate_cpu,
             {.flops = 3 * static_cast<double>(turned), .bytes_read = bytes + table.bytes(), .bytes_written = bytes},
             {{x, Access::inout, {"x", x.rows, x.cols, {DataType::bf16}}},
              {table, Access::in, {"table", table.rows, table.cols, {DataType::f32}}}})
      .with_parameters(RopeParameters{head_size, sign});
}

}  // namespace

Operation rope_table(const View& table, std::int64_t first_position, double base) {
  constexpr auto kName = "rope_table";
  require(kName, table.cols % 2 == 0, "columns of the table", static_cast<double>(table.cols), "even");
  require(kName, first_position >= 0, "first_position", static_cast<double>(first_position), "at least 0");
  require(kName, base > 0, "base", base, "above 0");
  static const NameId name = intern(kName);
  return make_operation(name, table_cpu, {.flops = static_cast<double>(table.elements())},
                        {{table, Access::out, {"table", table.rows, table.cols, {DataType::f32}}}})
      .with_parameters(RopeTableParameters{first_position, base});
}

Operation rope_forward(const View& x, const View& table, std::int64_t head_size) {
  static const NameId name = intern("rope_forward");
  return rotate("rope_forward", name, x, table, head_size, 1);
}

Operation rope_backward(const View& dx, const View& table, std::int64_t head_size) {
  static const NameId name = intern("rope_backward");
  return rotate("rope_backward", name, dx, table, head_size, -1);
}

std::span<const KernelInfo> list_rope() {
  static constexpr std::array<KernelInfo, 3> kernels{{
      {"rope", "rope_table", "table [P,R] = cos | sin of positions times frequencies", "4 P R bytes"},
      {"rope", "rope_forward", "rotates R features of each head of x [T,AD] in place",
       "3 T A R flops; 4 T A R bytes and the table"},
      {"rope", "rope_backward", "the same with negated angles", "3 T A R flops; 4 T A R bytes and the table"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
