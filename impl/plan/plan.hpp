// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "impl/plan/config.hpp"
#include "impl/plan/value.hpp"
#include "platform/problems.hpp"

namespace underlap::plan {

/// One setting as reported by `underlap plan`.
struct Knob {
  std::string name;
  Value requested;  ///< null: decided by the automatic rule
  Value effective;
  std::string source;  ///< user, auto or gate
  std::string reason;
  std::string where = {};  ///< the place of the request, e.g. "config.yaml:3:5"; empty: not requested
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
  std::string reason;
  std::string knob = {};  ///< the key whose value to change; empty: no such key
};

using yaml::Message;

/// Predicted bytes on the rank with the largest need, from shapes alone. Formulas: impl/plan/memory/memory.cpp.
struct PeakMemory {
  std::int64_t parameters = 0;     ///< bf16, and the copies in fewer bits for products
  std::int64_t gradients = 0;      ///< bf16 or fp32, not sharded unless by Megatron-FSDP
  std::int64_t optimizer = 0;      ///< fp32 main parameters and two Adam moments, sharded
  std::int64_t activations = 0;    ///< estimate: the inputs of backward passes for the microbatches in flight, and the
                                   ///< logits
  std::int64_t userbuffers = 0;    ///< static buffers of the tensor-parallel slots
  std::int64_t exchange = 0;       ///< sent and received data of pipeline stages and context-parallel ranks
  std::int64_t workspaces = 0;     ///< of GEMMs and attention
  std::int64_t communicators = 0;  ///< memory of NCCL; unverified
  std::int64_t context = 0;        ///< memory of CUDA; unverified

  /// The rank's own allocations, on any backend.
  std::int64_t of_tensors() const { return parameters + gradients + optimizer + activations + userbuffers + exchange; }
  /// With the memory of a GPU's libraries.
  std::int64_t total() const { return of_tensors() + workspaces + communicators + context; }
};

/// The data-parallel buckets of one model chunk on one pipeline stage.
struct ChunkBuckets {
  std::int32_t stage = 0;
  std::int32_t chunk = 0;
  std::vector<std::int64_t> elements;  ///< of each bucket, padding included; bucket 0 is the end of the chunk
};

/// One configuration, resolved.
struct Plan {
  Config config;
  PeakMemory peak_memory;
  std::vector<ChunkBuckets> buckets;  ///< empty if there are errors
  std::vector<Knob> knobs;
  std::vector<EnvironmentVariable> environment;
  std::vector<Message> errors;          ///< of the whole file, and this cell's own
  std::vector<Message> exposed;         ///< settings that expose communication
  std::vector<Message> contradictions;  ///< requests that contradict each other, and the one that counts
  std::vector<Message> notices;
  std::vector<Message> not_run;  ///< why this version or machine cannot run it; `run` refuses the cell if there are any
};

/// The setting of that name; nullptr if the plan does not list one, because it was not requested.
inline const Knob* find_knob(const Plan& plan, std::string_view name) {
  for (const Knob& knob : plan.knobs)
    if (knob.name == name) return &knob;
  return nullptr;
}

/// One cell of a matrix: the axis values that distinguish it, and its plan.
struct Cell {
  std::string name;  ///< e.g. "grad_reduce=on param_gather=off"; unique in the matrix
  std::vector<std::pair<std::string, std::string>> values;  ///< axis -> value, in the order of the axes
  Plan plan;
};

/// `path = value` as YAML text, e.g. {"run.link_gbps", "4"}. It overrides the file, and the matrix's axes override it.
using Override = std::pair<std::string, std::string>;

/// The path of an override that selects cells instead of a setting: its value is the name of a cell. The matrix keeps
/// only the cells that such overrides name.
inline constexpr const char* kOneCell = "matrix.cell";

/// The input of a matrix. Reading it again gives the same matrix, in any process.
struct Source {
  std::string yaml;
  std::string where;
  std::vector<Override> overrides;
};

/// A configuration file with its matrix expanded. Without `matrix:`, or if the matrix is unreadable, there is one cell,
/// named "cell".
struct Matrix {
  std::vector<Cell> cells;
  std::vector<Message> errors;  ///< of the whole file and of every cell, each once
  Source source = {};
  bool has_errors() const { return !errors.empty(); }
};

/// Reads and resolves `file`. Does not throw for errors in the file's contents: all of them are in the result. Throws
/// std::invalid_argument naming the file if it is unreadable.
Matrix load(const std::filesystem::path& file, const std::vector<Override>& overrides = {});

/// The text of a configuration file, or its first MiB plus one byte, which is more than parse() accepts. Throws as
/// read_input_file() does.
std::string read_config(const std::filesystem::path& file);

/// Reads and resolves YAML text as load() does; `where` is the file's name in messages.
Matrix parse(const std::string& yaml, const std::string& where, const std::vector<Override>& overrides = {});

/// Names of the model presets, sorted.
std::vector<std::string> preset_names();

/// The plan as JSON text, schema underlap.plan/1.
std::string to_json(const Plan& plan);

/// The documentation of a setting: its allowed values, its default, and whether `run` implements it.
struct KnobInfo {
  std::string name;                    ///< dotted path
  std::vector<std::string> spellings;  ///< other paths of the same knob
  std::string type;                    ///< "true or false", "a whole number of at least 1", ...
  std::vector<std::string> words;      ///< the allowed words, if there is a finite list
  std::string default_rule;
  std::string about;
  std::string status;  ///< honoured: `run` implements it; planned: the plan resolves it; known: by name only
  std::vector<std::string> backends = {};  ///< backends that use it; empty: all
};

/// Every key that a configuration may hold, section by section.
std::vector<KnobInfo> known_knobs();

}  // namespace underlap::plan
