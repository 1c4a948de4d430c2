// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

struct Assignment {
  std::string path;
  Place place;
  const Node* value;
};

/// One value of an axis: its name and its settings.
struct Choice {
  std::string name;
  Place place;
  std::vector<Assignment> assignments;
};

struct Axis {
  std::string name;
  Place place;
  bool is_path = false;  ///< a dotted path: its choices are named "last_component=value"
  std::vector<Choice> choices;
};

class AxisReader {
 public:
  explicit AxisReader(Problems& problems) : problems_(problems) {}

  /// mixed_precision.grad_reduce_in_fp32: [true, false], or sets of settings with names:
  /// overlap: [{name: off, comm_overlap.overlap_grad_reduce: false}, {name: no_comm, no_comm: true}]
  Axis read(const Entry& entry) {
    Axis axis{entry.key, entry.place, find_row(entry.key).has_value(), {}};
    const Node& list = *entry.value;
    if (!axis.is_path && (entry.key.find('.') != entry.key.npos || !holds_sets(list))) {
      problems_.add(entry.place, fmt::format("matrix axis {} is neither a known setting nor a list of named sets "
                                             "([{{name: ..., some.setting: ...}}]){}",
                                             in_quotes(entry.key), suggestion(entry.key)));
      return axis;
    }
    if (list.kind != Node::Kind::sequence || list.items.empty()) {
      problems_.add(list.place,
                    fmt::format("matrix axis {} must be a list with at least one value, not {}", in_quotes(entry.key),
                                list.kind == Node::Kind::sequence ? "an empty list" : describe(list)));
      return axis;
    }
    for (const Node* item : list.items)
      axis.choices.push_back(axis.is_path ? read_value_of(axis, *item) : read_set(axis, *item));
    check_names(axis);
    return axis;
  }

 private:
  /// Whether the list belongs to a named axis. Anything except a list of plain values does.
  static bool holds_sets(const Node& list) {
    return list.kind != Node::Kind::sequence || list.items.empty() ||
           std::ranges::any_of(list.items, [](const Node* item) { return item->kind == Node::Kind::mapping; });
  }

  Choice read_value_of(const Axis& axis, const Node& item) {
    Problems unheard = problems_.fresh();
    const auto value = read_value(rows()[*find_row(axis.name)], item, unheard);
    return {value ? to_json_text(*value) : "?", item.place, {{axis.name, item.place, &item}}};
  }

  Choice read_set(const Axis& axis, const Node& item) {
    Choice choice{"", item.place, {}};
    if (item.kind != Node::Kind::mapping) {
      problems_.add(item.place, fmt::format("axis {} holds sets of settings, not {}; write {{name: ..., "
                                            "some.setting: ...}}",
                                            in_quotes(axis.name), describe(item)));
      return choice;
    }
    for (const Entry& entry : item.entries) read_set_entry(entry, choice);
    if (choice.name.empty())
      problems_.add(item.place, fmt::format("a set of axis {} needs a name; add name: ...", in_quotes(axis.name)));
    return choice;
  }

  void read_set_entry(const Entry& entry, Choice& choice) {
    const std::string path = entry.key == "no_comm" ? "run.no_comm" : entry.key;
    if (entry.key == "name")
      read_name(entry, choice);
    else if (find_row(path))
      choice.assignments.push_back({path, entry.place, entry.value});
    else if (is_section(path))
      problems_.add(entry.place, fmt::format("{} is a section; write its settings with dots: {}.some_setting: ...",
                                             in_quotes(path), path));
    else
      problems_.add(entry.place,
                    fmt::format("unknown key {}{}", in_quotes(path), problems_.is_full() ? "" : suggestion(path)));
  }

  void read_name(const Entry& entry, Choice& choice) {
    const Node& node = *entry.value;
    const bool is_word =
        node.kind == Node::Kind::scalar && !node.text.empty() &&
        std::ranges::all_of(node.text, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '/' && c != '"'; });
    choice.name = is_word ? node.text : std::string(1, '?');
    if (is_word) return;
    problems_.add(
        node.place,
        fmt::format("a set's name must consist of printable characters without blanks, quotes or slashes, not {}",
                    describe(node)));
  }

  void check_names(const Axis& axis) {
    std::unordered_map<std::string, Place> seen;
    for (const Choice& choice : axis.choices) {
      const auto [first, is_new] = seen.emplace(choice.name, choice.place);
      if (!is_new && choice.name != "?" && !choice.name.empty())
        problems_.add(choice.place, fmt::format("axis {} has {} twice, first at {}; cells would be identical",
                                                in_quotes(axis.name), choice.name, problems_.text(first->second)));
    }
  }

  Problems& problems_;
};

/// Two axes that set the same knob would overwrite each other.
void check_disjoint(const std::vector<Axis>& axes, Problems& problems) {
  std::unordered_map<std::size_t, const Axis*> owner;
  for (const Axis& axis : axes) {
    std::set<std::size_t> own;
    for (const Choice& choice : axis.choices) {
      std::set<std::size_t> in_choice;
      for (const Assignment& assignment : choice.assignments) {
        const std::size_t row = row_index(assignment.path);
        own.insert(row);
        if (!in_choice.insert(row).second)
          problems.add(assignment.place, fmt::format("{} is set twice in one set; keep one", rows()[row].path));
      }
    }
    for (const std::size_t row : own)
      if (const auto [other, is_new] = owner.emplace(row, &axis); !is_new)
        problems.add(axis.place, fmt::format("axes {} and {} both set {}; keep it in one of them", in_quotes(axis.name),
                                             in_quotes(other->second->name), rows()[row].path));
  }
}

/// `before`: number of cells in the previous products.
bool fits(const std::vector<Axis>& axes, std::size_t before, Place place, Problems& problems) {
  std::size_t cells = 1;
  for (const Axis& axis : axes) cells = std::min(cells * axis.choices.size(), kMostCells + 1);
  if (before + cells > kMostCells)
    problems.add(place, fmt::format("the matrix has more than {} cells; remove an axis or values", kMostCells));
  return before + cells <= kMostCells;
}

/// Short names of the axes: the last component, or the whole path if two axes have the same last component.
std::vector<std::string> axis_labels(const std::vector<Axis>& axes) {
  std::vector<std::string> labels;
  for (const Axis& axis : axes) {
    const auto ends_alike = [&](const Axis& other) { return last_component(other.name) == last_component(axis.name); };
    const bool is_unique = std::ranges::count_if(axes, ends_alike) == 1;
    labels.emplace_back(is_unique ? last_component(axis.name) : std::string_view(axis.name));
  }
  return labels;
}

/// Choices of the axes for one cell. A setting comes before the settings beneath it, whatever their order in the file.
std::vector<Assignment> assignments_of(const std::vector<Axis>& axes, const std::vector<std::size_t>& chosen) {
  std::vector<Assignment> all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto& own = axes[i].choices[chosen[i]].assignments;
    all.insert(all.end(), own.begin(), own.end());
  }
  const auto depth = [](const Assignment& a) { return std::ranges::count(rows()[row_index(a.path)].path, '.'); };
  std::ranges::stable_sort(all, [&](const auto& a, const auto& b) { return depth(a) < depth(b); });
  return all;
}

/// Reports a setting of the file that is dropped because an axis replaced the setting above it.
void warn_dropped(CellRequest& cell, const Settings& base, const Assignment& whole, const Problems& problems) {
  const std::string beneath = fmt::format("{}.", rows()[row_index(whole.path)].path);
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const std::string_view path = rows()[i].path;
    if (path.starts_with(beneath) && base.given(path) && !cell.settings.given(path) && !cell.settings.invalid(path))
      cell.settings.notices.emplace_back(
          whole.place, fmt::format("{}, set at {}, is dropped: the matrix sets all of {}; set it in the matrix too",
                                   path, problems.text(base[i].place), whole.path));
  }
}

CellRequest make_cell(const std::vector<Axis>& axes, const std::vector<std::string>& labels,
                      const std::vector<std::size_t>& chosen, const Settings& base, Problems& problems) {
  CellRequest cell{"", {}, base};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Choice& choice = axes[i].choices[chosen[i]];
    cell.name += i == 0 ? "" : " ";
    cell.name += axes[i].is_path ? fmt::format("{}={}", labels[i], choice.name) : choice.name;
    cell.values.emplace_back(labels[i], choice.name);
  }
  const auto assignments = assignments_of(axes, chosen);
  for (const Assignment& a : assignments) override_setting(cell.settings, a.path, a.place, *a.value, problems);
  for (const Assignment& a : assignments) warn_dropped(cell, base, a, problems);
  return cell;
}

/// Steps to the next combination, with the last axis fastest; false after the last one.
bool next_choice(const std::vector<Axis>& axes, std::vector<std::size_t>& chosen) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (++chosen[i] < axes[i].choices.size()) return true;
    chosen[i] = 0;
  }
  return false;
}

void check_distinct(const std::vector<CellRequest>& cells, Place place, Problems& problems) {
  std::unordered_map<std::string, const CellRequest*> seen;
  for (const CellRequest& cell : cells)
    if (const auto [first, is_new] = seen.emplace(cell.settings.fingerprint(), &cell); !is_new)
      problems.add(place, fmt::format("cells {} and {} request the same settings; remove one of them",
                                      in_quotes(first->second->name), in_quotes(cell.name)));
}

/// Cells within one product have distinct names; cells of two products may not.
void check_cell_names(const std::vector<CellRequest>& cells, Place place, Problems& problems) {
  std::set<std::string_view> seen;
  for (const CellRequest& cell : cells)
    if (!seen.insert(cell.name).second)
      problems.add(place, fmt::format("two cells are named {}; rename a set of one of them", in_quotes(cell.name)));
}

std::vector<CellRequest> multiply_out(const std::vector<Axis>& axes, const Settings& base, Problems& problems) {
  std::vector<CellRequest> cells;
  const auto labels = axis_labels(axes);
  std::vector<std::size_t> chosen(axes.size(), 0);
  do cells.push_back(make_cell(axes, labels, chosen, base, problems));
  while (next_choice(axes, chosen));
  return cells;
}

/// The cells of one product; `before` is the number of cells in the previous products.
std::vector<CellRequest> expand_product(const Node& matrix, std::size_t before, const Settings& base,
                                        Problems& problems) {
  if (matrix.kind != Node::Kind::mapping) {
    problems.add(matrix.place,
                 fmt::format("matrix must be a mapping of axes, or a list of such mappings, not {}", describe(matrix)));
    return {};
  }
  AxisReader reader(problems);
  std::vector<Axis> axes;
  for (const Entry& entry : matrix.entries) axes.push_back(reader.read(entry));
  check_disjoint(axes, problems);
  if (!fits(axes, before, matrix.place, problems)) return {};
  if (std::ranges::any_of(axes, [](const Axis& axis) { return axis.choices.empty(); })) return {};
  if (axes.empty()) return {{"cell", {}, base}};
  return multiply_out(axes, base, problems);
}

std::vector<CellRequest> expand_products(const Node& matrix, const Settings& base, Problems& problems) {
  std::vector<const Node*> products{&matrix};
  if (matrix.kind == Node::Kind::sequence && !matrix.items.empty())
    products = {matrix.items.begin(), matrix.items.end()};
  std::vector<CellRequest> cells;
  for (const Node* product : products) {
    auto more = expand_product(*product, cells.size(), base, problems);
    std::move(more.begin(), more.end(), std::back_inserter(cells));
  }
  if (!problems.empty()) return cells;  // unreadable values look alike
  check_distinct(cells, matrix.place, problems);
  check_cell_names(cells, matrix.place, problems);
  return cells;
}

}  // namespace

std::vector<CellRequest> expand_matrix(const Node* matrix, const Settings& base, Problems& problems) {
  if (matrix == nullptr || matrix->kind == Node::Kind::null) return {{"cell", {}, base}};
  Problems own = problems.fresh();
  auto cells = expand_products(*matrix, base, own);
  problems.merge(own);
  return cells;
}

}  // namespace underlap::plan
