// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/tune/search.hpp"
#include "impl/plan/step_flops.hpp"
#include "platform/table.hpp"
#include "profiler/report/rows/rates.hpp"

namespace underlap::bench {

/// Rates of a step in virtual time.
report::StepRates rates_of(const plan::Config& config, std::int64_t step_ns, plan::FlopConvention convention);

/// What a terminal shows: the best configurations, what the knobs of the first are worth, what became of the others,
/// and how far the model was from published figures of such a machine.
std::string tune_text(const TuneJob& job, const SearchResult& result, plan::FlopConvention convention,
                      const TableFormat& format);

/// The same and more, schema underlap.tune/1.
std::string tune_json(const TuneJob& job, const SearchResult& result, plan::FlopConvention convention);
std::string tune_json_schema();

/// Writes each of the best as a configuration that plan, check and run take: 01.yaml and on, and best.yaml, the first
/// of them. Returns their names. Throws MachineError where the folder cannot be written.
std::vector<std::string> write_configs(const TuneJob& job, const SearchResult& result,
                                       const std::filesystem::path& folder);

}  // namespace underlap::bench
