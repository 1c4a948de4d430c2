// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include "research/studies/reduction_error.hpp"
#include "research/studies/study_parser.hpp"

namespace underlap::bench {
namespace {

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

}  // namespace underlap::bench
