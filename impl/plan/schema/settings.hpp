// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impl/plan/schema/schema.hpp"

namespace underlap::plan {

/// What was requested for one key.
struct Setting {
  enum class State { absent, given, invalid };
  State state = State::absent;
  Value value;  ///< of a given setting; never null
  Place place;
  std::string_view spelling;   ///< the path under which it was written
  const Node* node = nullptr;  ///< the value as written, with places inside it; lives as long as the document
  bool is_null = false;        ///< null was written, and so nothing is given
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

  /// In place of all that was written for the row.
  void put(std::size_t row, Setting setting);
  /// Beside what was written for the row in other places; settle() says which of them counts.
  void add(std::size_t row, Setting setting);
  /// What was written for the row, in the order of the file; empty where put() replaced it.
  const std::vector<Setting>& copies(std::size_t row) const;

  /// Chooses among the copies of each knob as Megatron-Bridge's update does: schema/precedence.cpp. Again after put():
  /// a knob can decide which copies of others count.
  void settle();

  /// The copies that Megatron-Bridge writes over, by row.
  std::vector<std::pair<std::size_t, Setting>> overwritten;
  /// Whether a CommOverlapConfig, or a MixedPrecisionConfig, stands beside the copies of its fields in other sections.
  bool has_comm_overlap = false;
  bool has_mixed_precision = false;
  /// use_distributed_optimizer as the section ddp has it when CommOverlapConfig looks; the optimizer's joins later.
  bool distributed_in_ddp() const;

  /// What reading found worth saying that is no error.
  std::vector<std::pair<Place, std::string>> notices;
  /// Where to point for something that is missing: where the section stands, or the top of the file.
  Place model_place;
  /// A dump of Megatron-Bridge's container, or arguments with their defaults filled in: most of the values are defaults
  /// that nobody asked for.
  bool is_dump = false;
  /// Why none of CommOverlapConfig's rules runs; empty: they do.
  std::string without_overlap_rules;

  /// Equal for equal requests, wherever they were written.
  std::string fingerprint() const;

 private:
  std::vector<Setting> settings_;
  std::map<std::size_t, std::vector<Setting>> copies_;
};

/// Reads `node`, written under `path`, as `row` demands; a value that does not fit goes to `problems`.
Setting read_setting(std::size_t row, std::string_view path, Place place, const Node& node, Problems& problems);

/// The row's index; throws std::logic_error where no row has that name.
std::size_t row_index(std::string_view path);

/// Reads all below `node`, whose path is `prefix` with its dot, into `settings`; what is unknown, misplaced or
/// contradictory is added to `problems`. Skips `_target_`, which Megatron-Bridge's dumps hold, and at the top `matrix`
/// and `x-...`, which may hold anchors.
void read_section(Settings& settings, const std::string& prefix, const Node& node, Problems& problems);

/// Whether Megatron-Bridge has both places and decides which of them counts, so that a knob may stand in both.
bool bridge_decides(std::string_view spelling, std::string_view other);

/// Reads a whole configuration, or a dump of Megatron-Bridge.
Settings read_settings(const Node& root, Problems& problems);

/// Lays `value`, written under `spelling` at `place`, over `settings`; a value that does not fit goes to `problems`.
/// A knob with settings beneath it is replaced with all of them, and takes a mapping of them.
void override_setting(Settings& settings, std::string_view spelling, Place place, const Node& value,
                      Problems& problems);

}  // namespace underlap::plan
