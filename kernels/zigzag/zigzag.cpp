// SPDX-License-Identifier: Apache-2.0
#include "kernels/zigzag/zigzag.hpp"

#include <array>
#include <cstring>

#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"
#include "kernels/zigzag/zigzag_parameters.hpp"

namespace underlap::kernels {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

void copy_row(const BoundView& x, std::int64_t from, const BoundView& out, std::int64_t to) {
  const std::int64_t size = size_of(x.dtype);
  std::memcpy(out.data + to * out.leading_dimension * size, x.data + from * x.leading_dimension * size,
              static_cast<std::size_t>(x.cols * size));
}

void to_sequence_cpu(const Arguments& views) {
  const auto order = views.parameters<ZigzagParameters>();
  const auto rows = static_cast<std::uint32_t>(views[1].rows);
  for (std::uint32_t r = 0; r < rows; ++r) copy_row(views[0], order.in_rank_order(r), views[1], r);
}

void to_rank_cpu(const Arguments& views) {
  const auto order = views.parameters<ZigzagParameters>();
  const auto rows = static_cast<std::uint32_t>(views[1].rows);
  for (std::uint32_t r = 0; r < rows; ++r) copy_row(views[0], r, views[1], order.in_rank_order(r));
}

Operation make(const char* kName, CpuImplementation cpu, const View& x, const View& out, std::int64_t sequences,
               std::int64_t ranks) {
  require(kName, sequences > 0, "sequences", static_cast<double>(sequences), "positive");
  require(kName, ranks > 0, "ranks", static_cast<double>(ranks), "positive");
  require_multiple(kName, "rows", x.rows, "2 * ranks * sequences =", 2 * ranks * sequences);
  require(kName, x.rows < kMostRows, "rows", static_cast<double>(x.rows), "less than 2^31");
  const ZigzagParameters order{.sequences = static_cast<std::uint32_t>(sequences),
                               .ranks = static_cast<std::uint32_t>(ranks),
                               .chunk = static_cast<std::uint32_t>(x.rows / (2 * ranks * sequences))};
  return make_operation(intern(kName), cpu, {},
                        {{x, Access::in, {"x", x.rows, x.cols, {x.tensor.dtype}}},
                         {out, Access::out, {"out", x.rows, x.cols, {x.tensor.dtype}}}})
      .with_parameters(order);
}

}  // namespace

Operation to_sequence_order(const View& x, const View& out, std::int64_t sequences, std::int64_t ranks) {
  return make("to_sequence_order", to_sequence_cpu, x, out, sequences, ranks);
}

Operation to_rank_order(const View& x, const View& out, std::int64_t sequences, std::int64_t ranks) {
  return make("to_rank_order", to_rank_cpu, x, out, sequences, ranks);
}

std::span<const KernelInfo> list_zigzag() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"zigzag", "to_sequence_order", "out [n S,C] = rows [c][n][2][S/2c] of zigzag ranks, as sequences",
       "no flops; x and out once"},
      {"zigzag", "to_rank_order", "out [c][n][2][S/2c] rows = x [n S,C], as zigzag ranks hold them",
       "no flops; x and out once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
