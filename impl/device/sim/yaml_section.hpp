// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/yaml_document.hpp"

namespace underlap::sim {

/// The allowed values of a number.
struct Range {
  double low = 0;
  double high = 1e15;
  bool above_low = false;  ///< low itself is refused
  bool whole = false;      ///< a whole number
};

inline constexpr Range kPositive{.low = 0, .above_low = true};
inline constexpr Range kNotNegative{};
/// Of GB/s, Tflop/s or GB, and of microseconds: a million times beyond any machine, and near enough that no time of an
/// operation overflows or vanishes.
inline constexpr Range kRate{.low = 1e-6, .high = 1e9};
inline constexpr Range kMicroseconds{.low = 0, .high = 1e9};
inline constexpr Range kCount{.low = 1, .high = 1e9, .whole = true};

/// A number in `range`; anything else is added to `problems`. `what` names it: "a bandwidth".
std::optional<double> read_number(const yaml::Node& node, std::string_view what, const Range& range,
                                  yaml::Problems& problems);

/// Text that is not empty; anything else is added to `problems`.
std::optional<std::string> read_text(const yaml::Node& node, std::string_view what, yaml::Problems& problems);

/// The items of a list that is not empty; anything else is added to `problems`, and gives no items.
std::vector<const yaml::Node*> read_list(const yaml::Node& node, std::string_view what, yaml::Problems& problems);

/// The keys of one mapping, read one by one; a key that is never read is an error.
class Section {
 public:
  /// Adds to `problems` where `node` is no mapping. `node` and `problems` outlive the section.
  Section(const yaml::Node& node, std::string_view what, yaml::Problems& problems);

  /// The value of a required key; null if it is missing, which is added to the problems.
  const yaml::Node* get(std::string_view key);

  /// The value of a key that may be absent.
  const yaml::Node* find(std::string_view key);

  /// Adds every key that was never read to the problems, with the nearest one that was.
  void finish() const;

 private:
  const yaml::Node& node_;
  std::string what_;
  yaml::Problems& problems_;
  std::vector<std::string_view> asked_;
};

}  // namespace underlap::sim
