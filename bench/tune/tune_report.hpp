// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/tune/search.hpp"
#include "impl/plan/step_flops.hpp"
#include "platform/table.hpp"
#include "profiler/report/cell_summary.hpp"

namespace underlap::bench {

/// Rates of a step in virtual time.
report::StepRates rates_of(const plan::Config& config, std::int64_t step_ns, plan::FlopConvention convention);

/// Text for a terminal: the best configurations, the worth of the first one's knobs, counts of the other layouts, and
/// the model's error against published figures of such a machine.
std::string tune_text(const TuneJob& job, const SearchResult& result, plan::FlopConvention convention,
                      const TableFormat& format);

/// The same and more, schema underlap.tune/1.
std::string tune_json(const TuneJob& job, const SearchResult& result, plan::FlopConvention convention);
std::string tune_json_schema();

/// Writes each of the best as a configuration for plan, check and run: 01.yaml, 02.yaml, ..., and best.yaml, a copy of
/// the first. Returns their names. Throws MachineError if the folder cannot be written.
std::vector<std::string> write_configs(const TuneJob& job, const SearchResult& result,
                                       const std::filesystem::path& folder);

}  // namespace underlap::bench
