// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/config.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::plan {
namespace {

/// How the layers of a model are split over the stages and chunks of a pipeline.
class LayerSplit {
 public:
  LayerSplit(std::int64_t layers, std::int64_t stages, std::int64_t chunks)
      : layers_(layers), stages_(stages), chunks_(chunks), ranges_(stages * chunks) {}

  bool is_even() const { return layers_ % ranges_ == 0; }
  /// With the loss, or the embedding and the loss, counted as a layer.
  bool is_even_with_loss() const { return stages_ > 1 && (layers_ + 1) % ranges_ == 0; }
  bool is_even_with_both() const { return stages_ > 1 && (layers_ + 2) % ranges_ == 0; }
  bool divides() const { return is_even() || is_even_with_loss() || is_even_with_both(); }
  /// Stages wait for the one with the most layers.
  bool is_balanced() const {
    constexpr double kLeastShare = 0.9;
    return layers_ >= ranges_ &&
           static_cast<double>(layers_) >= kLeastShare * static_cast<double>(stages_ * layers_of_busiest());
  }

  std::vector<std::pair<std::string, std::string>> knobs() const {
    const std::string first = "model.num_layers_in_first_pipeline_stage",
                      last = "model.num_layers_in_last_pipeline_stage";
    if (is_even()) return {};
    if (is_even_with_both())
      return {{"model.account_for_embedding_in_pipeline_split", "true"},
              {"model.account_for_loss_in_pipeline_split", "true"}};
    if (is_even_with_loss()) return {{"model.account_for_loss_in_pipeline_split", "true"}};
    const std::int64_t at_ends = layers_ - (stages_ - 2) * layers_of_busiest();
    if (chunks_ == 1 && at_ends >= 2)
      return {{first, std::to_string((at_ends + 1) / 2)}, {last, std::to_string(at_ends / 2)}};
    return {{"model.pipeline_model_parallel_layout", layout()}};
  }

 private:
  std::int64_t layers_of_busiest() const { return (layers_ + stages_ - 1) / stages_; }

  /// "Et*3|t*4|...|t*3L": ranges with one layer less are spread over the stages, the last and the first stage first.
  std::string layout() const {
    const std::int64_t most = (layers_ + ranges_ - 1) / ranges_;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranges_), most);
    for (std::int64_t i = 0; i < ranges_ * most - layers_; ++i) {
      const std::int64_t round = i / stages_, turn = i % stages_,
                         stage = turn == 1 ? 0 : stages_ - std::max<std::int64_t>(turn, 1);
      const std::int64_t chunk = stage == 0 ? round : chunks_ - 1 - round;
      --counts[static_cast<std::size_t>(chunk * stages_ + stage)];
    }
    std::string text = "E";
    for (std::size_t range = 0; range < counts.size(); ++range)
      text += fmt::format("{}t*{}", range == 0 ? "" : "|", counts[range]);
    return "\"" + text + "L\"";
  }

  std::int64_t layers_, stages_, chunks_, ranges_;
};

bool stages_are_worth_trying(const ModelConfig& model, const ParallelConfig& /*parallel*/, std::int64_t size,
                             const SearchedMachine& /*machine*/) {
  const LayerSplit split(model.num_layers, size, 1);
  return split.divides() || split.is_balanced();
}

bool some_chunks_divide(std::int64_t layers, std::int64_t stages) {
  for (std::int64_t chunks = 2; chunks <= layers / stages + 1; ++chunks)
    if (LayerSplit(layers, stages, chunks).divides()) return true;
  return false;
}

bool chunks_are_worth_trying(const ModelConfig& model, const ParallelConfig& parallel, std::int64_t size,
                             const SearchedMachine& /*machine*/) {
  const std::int64_t stages = parallel.pipeline_model_parallel_size;
  if (size == 1) return true;
  const LayerSplit split(model.num_layers, stages, size);
  return stages > 1 && (split.divides() || (split.is_balanced() && !some_chunks_divide(model.num_layers, stages)));
}

std::vector<std::pair<std::string, std::string>> split_of_layers(const ModelConfig& model, const ParallelConfig& p) {
  return LayerSplit(model.num_layers, p.pipeline_model_parallel_size, p.virtual_pipeline_model_parallel_size).knobs();
}

std::string size_details(const ParallelConfig& p) {
  if (p.virtual_pipeline_model_parallel_size > 1)
    return fmt::format(" of {} chunks", p.virtual_pipeline_model_parallel_size);
  return p.is_interleaved() ? " of one chunk, interleaved" : "";
}

std::vector<SearchAxis> pipeline_axes(const Config& layout, const IsOpen& /*is_open*/) {
  const std::int64_t stages = layout.parallel.pipeline_model_parallel_size;
  std::vector<SearchAxis> axes{{"comm_overlap.overlap_p2p_comm", {"", "false"}},
                               {"comm_overlap.batch_p2p_comm", {"", "true", "false"}}};
  if (layout.parallel.virtual_pipeline_model_parallel_size == 1) return axes;
  axes.push_back({"model.overlap_p2p_comm_warmup_flush", {"", "true"}});
  axes.push_back(
      {"model.microbatch_group_size_per_vp_stage", {"", std::to_string(stages + 1), std::to_string(2 * stages)}});
  return axes;
}

}  // namespace

ModeRules pipeline_rules() {
  return {.mode = Mode::pp,
          .word = "pipeline",
          .sizes = {{.knob = "model.pipeline_model_parallel_size",
                     .letters = "PP",
                     .field = &ParallelConfig::pipeline_model_parallel_size,
                     .is_worth_trying = stages_are_worth_trying},
                    {.knob = "model.virtual_pipeline_model_parallel_size",
                     .letters = "VP",
                     .field = &ParallelConfig::virtual_pipeline_model_parallel_size,
                     .is_worth_trying = chunks_are_worth_trying,
                     .is_unset_at_1 = true}},
          .dense_digit = 9,
          .expert_digit = 9,
          .has_pair_groups = true,
          .size_details = size_details,
          .chosen_with = split_of_layers,
          .axes = pipeline_axes,
          .switches = {{"overlap_p2p_comm",
                        [](const Config& c) { return c.pipeline.overlap_p2p_comm; },
                        {{"comm_overlap.overlap_p2p_comm", "false"}, {"model.overlap_p2p_comm_warmup_flush", ""}}}}};
}

}  // namespace underlap::plan
