// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "impl/plan/config.hpp"

namespace underlap::plan {

/// One knob as `underlap plan` reports it. `requested` and `effective` are JSON text: true, 134217728, null, "wire".
struct Knob {
  std::string name;
  std::string requested;  ///< null: left to the automatic rule
  std::string effective;
  std::string source;  ///< user, auto or gate
  std::string reason;
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
  std::string reason;
};

/// An error or a notice with the place it comes from: "config.yaml:3:5", or the name of a command-line flag.
struct Message {
  std::string where;
  std::string message;
};

/// One configuration, resolved.
struct Plan {
  Config config;
  std::vector<Knob> knobs;
  std::vector<EnvironmentVariable> environment;
  std::vector<Message> errors;
  std::vector<Message> notices;
};

/// One cell of a matrix: the axis values that set it apart, and its plan.
struct Cell {
  std::string name;  ///< e.g. "grad_reduce=on param_gather=off"; unique in the matrix
  std::vector<std::pair<std::string, std::string>> values;  ///< axis -> value, in the order of the axes
  Plan plan;
};

/// A configuration file with its matrix multiplied out. Without `matrix:` there is one cell, named "cell".
struct Matrix {
  std::vector<Cell> cells;
  std::vector<Message> errors;  ///< of the file as a whole and of every cell, each once
  bool has_errors() const { return !errors.empty(); }
};

/// `path = value` as YAML text, e.g. {"run.link_gbps", "4"}: stronger than the file, weaker than the matrix's axes.
using Override = std::pair<std::string, std::string>;

/// Reads and resolves `file`. Never throws for what the file says: every error is in the result, all at once.
/// Throws std::invalid_argument naming the file where it cannot be read.
Matrix load(const std::filesystem::path& file, const std::vector<Override>& overrides = {});

/// The same for YAML text; `where` stands for the file's name in messages.
Matrix parse(const std::string& yaml, const std::string& where, const std::vector<Override>& overrides = {});

/// Names of the model presets, sorted.
std::vector<std::string> preset_names();

/// The plan as JSON text, schema underlap.plan/1.
std::string to_json(const Plan& plan);

}  // namespace underlap::plan
