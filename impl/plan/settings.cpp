// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace underlap::plan {
namespace {

Setting make_setting(std::size_t row, std::string_view spelling, Place place, const Node& node, Problems& problems) {
  const auto value = read_value(rows()[row], node, problems);
  if (!value) return {Setting::State::invalid, {}, place, spelling};
  const bool is_null = std::holds_alternative<std::monostate>(*value);
  return {is_null ? Setting::State::absent : Setting::State::given, *value, place, spelling};
}

/// The table's own copy of `path`, which outlives the document.
std::string_view table_spelling(std::string_view path, std::size_t row) {
  if (rows()[row].path == path) return rows()[row].path;
  for (const std::string_view spelling : split_words(rows()[row].spellings))
    if (spelling == path) return spelling;
  throw std::logic_error("a spelling that its row does not have");
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

  void read_entry(const std::string& path, const Entry& entry) {
    const bool section = is_section(path);
    const auto row = find_row(path);
    if (section && entry.value->kind == Node::Kind::mapping)
      read_section(path + ".", *entry.value);
    else if (row)
      read_knob(*row, table_spelling(path, *row), entry);
    else if (section && entry.value->kind != Node::Kind::null)
      problems_.add(entry.value->place,
                    fmt::format("{} must be a mapping of settings, not {}", path, describe(*entry.value)));
    else if (!section)
      problems_.add(entry.place, fmt::format("unknown key {}{}", in_quotes(path), suggestion(path)));
  }

  void read_knob(std::size_t row, std::string_view spelling, const Entry& entry) {
    Setting setting = make_setting(row, spelling, entry.place, *entry.value, problems_);
    const Setting& before = settings_[row];
    if (setting.state == Setting::State::absent) return;
    if (before.state == Setting::State::absent) return settings_.put(row, std::move(setting));
    if (before.state == setting.state && before.value != setting.value)
      problems_.add(entry.place, fmt::format("{} is {}, but the same knob is {} as {} at {}; keep one of them",
                                             spelling, to_json_text(setting.value), to_json_text(before.value),
                                             before.spelling, problems_.text(before.place)));
  }

  Settings& settings_;
  Problems& problems_;
};

const Entry* find_entry(const Node& mapping, std::string_view key) {
  const auto found = std::find_if(mapping.entries.begin(), mapping.entries.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  return found == mapping.entries.end() ? nullptr : &*found;
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
    if (settings_[i].state != Setting::State::absent)
      text += fmt::format("{}={}\n", i, to_json_text(settings_[i].value));
  return text;
}

Settings read_settings(const Node& root, Problems& problems) {
  Settings settings;
  Reader(settings, problems).read_section("", root);
  if (const Entry* model = find_entry(root, "model")) settings.model_place = model->place;
  const Entry* overlap = find_entry(root, "comm_overlap");
  settings.without_overlap_rules =
      find_entry(root, "_target_") != nullptr && overlap != nullptr && overlap->value->kind == Node::Kind::null;
  return settings;
}

void override_setting(Settings& settings, std::string_view spelling, Place place, const Node& value,
                      Problems& problems) {
  const std::size_t row = row_index(spelling);
  settings.put(row, make_setting(row, table_spelling(spelling, row), place, value, problems));
}

}  // namespace underlap::plan
