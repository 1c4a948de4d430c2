// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/schema/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "impl/plan/schema/foreign_configs.hpp"

namespace underlap::plan {
namespace {

/// Variables of an environment are text, and flags among them 0 and 1.
Node as_variable(const Node& node, Type type) {
  Node plain = node;
  plain.is_quoted = false;
  if (type == Type::boolean && (node.text == "0" || node.text == "1")) plain.text = node.text == "1" ? "true" : "false";
  return plain;
}

/// The table's own copy of `path`, which outlives the document.
std::string_view table_spelling(std::string_view path, std::size_t row) {
  if (rows()[row].path == path) return rows()[row].path;
  for (const std::string_view spelling : split_words(rows()[row].spellings))
    if (spelling == path) return spelling;
  throw std::logic_error("unknown spelling of a setting");
}

/// Whether the setting is part of another one, and null there removes the other's value for it.
bool is_part(std::string_view path) {
  const std::string_view whole = path.substr(0, path.rfind('.'));
  const auto row = find_row(whole);
  return row && rows()[*row].path == whole && whole != path;
}

class Reader {
 public:
  Reader(Settings& settings, Problems& problems) : settings_(settings), problems_(problems) {}

  void read_section(const std::string& prefix, const Node& section) {
    for (const Entry& entry : section.entries) {
      if (entry.key == "_target_" || (prefix.empty() && is_set_aside(entry.key))) continue;
      read_entry(prefix + entry.key, entry);
    }
  }

 private:
  /// Read elsewhere, or there only to hold anchors.
  static bool is_set_aside(std::string_view key) { return key == "matrix" || key.starts_with("x-"); }

  /// ddp: {overlap_grad_reduce: true} is the setting ddp.overlap_grad_reduce.
  void read_entry(const std::string& path, const Entry& entry) {
    const bool section = is_section(path);
    const auto row = find_row(path);
    if (section && entry.value->kind == Node::Kind::mapping)
      read_section(path + ".", *entry.value);
    else if (row)
      read_knob(*row, path, entry);
    else if (section && entry.value->kind != Node::Kind::null)
      problems_.add(entry.value->place,
                    fmt::format("{} must be a mapping of settings, not {}", path, describe(*entry.value)));
    else if (!section)
      problems_.add(entry.place,
                    fmt::format("unknown key {}{}", in_quotes(path), problems_.is_full() ? "" : suggestion(path)));
  }

  void read_knob(std::size_t row, std::string_view path, const Entry& entry) {
    Setting setting = read_setting(row, path, entry.place, *entry.value, problems_);
    for (const Setting& before : settings_.copies(row))
      if (before.state == setting.state && setting.state != Setting::State::absent && before.value != setting.value &&
          !bridge_decides(before.spelling, setting.spelling))
        problems_.add(entry.place, fmt::format("{} is {}, but the same knob is {} as {} at {}; keep one of them", path,
                                               to_json_text(setting.value), to_json_text(before.value), before.spelling,
                                               problems_.text(before.place)));
    settings_.add(row, std::move(setting));
  }

  Settings& settings_;
  Problems& problems_;
};

/// A knob with settings beneath it is written as a whole or by them; Megatron's two sections could hold both.
void check_whole_or_parts(const Settings& settings, Problems& problems) {
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const std::string_view path = rows()[i].path;
    if (!is_part(path) || (settings[i].state == Setting::State::absent && !settings[i].is_null)) continue;
    const Setting& part = settings[i];
    const Setting& whole = settings[path.substr(0, path.rfind('.'))];
    if (whole.state != Setting::State::given || whole.node->kind == Node::Kind::mapping) continue;
    const auto [first, second] = std::minmax({part.place, whole.place});
    problems.add(second, fmt::format("{} is {} at {}, and {} is set at {}; keep one of them, or override a part with "
                                     "--set or in a set of the matrix",
                                     whole.spelling, to_json_text(whole.value), problems.text(whole.place),
                                     part.spelling, problems.text(part.place)));
  }
}

}  // namespace

std::size_t row_index(std::string_view path) {
  if (const auto row = find_row(path)) return *row;
  throw std::logic_error("no row named " + std::string(path));
}

const Setting& Settings::operator[](std::string_view path) const { return settings_[row_index(path)]; }

bool Settings::flag(std::string_view path, bool otherwise) const {
  return given(path) ? std::get<bool>((*this)[path].value) : otherwise;
}

std::int64_t Settings::integer(std::string_view path, std::int64_t otherwise) const {
  return given(path) ? std::get<std::int64_t>((*this)[path].value) : otherwise;
}

std::string Settings::text(std::string_view path, std::string_view otherwise) const {
  return given(path) ? std::get<std::string>((*this)[path].value) : std::string(otherwise);
}

std::string Settings::fingerprint() const {
  std::string text;
  for (std::size_t i = 0; i < settings_.size(); ++i)
    if (settings_[i].state != Setting::State::absent || (settings_[i].is_null && is_part(rows()[i].path)))
      text += fmt::format("{}={}\n", i, to_json_text(settings_[i].value));
  return text;
}

Setting read_setting(std::size_t row, std::string_view path, Place place, const Node& node, Problems& problems) {
  const std::string_view spelling = table_spelling(path, row);
  const bool is_variable = path.starts_with("env_vars.") && node.kind == Node::Kind::scalar;
  const auto value = read_value(rows()[row], is_variable ? as_variable(node, rows()[row].type) : node, problems);
  if (!value) return {Setting::State::invalid, {}, place, spelling, &node};
  const bool is_null = std::holds_alternative<std::monostate>(*value);
  return {is_null ? Setting::State::absent : Setting::State::given, *value, place, spelling, &node, is_null};
}

void read_section(Settings& settings, const std::string& prefix, const Node& node, Problems& problems) {
  Reader(settings, problems).read_section(prefix, node);
}

Settings read_settings(const Node& root, Problems& problems) {
  Settings settings;
  const auto has = [&](std::string_view section) {
    return std::ranges::any_of(root.entries, [&](const Entry& entry) {
      return entry.key.starts_with(fmt::format("{}.", section)) ||
             (entry.key == section && entry.value->kind != Node::Kind::null);
    });
  };
  settings.has_comm_overlap = has("comm_overlap");
  settings.has_mixed_precision = has("mixed_precision");
  if (is_bridge_dump(root))
    read_bridge_dump(settings, root, problems);
  else
    read_section(settings, "", root, problems);
  settings.settle();
  if (!settings.is_dump) check_whole_or_parts(settings, problems);
  if (const Entry* model = find_entry(root, "model")) settings.model_place = model->place;
  return settings;
}

void override_setting(Settings& settings, std::string_view spelling, Place place, const Node& value,
                      Problems& problems) {
  const std::size_t row = row_index(spelling);
  const std::string beneath = fmt::format("{}.", rows()[row].path);
  for (std::size_t i = 0; i < rows().size(); ++i)
    if (rows()[i].path.starts_with(beneath)) settings.put(i, {});
  if (value.kind == Node::Kind::mapping && is_section(rows()[row].path)) {
    settings.put(row, {});
    read_section(settings, fmt::format("{}.", spelling), value, problems);
    return settings.settle();
  }
  settings.put(row, read_setting(row, spelling, place, value, problems));
}

}  // namespace underlap::plan
