// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "bench/summary.hpp"

namespace underlap::bench {
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

bool is_compared(std::string_view axis) { return !toggles_overlap(axis) && last_part(axis) != "no_comm"; }

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

// Whether every compared axis of `a` that `b` has too has the same value there.
bool agree(const Values& a, const Values& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& v) {
    const std::string* other = find(b, v.first);
    return !is_compared(v.first) || other == nullptr || *other == v.second;
  });
}

bool covers(const Values& a, const Values& b) {
  return std::all_of(b.begin(), b.end(), [&](const auto& v) { return !is_compared(v.first) || find(a, v.first); });
}

}  // namespace

References find_references(const std::vector<CellResult>& cells, std::size_t cell) {
  const Values& values = cells.at(cell).values;
  References found;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Values& other = cells[i].values;
    if (!agree(values, other) || !covers(values, other)) continue;
    const bool off = all_overlap_off(other);
    if (cells[i].no_comm) {
      if (!found.no_comm || (off && !all_overlap_off(cells[*found.no_comm].values))) found.no_comm = i;
    } else if (off && has_overlap_axis(other) && covers(other, values) && !found.off) {
      found.off = i;
    }
  }
  return found;
}

}  // namespace underlap::bench
