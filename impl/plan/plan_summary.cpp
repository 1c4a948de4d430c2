// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/plan_words.hpp"
#include "impl/plan/schema/paths.hpp"
#include "platform/memory_room.hpp"

namespace underlap::plan {
namespace {

using Names = std::vector<std::string>;

/// Joins the lines of a message with semicolons.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const auto part : std::views::split(text, '\n')) {
    std::string_view words(part.begin(), part.end());
    words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
    if (!words.empty()) line += fmt::format("{}{}", line.empty() ? "" : "; ", words);
  }
  return line;
}

/// Settings whose effective values differ between cells, in the order of the plans.
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

/// "overlap_grad_reduce" if it is on, "bucket_size=200000". Omits settings that are off, unused or at their default.
std::string in_effect(const Plan& plan, const Names& names) {
  Names words;
  for (const std::string& name : names) {
    const Knob* knob = find_knob(plan, name);
    if (knob == nullptr || is_null(knob->effective) || knob->effective == Value(false)) continue;
    if (is_left_alone(*knob) || !why_no_effect(*knob).empty()) continue;
    if (is_slot(*knob)) continue;  // covered by tp_comm_overlap, and shown in full by --cell
    const std::string word(last_component(name));
    words.push_back(knob->effective == Value(true) ? word : fmt::format("{}={}", word, value_text(knob->effective)));
  }
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, " "));
}

Table cell_table(const Matrix& matrix) {
  const Names names = differing(matrix);
  Table table{{{"cell", Align::left}, {"ranks"}, {"peak memory"}, {"effective settings that differ", Align::left}}, {}};
  for (const Cell& cell : matrix.cells)
    table.rows.push_back({{cell.name},
                          {std::to_string(cell.plan.config.parallel.world_size())},
                          {in_bytes(cell.plan.peak_memory.total())},
                          {in_effect(cell.plan, names)}});
  return table;
}

/// Messages of several cells, each with its cells, in the order of their first occurrence.
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
    return all_.empty() ? "" : fmt::format("\n{}\n{}", title, list(width));
  }

  /// The text of a single finding; for several findings only their number.
  std::string count_text(std::string_view title, int width) const {
    if (all_.size() <= 1) return text(title, width);
    Names cells;
    for (const Cell& cell : matrix_.cells)
      if (std::ranges::any_of(all_, [&](const Finding& f) { return std::ranges::count(f.cells, cell.name) > 0; }))
        cells.push_back(cell.name);
    return "\n" + wrap(fmt::format("{}, for {} reasons (listed by --all){}", title, all_.size(), cells_text(cells)),
                       width, "  ");
  }

 private:
  struct Finding {
    std::set<std::string> places;
    std::string text;
    Names cells;
  };

  std::string list(int width) const {
    std::string out;
    for (const Finding& finding : all_)
      out += wrap(fmt::format("  {}: {}{}", places_text(finding.places), finding.text, cells_text(finding.cells)),
                  width, "  ");
    return out;
  }

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
  return fmt::format("{} was requested as {} but is {}: {}", knob.name, value_text(knob.requested),
                     value_text(knob.effective), knob.reason);
}

std::string findings_text(const Matrix& matrix, int width) {
  Findings gates(matrix), exposed(matrix), contradictions(matrix), notices(matrix), not_run(matrix);
  for (const Cell& cell : matrix.cells) {
    for (const Knob& knob : cell.plan.knobs)
      if (knob.source == "gate") gates.add(knob.where.empty() ? "by default" : knob.where, gate_text(knob), cell.name);
    // A matrix compares modes, including those that expose communication.
    if (matrix.cells.size() == 1)
      for (const Message& m : cell.plan.exposed) exposed.add(m.where, m.message, cell.name);
    for (const Message& m : cell.plan.contradictions) contradictions.add(m.where, m.message, cell.name);
    for (const Message& m : cell.plan.notices) notices.add(m.where, m.message, cell.name);
    for (const Message& m : cell.plan.not_run) not_run.add(m.where, m.message, cell.name);
  }
  return gates.text("NOT AS REQUESTED", width) + exposed.text("EXPOSED", width) +
         contradictions.text("CONTRADICTIONS", width) + not_run.count_text("cannot run here", width) +
         notices.text("notices", width);
}

/// Name without its section, which --all shows.
std::string short_name(const Knob& knob) { return std::string(last_component(knob.name)); }

/// "TP 2 with sequence parallelism, DP 4": the modes that number the ranks, data parallelism last. Omits sizes of 1.
std::string sizes_text(const ParallelConfig& p) {
  Names words;
  for (const bool is_rest : {false, true})
    for (const ModeRules* mode : dense_modes())
      if (mode->takes_the_rest == is_rest && mode->size(p) > 1)
        words.push_back(fmt::format("{} {}{}", mode->sizes.front().letters, mode->size(p),
                                    mode->size_details == nullptr ? "" : mode->size_details(p)));
  return words.empty() ? "" : fmt::format(": {}", fmt::join(words, ", "));
}

/// Describes the planned job in a line or two.
std::string heading(const Plan& plan) {
  const Config& c = plan.config;
  return fmt::format("{} on {} {}{}; {} {} per step; {}",
                     c.model.preset.empty()
                         ? fmt::format("{} layers, hidden size {}", c.model.num_layers, c.model.hidden_size)
                         : c.model.preset,
                     c.parallel.world_size(), c.parallel.world_size() == 1 ? "rank" : "ranks", sizes_text(c.parallel),
                     c.train.num_microbatches, c.train.num_microbatches == 1 ? "microbatch" : "microbatches",
                     c.mixed_precision.recipe);
}

/// Settings that the plan needs and the configuration does not give.
std::string assumptions(const Plan& plan) {
  Names words;
  if (find_knob(plan, "environment.gpu_arch") == nullptr)
    words.push_back(fmt::format("environment.gpu_arch {}", plan.config.environment.gpu_arch));
  if (find_knob(plan, "data_parallel_size") == nullptr) words.push_back("data_parallel_size 1");
  return words.empty() ? "" : fmt::format("assumed, because not configured: {}", fmt::join(words, ", "));
}

/// The first clause of a reason; --all shows the full reason.
std::string short_reason(const Knob& knob) {
  const std::size_t end = std::min(knob.reason.find("; "), knob.reason.find(": "));
  return knob.reason.substr(0, end);
}

bool decided_by_rule(const Knob& knob) {
  // These are in the heading.
  const bool is_size =
      knob.name.starts_with("run.") || knob.name == "train.num_microbatches" || knob.name == "data_parallel_size";
  return knob.source == "auto" && !is_left_alone(knob) && !is_size && !is_slot(knob);
}

/// The method of the slots and its source, with equal slots counted together.
std::string slots_text(const Plan& plan) {
  std::map<std::string, int> methods;
  std::set<std::string> sources;
  for (const Knob& knob : plan.knobs)
    if (is_slot(knob)) {
      if (const Value* method = find(knob.effective, "method")) ++methods[value_text(*method)];
      sources.insert(short_reason(knob));
    }
  if (methods.empty() || plan.config.parallel.tensor_model_parallel_size == 1) return "";
  Names words;
  for (const auto& [method, count] : methods) words.push_back(fmt::format("{} {}", count, method));
  const bool is_short = sources.size() == 1 && !sources.begin()->starts_with("userbuffers_");
  return fmt::format("tensor-parallel slots: {}{}", fmt::join(words, ", "),
                     is_short ? fmt::format(" ({})", *sources.begin()) : "");
}

Table rule_table(const Plan& plan, int width) {
  constexpr int kWidest = 24;
  const auto wide = [](std::size_t size) { return static_cast<int>(size); };
  std::size_t name = 0, value = 0;
  for (const Knob& knob : plan.knobs)
    if (decided_by_rule(knob)) {
      name = std::max(name, short_name(knob).size());
      value = std::max(value, std::min<std::size_t>(kWidest, value_text(knob.effective).size()));
    }
  // One line each: --all shows longer reasons in full.
  const auto room = static_cast<std::size_t>(std::max(20, width - wide(name) - std::max(wide(value), 9) - 4));
  const auto cut = [&](std::string text) {
    return text.size() <= room ? text : text.substr(0, text.rfind(' ', room - 4)) + " ...";
  };
  Table table{{{"decided by rule", Align::left}, {"in effect", Align::left, 0, kWidest}, {"why", Align::left}}, {}};
  for (const Knob& knob : plan.knobs)
    if (decided_by_rule(knob))
      table.rows.push_back({{short_name(knob)}, {value_text(knob.effective)}, {cut(short_reason(knob))}});
  return table;
}

/// The number of settings that are as requested, instead of a list of them.
std::string requests_text(const Plan& plan) {
  const auto count = std::ranges::count(plan.knobs, "user", &Knob::source);
  return count == 0 ? "" : fmt::format("{} {} as requested", count, count == 1 ? "setting is" : "settings are");
}

std::string launch_text(const Plan& plan) {
  Names variables;
  for (const EnvironmentVariable& variable : plan.environment)
    variables.push_back(fmt::format("{}={}", variable.name, variable.value));
  return variables.empty() ? "" : fmt::format("launch with {}", fmt::join(variables, " "));
}

}  // namespace

std::string overview(const Matrix& matrix, const TableFormat& format) {
  const auto is_wrong = [](const Cell& cell) { return !cell.plan.errors.empty(); };
  Matrix sound = matrix;
  std::erase_if(sound.cells, is_wrong);
  Table table = cell_table(sound);
  for (const Cell& cell : matrix.cells)
    if (is_wrong(cell))
      table.rows.push_back(
          {{cell.name}, {"-"}, {"-"}, {"cannot be run: " + in_one_line(cell.plan.errors.front().message)}});
  return render(table, format) + findings_text(sound, format.width) +
         "\n--cell NAME shows one cell, --all every knob of each\n";
}

std::string cell_summary(const Cell& cell, const TableFormat& format) {
  const Plan& plan = cell.plan;
  const Matrix alone{{cell}, {}, {}};
  const Table rules = rule_table(plan, format.width);
  std::string text;
  const auto add_line = [&](const std::string& line) {
    if (!line.empty()) text += wrap(line, format.width, "  ");
  };
  add_line(heading(plan));
  add_line(assumptions(plan));
  text += findings_text(alone, format.width) + "\n";
  if (!rules.rows.empty()) text += render(rules, format);
  add_line(slots_text(plan));
  add_line(requests_text(plan));
  add_line(launch_text(plan));
  add_line(fmt::format("predicted peak GPU memory per rank: {}", in_bytes(plan.peak_memory.total())));
  return text + "--all shows every setting with its reason, the buckets, and memory by part\n";
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
