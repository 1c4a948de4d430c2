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

/// The word CONFIG of a command: a file, or the name of a shipped matrix, of which `config` becomes the file.
void add_config(CLI::App& command, std::string& config);

/// Where runs go that nobody named a folder for.
inline constexpr const char* kRunsFolder = "results/runs";
/// A folder of its own there, named after the configuration and the time.
std::string default_folder(const std::string& config);

/// Reads the matrix of `file`, which may be a pipe that the process was given. Throws as plan::read_config() does, and
/// std::invalid_argument for the file of a study, naming the command that runs it.
plan::Matrix read_matrix(const std::string& file, const std::vector<plan::Override>& overrides = {});

/// The plans of a matrix as JSON: one plan for a single cell, else an object with `cells`: name and plan of each.
/// Errors of the file as a whole stand in the plans.
std::string plans_json(const plan::Matrix& matrix);

/// What is wrong as JSON, schema underlap.errors/1: `errors`, each once, with `where`, `message` and `hint`.
std::string errors_json(const std::vector<plan::Message>& errors);

/// Prints a matrix's errors on stderr, one line each.
void print_errors(const plan::Matrix& matrix);

/// What the matrix plans and neither this version nor this machine runs, each thing once and not for each cell.
std::vector<plan::Message> all_not_run(const plan::Matrix& matrix);

/// Tells why nothing is run: errors, and where there are none what is not run. On stderr a line each, or with `json` on
/// stdout as errors_json(). Returns whether there is any.
bool refuse(const plan::Matrix& matrix, bool json = false);

/// Gives a command the flag --flops, which says how tables count FLOPs.
void add_flops(CLI::App& command, std::string& flops);
/// What it says. Throws std::invalid_argument for anything else than a convention.
plan::FlopConvention convention_of(const std::string& flops);

/// Tells on stderr which cells of a matrix are not run, and why.
void tell_refused(const std::vector<report::RefusedCell>& refused);

/// The exit code of `command`, which reads `file`. With `json`, std::invalid_argument that it throws is printed on
/// stdout as errors_json(), and the code is that of bad input.
int with_errors_as(bool json, const std::string& file, const std::function<int()>& command);

}  // namespace underlap::bench
