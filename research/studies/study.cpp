// SPDX-License-Identifier: Apache-2.0
#include "research/studies/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "platform/suggestion.hpp"
#include "research/studies/claims/study.hpp"
#include "research/studies/collective_times.hpp"
#include "research/studies/gate_power.hpp"
#include "research/studies/gemm_times.hpp"
#include "research/studies/published/study.hpp"
#include "research/studies/reduction_error.hpp"

namespace underlap::bench {
namespace {

StudyOutput run_claims_study(const std::string& yaml, const std::string& where) {
  const ClaimsStudy study = parse_claims_study(yaml, where);
  const std::vector<ClaimResult> results = run_claims(study);
  return {.table = claims_table(results),
          .json_name = "claims.json",
          .json = claims_json(study, results),
          .report_name = "claims.md",
          .report = claims_markdown(study, results)};
}

StudyOutput run_published_study(const std::string& yaml, const std::string& where) {
  const PublishedStudy study = parse_published_study(yaml, where);
  const std::vector<ModelledTable> tables = run_published(study);
  return {
      .table = published_table(tables), .json = published_json(tables), .report = published_markdown(study, tables)};
}

StudyOutput run_collective_times_study(const std::string& yaml, const std::string& where) {
  const std::vector<CollectiveLog> logs = parse_collective_logs(yaml, where);
  const std::vector<CollectiveRow> rows = compare_collective_times(logs);
  return {.table = collective_times_table(rows),
          .json = collective_times_json(logs, rows),
          .report = collective_times_markdown(logs, rows)};
}

StudyOutput run_gemm_times_study(const std::string& yaml, const std::string& where) {
  const std::vector<GemmTable> tables = parse_gemm_tables(yaml, where);
  const std::vector<GemmRow> rows = compare_gemm_times(tables);
  return {.table = gemm_times_table(rows), .json = gemm_times_json(rows), .report = gemm_times_markdown(rows)};
}

StudyOutput run_reduction_error_study(const std::string& yaml, const std::string& where) {
  const ReductionErrorStudy study = parse_reduction_error_study(yaml, where);
  const std::vector<ReductionErrorRow> rows = run_reduction_error(study);
  return {.table = reduction_error_table(rows),
          .json = reduction_error_json(study, rows),
          .report = reduction_error_markdown(study, rows)};
}

StudyOutput run_gate_power_study(const std::string& yaml, const std::string& where) {
  const GatePowerStudy study = parse_gate_power_study(yaml, where);
  const std::vector<GatePowerRow> rows = run_gate_power(study);
  return {.table = gate_power_table(rows),
          .json = gate_power_json(study, rows),
          .report = gate_power_markdown(study, rows)};
}

constexpr std::array<Study, 6> kStudies{{
    {"overlap_claims", "claims of two documents about overlap, compared with simulation",
     "bench/matrices/claims.yaml -o results", run_claims_study},
    {"published_figures", "published step times and throughputs, compared with simulation",
     "bench/matrices/published.yaml -o results/published", run_published_study},
    {"collective_times", "published logs of nccl-tests, compared with simulated collective times",
     "results/collectives/logs.yaml -o results/collectives", run_collective_times_study},
    {"gemm_times", "published rates of single GEMMs, compared with simulated times",
     "results/gemms/tables.yaml -o results/gemms", run_gemm_times_study},
    {"dp_reduction_error", "error of gradients summed in bf16, relative to fp64",
     "bench/matrices/dp_reduction_error.yaml -o results/dp_reduction_error", run_reduction_error_study},
    {"gate_power", "how often the gate reports false regressions, and finds real ones",
     "bench/matrices/gate_power.yaml -o results/gate_power", run_gate_power_study},
}};

}  // namespace

std::span<const Study> all_studies() { return kStudies; }

const Study& study_named(const std::string& name) {
  const auto found = std::ranges::find_if(kStudies, [&](const Study& study) { return study.name == name; });
  if (found != kStudies.end()) return *found;
  std::vector<std::string> names;
  for (const Study& study : kStudies) names.emplace_back(study.name);
  throw std::invalid_argument(
      fmt::format("no study \"{}\"; available: {}{}", name, fmt::join(names, ", "), did_you_mean(name, names)));
}

}  // namespace underlap::bench
