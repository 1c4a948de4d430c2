// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impl/plan/schema/schema.hpp"

namespace underlap::plan {

/// The request for one key.
struct Setting {
  enum class State { absent, given, invalid };
  State state = State::absent;
  Value value;  ///< of a given setting; never null
  Place place;
  std::string_view spelling;   ///< the path under which it was written
  const Node* node = nullptr;  ///< the value as written, with places inside it; it lives as long as the document
  bool is_null = false;        ///< null was written, so no value is given
};

/// The requests of one cell: one setting for every row of the schema.
class Settings {
 public:
  Settings() : settings_(rows().size()) {}

  const Setting& operator[](std::size_t row) const { return settings_[row]; }
  /// By the row's name; an unknown name is an internal error and throws std::logic_error.
  const Setting& operator[](std::string_view path) const;

  bool given(std::string_view path) const { return (*this)[path].state == Setting::State::given; }
  bool invalid(std::string_view path) const { return (*this)[path].state == Setting::State::invalid; }
  bool flag(std::string_view path, bool otherwise) const;
  std::int64_t integer(std::string_view path, std::int64_t otherwise) const;
  std::string text(std::string_view path, std::string_view otherwise) const;

  /// Replaces everything that was written for the row.
  void put(std::size_t row, Setting setting);
  /// Adds a copy to those written for the row in other places; settle() decides which copy counts.
  void add(std::size_t row, Setting setting);
  /// The copies written for the row, in the order of the file; empty if put() replaced them.
  const std::vector<Setting>& copies(std::size_t row) const;

  /// Selects one copy of each setting as Megatron-Bridge's update does: schema/precedence.cpp. Call it again after
  /// put(), because a setting can decide which copies of others count.
  void settle();

  /// The copies that Megatron-Bridge overwrites, by row.
  std::vector<std::pair<std::size_t, Setting>> overwritten;
  /// Whether a CommOverlapConfig, or a MixedPrecisionConfig, exists in addition to copies of its fields in other
  /// sections.
  bool has_comm_overlap = false;
  bool has_mixed_precision = false;
  /// use_distributed_optimizer of the section ddp when CommOverlapConfig reads it; the optimizer's value is merged
  /// later.
  bool distributed_in_ddp() const;

  /// Messages from reading that are not errors.
  std::vector<std::pair<Place, std::string>> notices;
  /// The place to report for a missing setting: the model section, or the top of the file.
  Place model_place;
  /// A dump of Megatron-Bridge's container, or arguments with their defaults filled in: most of the values are defaults
  /// that the user did not request.
  bool is_dump = false;
  /// The reason why none of CommOverlapConfig's rules runs; empty if they do.
  std::string without_overlap_rules;

  /// Equal for equal requests, regardless of where they were written.
  std::string fingerprint() const;

 private:
  std::vector<Setting> settings_;
  std::map<std::size_t, std::vector<Setting>> copies_;
};

/// Reads `node`, written under `path`, as `row` demands; invalid values are added to `problems`.
Setting read_setting(std::size_t row, std::string_view path, Place place, const Node& node, Problems& problems);

/// The row's index; throws std::logic_error if there is no row of that name.
std::size_t row_index(std::string_view path);

/// Reads all settings below `node`, whose path is `prefix` with its dot, into `settings`. Unknown, misplaced or
/// contradictory settings are added to `problems`. Skips `_target_`, which Megatron-Bridge's dumps contain, and at the
/// top `matrix` and `x-...`, which may contain anchors.
void read_section(Settings& settings, const std::string& prefix, const Node& node, Problems& problems);

/// Whether Megatron-Bridge has both places and decides which one counts, so that a setting may be written in both.
bool bridge_decides(std::string_view spelling, std::string_view other);

/// Reads a whole configuration, or a dump of Megatron-Bridge.
Settings read_settings(const Node& root, Problems& problems);

/// Overrides `settings` with `value`, written under `spelling` at `place`; an invalid value is added to `problems`. A
/// setting that has settings beneath it is replaced together with them, and takes a mapping of them.
void override_setting(Settings& settings, std::string_view spelling, Place place, const Node& value,
                      Problems& problems);

}  // namespace underlap::plan
