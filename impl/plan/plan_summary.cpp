// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "impl/plan/plan_words.hpp"
#include "platform/room.hpp"

namespace underlap::plan {
namespace {

using Names = std::vector<std::string>;

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// What a message says in lines of its own, behind semicolons.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const auto part : std::views::split(text, '\n')) {
    std::string_view words(part.begin(), part.end());
    words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
    if (!words.empty()) line += fmt::format("{}{}", line.empty() ? "" : "; ", words);
  }
  return line;
}

const Knob* find_knob(const Plan& plan, std::string_view name) {
  const auto found = std::ranges::find_if(plan.knobs, [&](const Knob& knob) { return knob.name == name; });
  return found == plan.knobs.end() ? nullptr : &*found;
}

/// Knobs whose effective value is not the same in all cells, in the order of the plans.
Names differing(const Matrix& matrix) {
  Names names;
  std::set<std::string> seen;
  for (const Cell& cell : matrix.cells)
    for (const Knob& knob : cell.plan.knobs) {
      if (!seen.insert(knob.name).second) continue;
      const bool differs = std::ranges::any_of(matrix.cells, [&](const Cell& other) {
        const Knob* theirs = find_knob(other.plan, knob.name);
        return theirs == nullptr || theirs->effective != knob.effective;
      });
      if (differs) names.push_back(knob.name);
    }
  return names;
}

/// "overlap_grad_reduce" where it is on, "bucket_size=200000"; what is off, not in use or left at its default goes
/// without saying.
std::string in_effect(const Plan& plan, const Names& names) {
  Names words;
  for (const std::string& name : names) {
    const Knob* knob = find_knob(plan, name);
    if (knob == nullptr || is_null(knob->effective) || knob->effective == Value(false)) continue;
    if (is_left_alone(*knob) || knob->reason.find("no effect") != std::string::npos) continue;
    if (is_slot(*knob)) continue;  // told by tp_comm_overlap, and in full by --cell
    const std::string word(last_component(name));
    words.push_back(knob->effective == Value(true) ? word : fmt::format("{}={}", word, value_text(knob->effective)));
  }
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, " "));
}

Table cell_table(const Matrix& matrix) {
  const Names names = differing(matrix);
  Table table{{{"cell", Align::left}, {"ranks"}, {"peak memory"}, {"in effect, where cells differ", Align::left}}, {}};
  for (const Cell& cell : matrix.cells)
    table.rows.push_back({{cell.name},
                          {std::to_string(cell.plan.config.parallel.world_size())},
                          {in_bytes(cell.plan.peak_memory.total())},
                          {in_effect(cell.plan, names)}});
  return table;
}

/// What is told of several cells, with those that it holds for; in the order of the first of them.
class Findings {
 public:
  explicit Findings(const Matrix& matrix) : matrix_(matrix) {}

  void add(std::string where, std::string text, const std::string& cell) {
    text = in_one_line(text);
    auto found = std::ranges::find_if(all_, [&](const Finding& f) { return f.text == text; });
    if (found == all_.end()) found = all_.insert(all_.end(), {{}, std::move(text), {}});
    found->places.insert(std::move(where));
    if (found->cells.empty() || found->cells.back() != cell) found->cells.push_back(cell);
  }

  std::string text(std::string_view title, int width) const {
    std::string out;
    for (const Finding& finding : all_)
      out += wrap(fmt::format("  {}: {}{}", places_text(finding.places), finding.text, cells_text(finding.cells)),
                  width, "  ");
    return out.empty() ? out : fmt::format("\n{}\n{}", title, out);
  }

 private:
  struct Finding {
    std::set<std::string> places;
    std::string text;
    Names cells;
  };

  static std::string places_text(const std::set<std::string>& places) {
    const std::size_t more = places.size() - 1;
    return more == 0 ? *places.begin() : fmt::format("{} and {} more", *places.begin(), more);
  }

  std::string cells_text(const Names& cells) const {
    constexpr std::size_t kMost = 3;
    if (cells.size() == matrix_.cells.size()) return "";
    const Names first(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, cells.size())));
    return fmt::format(" [{} of {} cells: {}{}]", cells.size(), matrix_.cells.size(), fmt::join(first, ", "),
                       cells.size() > kMost ? ", ..." : "");
  }

  const Matrix& matrix_;
  std::vector<Finding> all_;
};

std::string gate_text(const Knob& knob) {
  return fmt::format("{} was requested as {} and is {}: {}", knob.name, value_text(knob.requested),
                     value_text(knob.effective), knob.reason);
}

std::string findings_text(const Matrix& matrix, int width) {
  Findings gates(matrix), exposed(matrix), contradictions(matrix), notices(matrix), not_run(matrix);
  for (const Cell& cell : matrix.cells) {
    for (const Knob& knob : cell.plan.knobs)
      if (knob.source == "gate") gates.add(knob.where.empty() ? "by default" : knob.where, gate_text(knob), cell.name);
    for (const Message& m : cell.plan.exposed) exposed.add(m.where, m.message, cell.name);
    for (const Message& m : cell.plan.contradictions) contradictions.add(m.where, m.message, cell.name);
    for (const Message& m : cell.plan.notices) notices.add(m.where, m.message, cell.name);
    for (const Message& m : cell.plan.not_run) not_run.add(m.where, m.message, cell.name);
  }
  return gates.text("NOT AS REQUESTED", width) + exposed.text("EXPOSED", width) +
         contradictions.text("CONTRADICTIONS", width) + not_run.text("run refuses this here", width) +
         notices.text("notices", width);
}

/// Without its section, which --all shows.
std::string short_name(const Knob& knob) {
  return is_slot(knob) ? knob.name.substr(kSlotSection.find('.') + 1) : std::string(last_component(knob.name));
}

/// "set at 9:19" for "set at bench/matrices/quick.yaml:9:19": the file is the one that was named.
std::string short_reason(const Knob& knob) {
  const std::string said = "set at " + knob.where;
  if (knob.where.empty() || !knob.reason.starts_with(said)) return knob.reason;
  const std::size_t column = knob.where.rfind(':');
  const std::size_t line = column == std::string::npos ? column : knob.where.rfind(':', column - 1);
  const std::string place =
      line == std::string::npos ? "by " + knob.where : "line " + knob.where.substr(line + 1, column - line - 1);
  return place + knob.reason.substr(said.size());
}

Table knob_table(const Plan& plan) {
  constexpr int kWidest = 32;
  Table table{{{"knob", Align::left}, {"in effect", Align::left, 0, kWidest}, {"why", Align::left}}, {}};
  for (const Knob& knob : plan.knobs)
    if (!is_left_alone(knob) && knob.source != "gate")
      table.rows.push_back({{short_name(knob)}, {value_text(knob.effective)}, {short_reason(knob)}});
  return table;
}

}  // namespace

std::string overview(const Matrix& matrix, const TableFormat& format) {
  return render(cell_table(matrix), format) + findings_text(matrix, format.width) +
         "\n--cell NAME shows one cell, --all every knob of each\n";
}

std::string cell_summary(const Cell& cell, const TableFormat& format) {
  const Matrix alone{{cell}, {}, {}};
  return render(knob_table(cell.plan), format) + findings_text(alone, format.width) +
         "\npredicted peak memory of a rank\n" + wrap("  " + memory_text(cell.plan.peak_memory), format.width, "  ") +
         "\n--all shows what is left at its default, the launch environment and the buckets\n";
}

std::vector<Message> common_notices(const Matrix& matrix) {
  std::map<std::pair<std::string, std::string>, std::size_t> count;
  for (const Cell& cell : matrix.cells) {
    std::set<std::pair<std::string, std::string>> own;
    for (const Message& notice : cell.plan.notices) own.emplace(notice.where, notice.message);
    for (const auto& notice : own) ++count[notice];
  }
  std::vector<Message> common;
  for (const auto& [notice, cells] : count)
    if (cells == matrix.cells.size()) common.push_back({notice.first, notice.second});
  return common;
}

}  // namespace underlap::plan
