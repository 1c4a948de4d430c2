// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "impl/device/sim/hardware.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Values of knobs by dotted path, as YAML writes them; "" leaves a knob to the automatic rule.
using Choices = std::map<std::string, std::string>;

/// "model.sequence_parallel=true train.micro_batch_size=1": equal for equal choices.
std::string text_of(const Choices& choices);

/// Arguments of a search.
struct TuneRequest {
  plan::Source model;                       ///< MODEL.yaml; its overrides are those of the command line
  std::int64_t num_gpus = 0;                ///< total over all ranks
  std::optional<std::int64_t> batch;        ///< sequences per step; nullopt: the file's value, else two per GPU
  std::optional<std::int64_t> limit_bytes;  ///< of predicted memory per GPU; nullopt: sim::plannable_memory_bytes()
  bool around = false;  ///< the file's layout and overlap are the start of the search instead of fixed
  /// Whether cells that change what is computed may win: those without transfers, and those of another model, precision
  /// or optimizer than the file's first cell.
  bool all_cells = false;
};

/// A model, a machine and a batch, for which the layout and the overlap settings are searched in virtual time. Settings
/// in the file or on the command line are fixed; all others are searched. In a file with a matrix each cell is such a
/// model, and the best is found over all cells, except those that change what is computed (TuneRequest::all_cells).
class TuneJob {
 public:
  /// Throws std::invalid_argument with every error of the file, or if its cells do not share its batch.
  explicit TuneJob(const TuneRequest& request);

  /// The plan of one set of choices, with its errors.
  plan::Plan plan(const Choices& choices) const;
  /// Whether the search may choose a value for `knob`.
  bool is_open(std::string_view knob) const { return !kept_.contains(knob); }
  /// Names of the cells of the file's matrix, each with its model without any choice.
  const std::map<std::string, plan::Config>& cells() const { return cells_; }
  /// Start of the search: the file's settings, if the job searches around them; else empty.
  const Choices& start() const { return start_; }

  /// The same job with another number of GPUs, and the same batch.
  TuneJob with_gpus(std::int64_t num_gpus) const;

  std::int64_t num_gpus() const { return num_gpus_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t limit_bytes() const { return limit_bytes_; }
  std::int64_t gpus_per_node() const { return gpus_per_node_; }
  /// The machine of a plan of this job.
  const sim::Hardware& hardware_of(const plan::Config& config) const;
  /// The name of its description, and a text for people that includes run.speed.
  const std::string& hardware() const { return hardware_; }
  const std::string& machine() const { return machine_; }
  double speed() const { return cells_.begin()->second.run.speed; }
  /// Assumptions, as sentences.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The same for the same request, on any machine.
  std::string fingerprint() const;

 private:
  void read_cells(const TuneRequest& request);
  void set_batch(const std::optional<std::int64_t>& batch);

  plan::Source model_;
  std::int64_t num_gpus_ = 0, batch_ = 0, limit_bytes_ = 0, gpus_per_node_ = 0;
  std::string hardware_;
  std::string machine_;
  std::set<std::string, std::less<>> kept_;
  std::map<std::string, plan::Config> cells_;
  std::map<std::string, sim::Hardware> machines_;  // of the cells, by sim::hardware_words(), each read once
  Choices start_;
  std::map<std::string, std::string> input_hashes_;  // of named files: a hardware description may change
  std::vector<std::string> notes_;
};

}  // namespace underlap::bench
