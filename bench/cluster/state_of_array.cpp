// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/state_of_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "platform/fields/json_fields.hpp"
#include "platform/status_line.hpp"
#include "profiler/report/results.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

using fields::Derived, fields::Is;
using Stage = StateOfRun::Stage;

std::int64_t count(const StateOfArray& state, Stage stage) {
  return std::ranges::count_if(state.tasks, [&](const StateOfTask& task) { return task.run.stage == stage; });
}

std::string why_ended(const StateOfTask& task, std::optional<int> exit_code, bool has_begun) {
  const std::vector<StateOfCell>& cells = task.run.cells;
  if (!cells.empty() && !cells.front().failed_because.empty()) return cells.front().failed_because;
  if (task.run.status && !task.run.status->ended_because.empty()) return task.run.status->ended_because;
  if (exit_code) return fmt::format("its task ended with exit status {}", *exit_code);
  return has_begun ? "its task ended for an unknown reason" : "its task never started";
}

StateOfTask read_task(const std::filesystem::path& folder, const SubmittedJob& job, std::size_t number,
                      const std::optional<std::map<std::size_t, JobState>>& states) {
  const std::filesystem::path own = task_folder(folder, number);
  const std::optional<int> exit_code = exit_code_of_task(folder, number);
  std::optional<JobState> job_state;
  if (states && states->contains(number)) job_state = states->at(number);
  // A task that the scheduler no longer lists is over. A task with an exit code is over too, even if its script still
  // runs.
  else if (states || exit_code)
    job_state = JobState{.state = "ENDED", .reason = {}, .nodes = {}};
  if (exit_code) job_state->state = "ENDED";
  StateOfTask task{.cell = job.cells[number], .run = state_of_task(own, job_state, job.blocks), .why_ended = {}};
  const bool has_failed = !task.run.cells.empty() && !task.run.cells.front().failed_because.empty();
  if (has_failed && task.run.stage == Stage::finished) task.run.stage = Stage::ended;
  if (task.run.stage == Stage::ended) task.why_ended = why_ended(task, exit_code, std::filesystem::exists(own));
  return task;
}

// Whether the merged results match the results of the tasks.
bool is_merged(const std::filesystem::path& folder, const std::vector<StateOfTask>& tasks) {
  if (!report::find_results(folder)) return false;
  const report::RunResults merged = report::read_results(folder);
  return std::ranges::equal(merged.cells, tasks, [](const report::CellResult& cell, const StateOfTask& task) {
    const std::int32_t blocks = task.run.cells.empty() ? 0 : task.run.cells.front().blocks_done;
    return cell.name == task.cell && report::blocks_of(cell) == blocks && cell.failed_because.empty() == task.is_done();
  });
}

bool all_over(const StateOfArray& state) { return std::ranges::all_of(state.tasks, &StateOfTask::is_over); }

bool any_runs(const std::optional<std::map<std::size_t, JobState>>& states) {
  return states && std::ranges::any_of(*states, [](const auto& task) { return task.second.state == "RUNNING"; });
}

std::string counts_text(const StateOfArray& state) {
  constexpr std::array kStages{Stage::finished, Stage::running, Stage::waiting, Stage::silent, Stage::ended};
  std::string text;
  for (const Stage stage : kStages)
    if (const auto number = count(state, stage); number > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number,
                          stage == Stage::ended ? "ended early" : to_string(stage));
  return text;
}

std::string advice(const StateOfArray& state, const std::string& folder) {
  if (!all_over(state) || state.is_merging) return "";
  std::string text;
  if (!state.is_merged) text += fmt::format("  merge them with: underlap merge {}\n", shell_word(folder));
  if (count(state, Stage::ended) > 0) text += fmt::format("  continue with: {} --resume\n", state.job.command);
  return text;
}

}  // namespace

Stage StateOfArray::stage() const {
  if (is_merging) return Stage::running;
  for (const Stage stage : {Stage::running, Stage::silent, Stage::waiting})
    if (count(*this, stage) > 0) return stage;
  return is_merged && std::ranges::all_of(tasks, &StateOfTask::is_done) ? Stage::finished : Stage::ended;
}

std::optional<StateOfArray> state_of_array(
    const std::filesystem::path& folder,
    const std::function<std::optional<std::map<std::size_t, JobState>>(const std::string&)>& ask) {
  std::optional<SubmittedJob> job = read_job(folder);
  if (!job || job->cells.empty()) return std::nullopt;
  StateOfArray state{.job = std::move(*job), .tasks = {}};
  const auto states = ask ? ask(state.job.job) : states_of_tasks(state.job.job);
  for (std::size_t i = 0; i < state.job.cells.size(); ++i)
    state.tasks.push_back(read_task(folder, state.job, i, states));
  state.is_merged = is_merged(folder, state.tasks);
  state.is_merging = !state.is_merged && all_over(state) && any_runs(states);
  return state;
}

std::string array_text(const StateOfArray& state, const std::string& folder, const TableFormat& format) {
  std::string text =
      wrap(fmt::format("{} is a job array ({}) of {} cells: {}{}.", folder, state.job.job, state.tasks.size(),
                       counts_text(state), state.is_merging ? "; the last task is merging them" : ""),
           format.width) +
      advice(state, folder);
  Table table{.columns = {{.title = "cell", .align = Align::left},
                          {.title = "task", .align = Align::left},
                          {.title = "blocks"},
                          {.title = "of"},
                          {.title = "details", .align = Align::left}},
              .rows = {}};
  for (const StateOfTask& task : state.tasks) {
    std::string said = task.why_ended.substr(0, task.why_ended.find('\n'));
    if (task.run.stage == Stage::running && task.run.status) said = task.run.status->doing;
    if (task.run.stage == Stage::waiting) said = task.run.job_state->reason;
    table.rows.push_back({{task.cell},
                          {std::string(to_string(task.run.stage))},
                          {std::to_string(task.run.blocks_done)},
                          {std::to_string(state.job.blocks)},
                          {std::move(said)}});
  }
  return text + "\n" + render(table, format) + "\n";
}

void visit_fields(Is<StateOfTask> auto& task, auto&& field) {
  field("name", task.cell);
  field("stage", task.run.stage);
  field("blocks_done", task.run.blocks_done);
  field("failed_because", task.why_ended);
  field("nodes", Derived{[&] { return task.run.job_state.value_or(JobState{}).nodes; }});
}

void visit_fields(Is<StateOfArray> auto& state, auto&& field) {
  std::int32_t least_done = state.job.blocks;
  for (const StateOfTask& task : state.tasks) least_done = std::min(least_done, task.run.blocks_done);
  field("stage", Derived{[&] { return state.stage(); }});
  field("blocks_done", least_done);
  field("blocks_planned", state.job.blocks);
  field("is_merged", state.is_merged);
  field("cells", state.tasks);
  field("job", Derived{[&] { return fields::Json{{"number", state.job.job}}; }});
}

std::string array_json(const StateOfArray& state) { return fields::document_text(kStateSchema, state); }

}  // namespace underlap::bench
