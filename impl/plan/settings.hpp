// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "impl/plan/schema.hpp"

namespace underlap::plan {

/// What was requested for one key.
struct Setting {
  enum class State { absent, given, invalid };
  State state = State::absent;
  Value value;  ///< of a given setting; never null
  Place place;
  std::string_view spelling;  ///< the path under which it was written
};

/// The requests of one cell: one setting for every row of the schema.
class Settings {
 public:
  Settings() : settings_(rows().size()) {}

  const Setting& operator[](std::size_t row) const { return settings_[row]; }
  /// By the row's name; a name that no row has is our own bug and throws std::logic_error.
  const Setting& operator[](std::string_view path) const;

  bool given(std::string_view path) const { return (*this)[path].state == Setting::State::given; }
  bool invalid(std::string_view path) const { return (*this)[path].state == Setting::State::invalid; }
  bool flag(std::string_view path, bool otherwise) const;
  std::int64_t integer(std::string_view path, std::int64_t otherwise) const;
  std::string text(std::string_view path, std::string_view otherwise) const;

  void put(std::size_t row, Setting setting) { settings_[row] = std::move(setting); }

  /// Where to point for something that is missing: where the section stands, or the top of the file.
  Place model_place;
  /// A dump of Megatron-Bridge's container without a CommOverlapConfig: none of its rules runs.
  bool without_overlap_rules = false;

  /// Equal for equal requests, wherever they were written.
  std::string fingerprint() const;

 private:
  std::vector<Setting> settings_;
};

/// The row's index; throws std::logic_error where no row has that name.
std::size_t row_index(std::string_view path);

/// Reads every section of `root` but `matrix`; what is unknown, misplaced or contradictory is added to `problems`.
/// Skips `_target_`, which Megatron-Bridge's dumps hold, and at the top `x-...`, which may hold anchors.
Settings read_settings(const Node& root, Problems& problems);

/// Lays `value`, written under `spelling` at `place`, over `settings`; a value that does not fit goes to `problems`.
void override_setting(Settings& settings, std::string_view spelling, Place place, const Node& value,
                      Problems& problems);

}  // namespace underlap::plan
