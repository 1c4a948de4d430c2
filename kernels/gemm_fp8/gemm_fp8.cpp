// SPDX-License-Identifier: Apache-2.0
//
// Checks of an fp8 product are those of a GPU, on the CPU too, so that a plan that runs here runs there: both operands
// with their rows along k, k in whole accesses of 16 bytes, one of them f8e4m3. The product is run_gemm's
// (kernels/gemm).
#include "kernels/gemm_fp8/gemm_fp8.hpp"

#include <array>
#include <span>
#include <stdexcept>

#include "kernels/gemm_fp8/gemm_fp8_parameters.hpp"
#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"

namespace underlap::kernels {
namespace {

constexpr auto kName = "gemm_fp8";

void gemm_fp8_cpu(const Arguments& views) { run_gemm(fp8_call(views)); }

void check(const Fp8Product& p) {
  const View &a = p.a, &b = p.b;
  const auto require_place = [](const char* offset, const View& scale) {
    require(kName, scale.offset % kScaleStride == 0, offset, static_cast<double>(scale.offset), "a multiple of 4");
  };
  require_place("a_inverse_scale's offset", p.a_inverse_scale);
  require_place("b_inverse_scale's offset", p.b_inverse_scale);
  require(kName, !(p.bias.tensor.id != 0 && p.accumulate), "accumulate", 1, "off with a bias");
  require(kName, a.cols % 16 == 0, "K", static_cast<double>(a.cols), "a multiple of 16");
  require(kName, a.rows % 8 == 0, "M", static_cast<double>(a.rows), "a multiple of 8");
  require(kName, b.rows % 8 == 0, "N", static_cast<double>(b.rows), "a multiple of 8");
  require(kName, p.sm_margin >= 0, "sm_margin", p.sm_margin, "at least 0");
  if (a.tensor.dtype == DataType::f8e5m2 && b.tensor.dtype == DataType::f8e5m2)
    throw std::invalid_argument("gemm_fp8: a and b are both f8e5m2, one of them must be f8e4m3");
}

Cost cost_of(const Fp8Product& p) {
  const std::int64_t m = p.a.rows, n = p.b.rows, k = p.a.cols;
  return {.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
          .bytes_read = p.a.bytes() + p.b.bytes() + p.bias.bytes() + (p.accumulate ? p.c.bytes() : 0),
          .bytes_written = p.c.bytes(),
          .sm_margin = p.sm_margin,
          .work = Work::gemm,
          .extent = {m, n, k},
          .precision = Precision::fp8};
}

}  // namespace

Operation gemm_fp8(const Fp8Product& p) {
  check(p);
  static const NameId name = intern(kName);
  return make_operation(name, gemm_fp8_cpu, cost_of(p),
                        {{p.a, Access::in, {"a", p.a.rows, p.a.cols, {DataType::f8e4m3, DataType::f8e5m2}}},
                         {p.a_inverse_scale, Access::in, {"a_inverse_scale", 1, 1, {DataType::f32}}},
                         {p.b, Access::in, {"b", p.b.rows, p.a.cols, {DataType::f8e4m3, DataType::f8e5m2}}},
                         {p.b_inverse_scale, Access::in, {"b_inverse_scale", 1, 1, {DataType::f32}}},
                         {p.c,
                          p.accumulate ? Access::inout : Access::out,
                          {"c", p.a.rows, p.b.rows, {DataType::bf16, DataType::f32}}},
                         {p.bias, Access::in, {"bias", 1, p.b.rows, {DataType::bf16}}, true}})
      .with_parameters(Fp8ProductParameters{p.accumulate, p.use_split_accumulator});
}

std::span<const KernelInfo> list_gemm_fp8() {
  static constexpr std::array<KernelInfo, 1> kernels{{
      {"gemm_fp8", "gemm_fp8", "c [M,N] (+)= a [M,K] b [N,K]^T of fp8, times both inverse scales",
       "2 M N K flops; MK + NK bytes and c, twice if accumulating"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
