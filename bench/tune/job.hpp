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

/// What is asked of a search.
struct TuneRequest {
  plan::Source model;                       ///< MODEL.yaml; its overrides are those of the command line
  std::int64_t num_gpus = 0;                ///< of all ranks together
  std::optional<std::int64_t> batch;        ///< sequences of a step; nullopt: what the file says, else two a GPU
  std::optional<std::int64_t> limit_bytes;  ///< of memory on a GPU; nullopt: all that it has
  bool around = false;  ///< what the file says of layout and overlap is where the search begins, and is not kept
  /// Whether cells that change what is computed may win: those without transfers, and those of another model, precision
  /// or optimizer than the file's first cell.
  bool all_cells = false;
};

/// A model, a machine and a batch, for which the layout and the overlap settings are searched in virtual time. What the
/// file or the command line says is kept; what they leave open is searched. Of a file with a matrix each cell is one
/// such model, and the best is found over all, but those that change what is computed (TuneRequest::all_cells).
class TuneJob {
 public:
  /// Throws std::invalid_argument with every error of the file, or where its batch is not shared by its cells.
  explicit TuneJob(const TuneRequest& request);

  /// The plan of one set of choices; what is wrong with them is in its errors.
  plan::Plan plan(const Choices& choices) const;
  /// Whether the search may choose a value for `knob`.
  bool is_open(std::string_view knob) const { return !kept_.contains(knob); }
  /// Names of the cells of the file's matrix, and of each the model as it is without any choice.
  const std::map<std::string, plan::Config>& cells() const { return cells_; }
  /// Where the search begins: what the file says, of a job around it; else nothing.
  const Choices& start() const { return start_; }

  std::int64_t num_gpus() const { return num_gpus_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t limit_bytes() const { return limit_bytes_; }
  std::int64_t gpus_per_node() const { return gpus_per_node_; }
  /// The machine of a plan of this job.
  const sim::Hardware& hardware_of(const plan::Config& config) const;
  /// The name of its description, and how people read that with run.speed.
  const std::string& hardware() const { return hardware_; }
  const std::string& machine() const { return machine_; }
  double speed() const { return cells_.begin()->second.run.speed; }
  /// What was assumed, in sentences.
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
  std::map<std::string, std::string> input_hashes_;  // of the files that it names: a description of hardware may change
  std::vector<std::string> notes_;
};

}  // namespace underlap::bench
