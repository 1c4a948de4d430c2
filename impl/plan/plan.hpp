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

/// One knob as `underlap plan` reports it.
struct Knob {
  std::string name;
  Value requested;  ///< null: left to the automatic rule
  Value effective;
  std::string source;  ///< user, auto or gate
  std::string reason;
  std::string where = {};  ///< the place of the request, e.g. "config.yaml:3:5"; empty: nobody asked
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
  std::string reason;
  std::string knob = {};  ///< the key that takes another value; empty: none does
};

using yaml::Message;

/// Predicted bytes on the rank that needs most, from shapes alone. Formulas: impl/plan/memory/memory.cpp.
struct PeakMemory {
  std::int64_t parameters = 0;     ///< bf16, and the copies that products in fewer bits read
  std::int64_t gradients = 0;      ///< bf16 or fp32, whole unless Megatron-FSDP deals them out
  std::int64_t optimizer = 0;      ///< fp32 main parameters and two Adam moments, sharded
  std::int64_t activations = 0;    ///< estimate: what backward needs of the microbatches in flight, and the logits
  std::int64_t userbuffers = 0;    ///< static buffers of the tensor-parallel slots
  std::int64_t exchange = 0;       ///< what pipeline stages and context-parallel ranks send and receive
  std::int64_t workspaces = 0;     ///< of GEMMs and attention
  std::int64_t communicators = 0;  ///< what NCCL holds; unverified
  std::int64_t context = 0;        ///< what CUDA holds; unverified

  /// What a rank itself allocates, wherever it runs.
  std::int64_t of_tensors() const { return parameters + gradients + optimizer + activations + userbuffers + exchange; }
  /// With what a GPU's libraries hold.
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
  std::vector<ChunkBuckets> buckets;  ///< empty where there are errors
  std::vector<Knob> knobs;
  std::vector<EnvironmentVariable> environment;
  std::vector<Message> errors;          ///< of the file as a whole, and this cell's own
  std::vector<Message> exposed;         ///< what costs exposure
  std::vector<Message> contradictions;  ///< requests that contradict each other, and which of them counts
  std::vector<Message> notices;
  std::vector<Message> not_run;  ///< planned, but not run by this version; `run` refuses where any stands here
};

/// The knob of that name; nullptr where the plan does not list one, since nobody asked for it.
inline const Knob* find_knob(const Plan& plan, std::string_view name) {
  for (const Knob& knob : plan.knobs)
    if (knob.name == name) return &knob;
  return nullptr;
}

/// One cell of a matrix: the axis values that set it apart, and its plan.
struct Cell {
  std::string name;  ///< e.g. "grad_reduce=on param_gather=off"; unique in the matrix
  std::vector<std::pair<std::string, std::string>> values;  ///< axis -> value, in the order of the axes
  Plan plan;
};

/// `path = value` as YAML text, e.g. {"run.link_gbps", "4"}: stronger than the file, weaker than the matrix's axes.
using Override = std::pair<std::string, std::string>;

/// The path of an override that is no setting: its value is the name of a cell. Of a matrix those are kept that such
/// overrides name.
inline constexpr const char* kOneCell = "matrix.cell";

/// What a matrix was read from. Reading it again gives the same matrix, in this process and in another.
struct Source {
  std::string yaml;
  std::string where;
  std::vector<Override> overrides;
};

/// A configuration file with its matrix multiplied out. Without `matrix:`, or where the matrix cannot be read, there is
/// one cell, named "cell".
struct Matrix {
  std::vector<Cell> cells;
  std::vector<Message> errors;  ///< of the file as a whole and of every cell, each once
  Source source = {};
  bool has_errors() const { return !errors.empty(); }
};

/// Reads and resolves `file`. Never throws for what the file says: every error is in the result, all at once.
/// Throws std::invalid_argument naming the file where it cannot be read.
Matrix load(const std::filesystem::path& file, const std::vector<Override>& overrides = {});

/// The text of a configuration file, or its first MiB and a byte: more than parse() takes. Throws as read_input_file()
/// does.
std::string read_config(const std::filesystem::path& file);

/// Reads and resolves YAML text as load() does; `where` stands for the file's name in messages.
Matrix parse(const std::string& yaml, const std::string& where, const std::vector<Override>& overrides = {});

/// Names of the model presets, sorted.
std::vector<std::string> preset_names();

/// The plan as JSON text, schema underlap.plan/1.
std::string to_json(const Plan& plan);

/// A knob as documentation: what may be written, what happens without it, and whether `run` does it.
struct KnobInfo {
  std::string name;                    ///< dotted path
  std::vector<std::string> spellings;  ///< other paths of the same knob
  std::string type;                    ///< "true or false", "a whole number of at least 1", ...
  std::vector<std::string> words;      ///< that may be written, where they can be counted
  std::string default_rule;
  std::string about;
  std::string status;  ///< honoured: `run` does it; planned: the plan resolves it; known: by name only
  std::vector<std::string> backends = {};  ///< of run, those that use it; empty: all
};

/// Every key that a configuration may hold, section by section.
std::vector<KnobInfo> known_knobs();

}  // namespace underlap::plan
