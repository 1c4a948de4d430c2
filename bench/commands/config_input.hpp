// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"
#include "impl/plan/step_flops.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Adds the positional CONFIG to a command: a file, or the name of a shipped matrix, which is replaced by its file.
void add_config(CLI::App& command, std::string& config);

/// Parent of run folders that were not named.
inline constexpr const char* kRunsFolder = "results/runs";
/// A new folder in it, named after the configuration and the time.
std::string default_folder(const std::string& config);

/// Reads the matrix of `file`, which may be a pipe passed to the process. Throws as plan::read_config() does, and
/// std::invalid_argument for a study, naming the command that runs it.
plan::Matrix read_matrix(const std::string& file, const std::vector<plan::Override>& overrides = {});

/// The plans of a matrix as JSON: one plan for a single cell, else an object with `cells`: name and plan of each.
/// Errors of the file as a whole appear in the plans.
std::string plans_json(const plan::Matrix& matrix);

/// Prints a matrix's errors on stderr, one line each.
void print_errors(const plan::Matrix& matrix);

/// Prints why nothing is run: errors or, without errors, the settings that are not run. Prints one line each on stderr,
/// or with `json` errors_json() on stdout. Returns whether there are any.
bool refuse(const plan::Matrix& matrix, bool json = false);

/// Gives a command the flag --flops: how tables count FLOPs.
void add_flops(CLI::App& command, std::string& flops);
/// Parses its value. Throws std::invalid_argument for anything but a convention.
plan::FlopConvention convention_of(const std::string& flops);

/// Prints on stderr which cells of a matrix are not run, and why.
void warn_refused(const std::vector<report::RefusedCell>& refused);

/// The exit code of `command`, which reads `file`. With `json`, prints a std::invalid_argument that it throws on stdout
/// as errors_json() and returns the code of bad input.
int with_errors_as(bool json, const std::string& file, const std::function<int()>& command);

}  // namespace underlap::bench
