// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/plan/plan.hpp"
#include "platform/yaml_document.hpp"

namespace underlap::plan {

using yaml::Document, yaml::Entry, yaml::Node, yaml::Place, yaml::Problems;
using yaml::in_quotes, yaml::split_words;

enum class Type : std::uint8_t { boolean, integer, number, text, any };

/// This version's support for a key.
enum class Status : std::uint8_t {
  honoured,  ///< `run` implements it
  planned,   ///< the plan resolves it; `run` refuses the kind of parallelism that it belongs to
  known,     ///< the name is known; `run` refuses values other than the fallback if they would have an effect
};

/// The kind of parallelism or precision that a key needs to have an effect. Up to cp, scopes have the numbers of Mode.
enum class Scope : std::uint8_t { always, dp, tp, pp, cp, fp8, moe, fsdp };

/// The aspect of a step that a key affects.
enum class Role : std::uint8_t {
  work,       ///< the computed and sent data, and the machine: cells that differ in it do other work
  overlap,    ///< a switch: communication that is needed in any case runs during compute
  manner,     ///< how the overlap is done
  floor,      ///< false: less runs during compute than without any overlap switch
  transfers,  ///< whether anything is sent at all
  aside,      ///< nothing: how a step is recorded, or another spelling of a key
};

struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open = false;  ///< `least` itself is excluded
};

/// The maximum product of the sizes of all kinds of parallelism, in ranks.
inline constexpr std::int64_t kMostRanks = 1'048'576;

/// Reads and writes a key's value in Config.
struct ConfigField {
  void (*store)(Config&, const Value&) = nullptr;
  Value (*read)(const Config&) = nullptr;
};

/// A key, and the field of Config that holds its value.
struct KeyField {
  std::string_view key;
  ConfigField field;
};

/// All keys that set one field as it is written; the others are left to the rules.
std::span<const KeyField> key_fields();

/// One key. Adding a key needs one row in one of the files schema/knobs/NAME.yaml, and a line in config_fields.cpp if a
/// field of Config holds the written value.
struct Row {
  std::string_view path = {};       ///< dotted; the name in the plan
  std::string_view spellings = {};  ///< other paths of the same knob, between blanks
  Type type = Type::boolean;
  Status status = Status::honoured;
  Scope scope = Scope::always;
  Role role = Role::work;
  std::string_view backends = {};  ///< backends that use it, between blanks; empty: all
  bool listed = false;             ///< in every plan, not only where the user wrote it
  std::string_view fallback =
      {};                       ///< what is in effect without a request, as a user writes it; empty: what `field` holds
  std::string_view rule = {};   ///< the rule that decides without a request, as text
  std::string_view about = {};  ///< one line
  std::string_view lacks = {};  ///< how the plan is incomplete or wrong at values other than the fallback
  ConfigField field = {};
  Range range = {};
  std::string_view choices = {};  ///< for text: what is allowed, between blanks; empty: anything. For a boolean: the
                                  ///< words allowed besides true and false
  std::vector<std::string_view> (*registered)() = nullptr;  ///< for text: what is allowed, known once all is linked
};

/// All keys, section by section.
std::span<const Row> rows();

/// The row that `path` names, by its name or another spelling.
std::optional<std::size_t> find_row(std::string_view path);

/// Whether some key's path begins with `path` and a dot.
bool is_section(std::string_view path);

/// Every valid path.
const std::vector<std::string_view>& all_paths();

/// Suggestions for an unknown `path`, for an error message: "", or "; did you mean ...?".
std::string suggestion(std::string_view path);

/// Whether a run on `backend` uses the row's key.
bool is_used_by(const Row& row, Backend backend);

/// The allowed values of `row`, as text: "a whole number from 1 to 32, or null".
std::string expectation(const Row& row);

/// The value of the row's `fallback`.
const Value& fallback(std::size_t row);

/// Reads `node` as `row` demands; returns nothing and adds one problem if it is invalid.
std::optional<Value> read_value(const Row& row, const Node& node, Problems& problems);

}  // namespace underlap::plan
