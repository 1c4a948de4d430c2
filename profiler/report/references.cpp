// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "profiler/report/cell_summary.hpp"

namespace underlap::report {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

std::string_view last_part(std::string_view axis) {
  const std::size_t dot = axis.rfind('.');
  return dot == std::string_view::npos ? axis : axis.substr(dot + 1);
}

bool toggles_overlap(std::string_view axis) {
  const std::string_view part = last_part(axis);
  return part.starts_with("overlap") || part.ends_with("overlap") || part == "grad_reduce" || part == "param_gather";
}

bool toggles_transfers(std::string_view axis) { return last_part(axis) == "no_comm"; }

// Recording costs so little of a step that cells with and without it can be compared.
bool toggles_recording(std::string_view axis) { return last_part(axis) == "trace"; }

bool is_compared(std::string_view axis) {
  return !toggles_overlap(axis) && !toggles_transfers(axis) && !toggles_recording(axis);
}

bool is_off(std::string_view value) { return value == "off" || value == "false" || value == "none"; }

bool has_overlap_axis(const Values& values) {
  return std::any_of(values.begin(), values.end(), [](const auto& v) { return toggles_overlap(v.first); });
}

bool all_overlap_off(const Values& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const auto& v) { return !toggles_overlap(v.first) || is_off(v.second); });
}

const std::string* find(const Values& values, const std::string& axis) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == axis; });
  return found == values.end() ? nullptr : &found->second;
}

Values compared_values(const Values& values) {
  Values compared;
  std::ranges::copy_if(values, std::back_inserter(compared), [](const auto& v) { return is_compared(v.first); });
  return compared;
}

// Whether every axis of `compared` that `other` has too has the same value there.
bool agree(const Values& compared, const Values& other) {
  return std::ranges::all_of(compared, [&](const auto& v) {
    const std::string* value = find(other, v.first);
    return value == nullptr || *value == v.second;
  });
}

bool covers(const Values& a, const Values& b) {
  return std::all_of(b.begin(), b.end(), [&](const auto& v) { return find(a, v.first) || !is_compared(v.first); });
}

bool record_alike(const Values& a, const Values& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& v) {
    const std::string* other = find(b, v.first);
    return other == nullptr || *other == v.second || !toggles_recording(v.first);
  });
}

// Takes `candidate` where nothing was taken yet, or where it suits better. Of equals the first stays.
struct BestCell {
  std::optional<std::size_t> index;
  int rank = -1;

  void offer(std::size_t candidate, int its_rank) {
    if (its_rank > rank) index = candidate, rank = its_rank;
  }
};

// The values of an axis in the order of the cells.
std::vector<std::string> values_along(const std::vector<CellResult>& cells, const std::string& axis) {
  std::vector<std::string> values;
  for (const CellResult& cell : cells)
    if (const std::string* value = find(cell.values, axis))
      if (std::find(values.begin(), values.end(), *value) == values.end()) values.push_back(*value);
  return values;
}

std::vector<std::string> axes_of(const std::vector<CellResult>& cells) {
  std::vector<std::string> axes;
  for (const CellResult& cell : cells)
    for (const auto& [axis, value] : cell.values)
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  return axes;
}

bool differ_in_alone(const CellResult& a, const CellResult& b, const std::string& axis) {
  const auto equal_or_axis = [&](const auto& v, const auto& w) {
    return v.first == w.first && (v.first == axis) == (v.second != w.second);
  };
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), equal_or_axis);
}

References by_values(const std::vector<CellResult>& cells, std::size_t cell) {
  const Values& values = cells.at(cell).values;
  const Values compared = compared_values(values);
  BestCell off_cell, no_comm_cell;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Values& other = cells[i].values;
    if (!agree(compared, other) || !covers(values, other)) continue;
    const bool off = all_overlap_off(other);
    const int alike = record_alike(values, other) ? 1 : 0;
    if (cells[i].no_comm)
      no_comm_cell.offer(i, (off ? 2 : 0) + alike);
    else if (off && has_overlap_axis(other) && covers(other, values))
      off_cell.offer(i, alike);
  }
  return {off_cell.index, no_comm_cell.index};
}

std::optional<std::size_t> named(const std::vector<CellResult>& cells, const std::string& name) {
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const CellResult& c) { return c.name == name; });
  return found == cells.end() ? std::nullopt : std::optional(std::size_t(found - cells.begin()));
}

// Whether what sets two cells apart along `axis` turns overlap or transfers on or off.
bool toggles(const CellResult& a, const CellResult& b, const std::string& axis) {
  if (!a.references || !b.references) return toggles_overlap(axis) || toggles_transfers(axis);
  if (a.no_comm != b.no_comm) return true;
  const bool share_off = !a.references->off.empty() && a.references->off == b.references->off;
  return share_off && a.references->overlaps != b.references->overlaps;
}

}  // namespace

References find_references(const std::vector<CellResult>& cells, std::size_t cell) {
  if (const auto& planned = cells.at(cell).references)
    return {named(cells, planned->off), named(cells, planned->no_comm)};
  return by_values(cells, cell);
}

std::vector<AxisPair> pairs_along_axes(const std::vector<CellResult>& cells) {
  std::vector<AxisPair> pairs;
  for (const std::string& axis : axes_of(cells)) {
    const std::vector<std::string> values = values_along(cells, axis);
    if (values.size() != 2) continue;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string* value = find(cells[i].values, axis);
      if (value == nullptr || *value != values.front()) continue;
      for (std::size_t j = 0; j < cells.size(); ++j)
        if (differ_in_alone(cells[i], cells[j], axis) && !toggles(cells[i], cells[j], axis))
          pairs.push_back({axis, i, j});
    }
  }
  return pairs;
}

}  // namespace underlap::report
