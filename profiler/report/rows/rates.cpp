// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/rows/rates.hpp"

namespace underlap::report {

std::optional<StepRates> rates_of(const StepWork& work, std::int32_t num_ranks, double step_s,
                                  const std::string& convention) {
  constexpr double kFlopsPerTflop = 1e12;
  const auto flops = work.flops.find(convention);
  if (flops == work.flops.end() || num_ranks < 1 || !(step_s > 0)) return std::nullopt;
  StepRates rates{.tokens_per_s = static_cast<double>(work.tokens) / step_s,
                  .tflops_per_gpu = flops->second / step_s / num_ranks / kFlopsPerTflop,
                  .mfu = {}};
  if (work.peak_tflops > 0) rates.mfu = rates.tflops_per_gpu / work.peak_tflops;
  return rates;
}

std::string convention_words(const std::string& convention) {
  const std::string attention =
      convention.starts_with("causal") ? "the causal half of attention" : "the full attention matrix";
  return attention + (convention.ends_with("+recompute") ? ", including recomputation" : ", without recomputation");
}

}  // namespace underlap::report
