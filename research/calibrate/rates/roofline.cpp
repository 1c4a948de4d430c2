// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/rates/roofline.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace underlap::bench {
namespace {

benchmark::Counter per_iteration_rate(double value) {
  return {value, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000};
}

}  // namespace

Bound bound_of(const Cost& cost, const Roofline& roofline) {
  const double copying = static_cast<double>(cost.bytes_read + cost.bytes_written) / roofline.copy_bytes;
  const double multiplying = roofline.gemm_flops > 0 ? cost.flops / roofline.gemm_flops : 0;
  return multiplying > copying ? Bound{multiplying, false} : Bound{copying, true};
}

void report(benchmark::State& state, const Cost& cost, const Roofline& roofline) {
  const Bound bound = bound_of(cost, roofline);
  state.counters["bytes/s"] = per_iteration_rate(static_cast<double>(cost.bytes_read + cost.bytes_written));
  state.counters["flops/s"] = per_iteration_rate(cost.flops);
  state.counters["roofline_share"] = per_iteration_rate(bound.seconds);
  state.SetLabel(bound.is_by_copy ? fmt::format("bound: copy, {:.4g} GB/s", roofline.copy_bytes * 1e-9)
                                  : fmt::format("bound: bf16 GEMM, {:.4g} TFLOP/s", roofline.gemm_flops * 1e-12));
}

void report(benchmark::State& state, const Transfer& transfer, std::int32_t group_size) {
  state.counters["algbw"] = per_iteration_rate(static_cast<double>(message_bytes(transfer)));
  state.counters["busbw"] = per_iteration_rate(static_cast<double>(bytes_on_wire(transfer, group_size)));
}

}  // namespace underlap::bench
