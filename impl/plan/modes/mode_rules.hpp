// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impl/plan/config/model_config.hpp"
#include "impl/plan/config/parallel_config.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap::plan {

struct Config;

/// The data that the ranks of a group split: each has a part.
enum class Shared : std::uint8_t { weights, tables, heads, tokens };

/// Where a search puts a model.
struct SearchedMachine {
  std::int64_t gpus = 1;
  std::int64_t gpus_per_node = 1;
};

/// A size of a configuration that cuts the model or its batch.
struct SizeField {
  std::string_view knob;                          ///< "model.tensor_model_parallel_size"
  std::string_view letters;                       ///< "TP", the title of its column
  std::int32_t ParallelConfig::*field = nullptr;  ///< nullptr: an entry of ParallelConfig::further
  /// Whether a search should try `size` for a model whose earlier sizes are in `parallel`. nullptr: it is not searched.
  bool (*is_worth_trying)(const ModelConfig& model, const ParallelConfig& parallel, std::int64_t size,
                          const SearchedMachine& machine) = nullptr;
  bool is_unset_at_1 = false;  ///< a size of 1 differs from none, so a search leaves the knob out instead
};

/// A knob and the values that a search tries, the usual one first. An empty value leaves the knob out.
struct SearchAxis {
  std::string knob;
  std::vector<std::string> values;
};

using IsOpen = std::function<bool(std::string_view knob)>;

/// A switch that hides communication by itself.
struct SearchSwitch {
  std::string_view name;
  bool (*is_on)(const Config& config) = nullptr;
  std::vector<std::pair<std::string, std::string>> off;  ///< knobs and values that switch it off
};

/// The properties of one kind of parallelism for a plan: how it numbers ranks, what its ranks split, and what a search
/// may choose. Code for all modes iterates over the records and names no mode.
struct ModeRules {
  Mode mode = Mode::none;
  std::string_view word;         ///< "tensor", as in "tensor (8) * pipeline (2)"
  std::vector<SizeField> sizes;  ///< the first is the number of ranks of a group
  /// Places of the mode's digit in a rank's number, of the ranks of dense layers and of those of experts. The lowest
  /// changes first from rank to rank. nullopt: no digit.
  std::optional<int> dense_digit = {}, expert_digit = {};
  bool has_part_groups = true;   ///< as RankDigit
  bool has_pair_groups = false;  ///< as RankDigit
  bool takes_the_rest = false;   ///< its size is what the other sizes leave of the ranks
  std::vector<Shared> shares = {};
  bool (*is_used)(const ParallelConfig& parallel) = nullptr;  ///< nullptr: where a group has several ranks
  /// The size as `plan` and `list` print it, after the number of ranks: " with sequence parallelism".
  std::string (*size_details)(const ParallelConfig& parallel) = nullptr;
  /// Knobs that follow from the sizes of a layout that a search chose for a model.
  std::vector<std::pair<std::string, std::string>> (*chosen_with)(const ModelConfig& model,
                                                                  const ParallelConfig& parallel) = nullptr;
  /// The mode's overlap knobs that matter in a layout. `is_open`: whether the search may choose a knob.
  std::vector<SearchAxis> (*axes)(const Config& layout, const IsOpen& is_open) = nullptr;
  std::vector<SearchSwitch> switches = {};

  bool is_in_use(const ParallelConfig& parallel) const {
    return is_used != nullptr ? is_used(parallel) : size(parallel) > 1;
  }
  /// Ranks of a group.
  std::int32_t size(const ParallelConfig& parallel) const;
};

/// All modes that cut a model, in the order in which a search tries their overlap knobs; registered ones follow.
std::span<const ModeRules> all_mode_rules();

/// Adds a mode before main() starts. Throws std::logic_error for a second record of a mode.
struct RegisterModeRules {
  explicit RegisterModeRules(ModeRules);
};

/// The rules of a mode; nullptr if it has none.
const ModeRules* find_mode_rules(Mode mode);

/// The modes that number the ranks of dense layers, the innermost first.
std::span<const ModeRules* const> dense_modes();

/// The value of a size field.
std::int32_t size_of(const ParallelConfig& parallel, const ModeRules& mode, const SizeField& field);
void set_size(ParallelConfig& parallel, const ModeRules& mode, const SizeField& field, std::int32_t size);

/// Ranks that have a part each.
std::int32_t ranks_sharing(Shared what, const ParallelConfig& parallel);

/// The size fields of all modes, the mode that takes the rest last.
using SizeOfMode = std::pair<const ModeRules*, const SizeField*>;
std::vector<SizeOfMode> all_sizes();

/// Those to show for some layouts: the ones with a field of their own, and any other that is above 1 in a layout.
std::vector<SizeOfMode> sizes_in(const std::vector<const ParallelConfig*>& layouts);

// The built-in modes.
ModeRules tensor_rules();
ModeRules data_rules();
ModeRules pipeline_rules();
ModeRules context_rules();
ModeRules expert_rules();

}  // namespace underlap::plan
