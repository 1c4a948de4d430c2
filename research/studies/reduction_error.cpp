// SPDX-License-Identifier: Apache-2.0
#include "research/studies/reduction_error.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "impl/device/reduce.hpp"
#include "kernels/bf16.hpp"
#include "profiler/trace/enum_names.hpp"
#include "research/studies/study_parser.hpp"

namespace underlap::bench {
namespace {

constexpr EnumNames<ReductionMethod, 3> kMethods{{"bf16_wire_bf16_sum", "bf16_wire_fp32_sum", "fp32"}};
constexpr std::int64_t kBlockElements = 4096;
constexpr std::int32_t kLargestGroup = 4096;

// Normal deviates that are the same on every machine up to its logarithm and cosine; std::normal_distribution is not.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : state_(seed) {}

  double operator()() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  // SplitMix64: Steele, Lea, Flood 2014. Returns [0, 1).
  double uniform() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// Sums over the elements seen so far, of one group size and method.
struct ErrorSums {
  double error_squared = 0;
  double error_times_exact = 0;
  double exact_squared = 0;

  void add(double reduced, double exact) {
    const double error = reduced - exact;
    error_squared += error * error;
    error_times_exact += error * exact;
    exact_squared += exact * exact;
  }
};

// Some elements' gradients on every rank of the largest group, in both types of the wire.
struct GradientBlock {
  std::vector<std::vector<float>> fp32;
  std::vector<std::vector<bf16>> wire;
};

GradientBlock draw_block(const ReductionErrorStudy& study, std::int32_t ranks, std::int64_t n, Normal& normal) {
  GradientBlock block;
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> scale(size), signal(size);
  for (double& s : scale) s = study.scale_median * std::exp(study.scale_log_sigma * normal());
  for (double& s : signal) s = normal();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    auto& fp32 = block.fp32.emplace_back(size);
    auto& wire = block.wire.emplace_back(size);
    for (std::size_t i = 0; i < size; ++i) {
      fp32[i] = static_cast<float>(scale[i] * (signal[i] + study.noise_to_signal * normal()));
      wire[i] = bf16(fp32[i]);
    }
  }
  return block;
}

template <class T>
std::vector<T> averaged(const std::vector<std::vector<T>>& gradients, std::int32_t group, const Reduction& reduction) {
  std::vector<const std::byte*> sources;
  for (std::int32_t rank = 0; rank < group; ++rank)
    sources.push_back(reinterpret_cast<const std::byte*>(gradients[static_cast<std::size_t>(rank)].data()));
  std::vector<T> out(gradients.front().size());
  reduce_in_rank_order(sources, reduction, static_cast<std::int64_t>(out.size()),
                       reinterpret_cast<std::byte*>(out.data()));
  return out;
}

std::vector<double> exact_average(const GradientBlock& block, std::int32_t group) {
  std::vector<double> sum(block.fp32.front().size());
  for (std::int32_t rank = 0; rank < group; ++rank)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += block.fp32[static_cast<std::size_t>(rank)][i];
  for (double& s : sum) s /= group;
  return sum;
}

template <class T>
void add_errors(const std::vector<T>& reduced, const std::vector<double>& exact, ErrorSums& sums) {
  for (std::size_t i = 0; i < exact.size(); ++i)
    sums.add(static_cast<double>(static_cast<float>(reduced[i])), exact[i]);
}

using MethodSums = std::array<ErrorSums, kMethods.names.size()>;

void add_block(const GradientBlock& block, std::int32_t group, MethodSums& sums) {
  const auto exact = exact_average(block, group);
  const auto reduction = [](DataType dtype, Accumulator accumulator) {
    return Reduction{dtype, accumulator, ReduceOp::average};
  };
  add_errors(averaged(block.wire, group, reduction(DataType::bf16, Accumulator::wire)), exact, sums[0]);
  add_errors(averaged(block.wire, group, reduction(DataType::bf16, Accumulator::fp32)), exact, sums[1]);
  add_errors(averaged(block.fp32, group, reduction(DataType::f32, Accumulator::fp32)), exact, sums[2]);
}

// Error sums by group size, in the study's order.
std::vector<MethodSums> run_seed(const ReductionErrorStudy& study, std::uint64_t seed) {
  Normal normal(seed);
  const std::int32_t ranks = *std::ranges::max_element(study.group_sizes);
  std::vector<MethodSums> sums(study.group_sizes.size());
  for (std::int64_t begin = 0; begin < study.elements; begin += kBlockElements) {
    const auto block = draw_block(study, ranks, std::min(kBlockElements, study.elements - begin), normal);
    for (std::size_t g = 0; g < sums.size(); ++g) add_block(block, study.group_sizes[g], sums[g]);
  }
  return sums;
}

void check(const ReductionErrorStudy& study) {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument("reduction error study: " + what);
  };
  require(!study.group_sizes.empty(), "group_sizes is empty");
  for (const std::int32_t size : study.group_sizes)
    require(size >= 1 && size <= kLargestGroup, fmt::format("group size {} is outside 1 to {}", size, kLargestGroup));
  require(study.elements >= 1, fmt::format("elements is {}, must be at least 1", study.elements));
  require(!study.seeds.empty(), "seeds is empty");
  require(study.noise_to_signal >= 0, fmt::format("noise_to_signal is {}, must be 0 or more", study.noise_to_signal));
  require(study.scale_median > 0, fmt::format("scale_median is {}, must be above 0", study.scale_median));
  require(study.scale_log_sigma >= 0, fmt::format("scale_log_sigma is {}, must be 0 or more", study.scale_log_sigma));
}

ReductionErrorRow row_of(std::int32_t group_size, std::size_t method, const std::vector<ErrorSums>& seeds) {
  std::vector<double> errors, biases;
  for (const ErrorSums& sums : seeds) {
    errors.push_back(std::sqrt(sums.error_squared / sums.exact_squared));
    biases.push_back(sums.error_times_exact / sums.exact_squared);
  }
  const auto [low, high] = std::ranges::minmax_element(errors);
  return {
      group_size, static_cast<ReductionMethod>(method), report::median(errors), {*low, *high}, report::median(biases)};
}

constexpr const char* kReductionErrorName = "dp_reduction_error";

// group_sizes: [2, 4, 8], elements: 65536, seeds: [1, 2, 3], gradient: {noise_to_signal: 4, scale_median: 1.0e-4, ...}
void read_reduction_error(StudyParser& parser, const YAML::Node& root, ReductionErrorStudy& study) {
  const auto gradient = [&](const YAML::Node& node) {
    parser.map(node, {{"noise_to_signal", parser.value(study.noise_to_signal, 0.0, 1e6)},
                      {"scale_median", parser.value(study.scale_median, 1e-30, 1e30)},
                      {"scale_log_sigma", parser.value(study.scale_log_sigma, 0.0, 10.0)}});
  };
  parser.map(root, {{"study", parser.name(kReductionErrorName)},
                    {"group_sizes", parser.list(study.group_sizes, 1, 4096)},
                    {"elements", parser.value<std::int64_t>(study.elements, 1, 1LL << 30)},
                    {"seeds", parser.list<std::uint64_t>(study.seeds, 0, ~0ULL)},
                    {"gradient", gradient}});
}

}  // namespace

ReductionErrorStudy parse_reduction_error_study(const std::string& yaml, const std::string& where) {
  return parsed_study(yaml, where, ReductionErrorStudy{}, read_reduction_error);
}

std::string_view to_string(ReductionMethod method) { return kMethods[method]; }

std::vector<ReductionErrorRow> run_reduction_error(const ReductionErrorStudy& study) {
  check(study);
  std::vector<std::vector<MethodSums>> seeds;
  for (const std::uint64_t seed : study.seeds) seeds.push_back(run_seed(study, seed));
  std::vector<ReductionErrorRow> rows;
  for (std::size_t g = 0; g < study.group_sizes.size(); ++g)
    for (std::size_t method = 0; method < kMethods.names.size(); ++method) {
      std::vector<ErrorSums> of_seeds;
      for (const auto& sums : seeds) of_seeds.push_back(sums[g][method]);
      rows.push_back(row_of(study.group_sizes[g], method, of_seeds));
    }
  return rows;
}

}  // namespace underlap::bench
