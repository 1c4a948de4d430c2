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

/// What this version does with a key.
enum class Status : std::uint8_t {
  honoured,  ///< `run` does it
  planned,   ///< the plan resolves it; `run` refuses the kind of parallelism that it belongs to
  known,     ///< the name is known; `run` refuses a value other than the fallback where it would matter
};

/// The kind of parallelism or precision without which a key has no effect. Up to cp, scopes have the numbers of Mode.
enum class Scope : std::uint8_t { always, dp, tp, pp, cp, fp8, moe, fsdp };

/// What a key decides of a step.
enum class Role : std::uint8_t {
  work,       ///< what is computed and sent, and on which machine: cells that differ in it do other work
  overlap,    ///< a switch: communication that is there anyway runs beside compute
  manner,     ///< how that is done
  floor,      ///< false: less runs beside compute than without any switch of overlap
  transfers,  ///< whether anything is sent at all
  aside,      ///< nothing: how a step is recorded, or other words for what another key says
};

struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open = false;  ///< `least` itself is excluded
};

/// The most ranks that the sizes of all kinds of parallelism may make together.
inline constexpr std::int64_t kMostRanks = 1'048'576;

/// How a key's value gets into Config and back out.
struct ConfigField {
  void (*store)(Config&, const Value&) = nullptr;
  Value (*read)(const Config&) = nullptr;
};

/// One key. Adding a knob costs one row in one of the files schema/knobs/NAME.yaml, and a line in config_fields.cpp
/// where a field of Config holds what was written.
struct Row {
  std::string_view path = {};       ///< dotted; the name in the plan
  std::string_view spellings = {};  ///< other paths of the same knob, between blanks
  Type type = Type::boolean;
  Status status = Status::honoured;
  Scope scope = Scope::always;
  Role role = Role::work;
  std::string_view backends = {};  ///< those that use it, between blanks; empty: all
  bool listed = false;             ///< in every plan, not only where the user wrote it
  std::string_view fallback =
      {};                       ///< what is in effect without a request, as a user writes it; empty: what `field` holds
  std::string_view rule = {};   ///< what decides without a request, in words
  std::string_view about = {};  ///< one line
  std::string_view lacks = {};  ///< what a plan leaves unsaid or says otherwise, at another value than the fallback
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

/// Every path that may be written.
const std::vector<std::string_view>& all_paths();

/// The paths that a person who wrote `path` may have meant, for an error message: "", or "; did you mean ...?".
std::string suggestion(std::string_view path);

/// Whether a run on `backend` does anything with the row's key.
bool is_used_by(const Row& row, Backend backend);

/// What may be written for `row`, in words: "a whole number from 1 to 32, or null".
std::string expectation(const Row& row);

/// The value that the row's `fallback` says.
const Value& fallback(std::size_t row);

/// Reads `node` as `row` demands; nothing and one problem where it does not fit.
std::optional<Value> read_value(const Row& row, const Node& node, Problems& problems);

}  // namespace underlap::plan
