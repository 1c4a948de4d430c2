// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/state_of_run.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <stdexcept>

#include "platform/fields/json_fields.hpp"
#include "platform/file_lock.hpp"
#include "platform/status_line.hpp"
#include "profiler/report/results.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

using fields::Derived, fields::Is, fields::NullIf;
using Json = fields::Json;
using Stage = StateOfRun::Stage;

// Fails when the number now belongs to another process: a run that ended then counts as silent.
bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

bool waits(const JobState& state) {
  return state.state == "PENDING" || state.state == "CONFIGURING" || state.state == "REQUEUED" ||
         state.state == "REQUEUE_HOLD" || state.state == "SUSPENDED";
}

bool runs(const JobState& state) { return state.state == "RUNNING" || state.state == "COMPLETING"; }

Stage stage_of(const StateOfRun& state) {
  const bool is_done = state.blocks_planned > 0 && state.blocks_done >= state.blocks_planned;
  if (!state.holder.empty()) return Stage::running;
  if (is_done) return Stage::finished;
  if (state.job_state && waits(*state.job_state)) return Stage::waiting;
  if (state.job_state && runs(*state.job_state)) return Stage::running;
  if (!state.status || !state.status->ended_because.empty() || state.job_state) return Stage::ended;
  return state.status->host == this_host() && !is_alive(state.status->pid) ? Stage::ended : Stage::silent;
}

void add_results(const std::filesystem::path& folder, StateOfRun& state) {
  const report::RunResults results = report::read_results(folder);
  state.blocks_done = results.blocks_done;
  state.blocks_planned = results.blocks_planned;
  for (const report::CellResult& cell : results.cells) {
    std::set<std::int32_t> blocks;
    for (const report::StepSample& sample : cell.samples) blocks.insert(sample.block);
    state.cells.push_back({cell.name, static_cast<std::int32_t>(blocks.size()), cell.failed_because});
  }
}

std::string time_text(std::int64_t seconds) {
  return duration_text(std::chrono::seconds(std::max<std::int64_t>(0, seconds)));
}

std::string blocks_text(const StateOfRun& state) {
  return state.blocks_planned > 0 ? fmt::format("{} of {} blocks done", state.blocks_done, state.blocks_planned)
                                  : "no block done";
}

std::string running_text(const StateOfRun& state, std::int64_t now_s) {
  std::string text = "is running";
  if (state.status) text += " on " + state.status->host;
  if (state.job_state && !state.job_state->nodes.empty())
    text += fmt::format(" (job {}, {})", state.job->job, state.job_state->nodes);
  if (!state.status) return text + ": starting";
  if (!state.status->doing.empty()) text += ": " + state.status->doing;
  if (state.status->seconds_left) text += fmt::format("; {} left", time_text(*state.status->seconds_left));
  return text + fmt::format("; last update {} ago", time_text(now_s - state.status->updated_s));
}

std::string ended_text(const StateOfRun& state, std::int64_t now_s) {
  std::string text = "ended early";
  if (state.status && !state.status->ended_because.empty())
    text += ": " + state.status->ended_because;
  else if (state.job_state)
    text += fmt::format(": Slurm job {} is {}", state.job->job, state.job_state->state);
  else if (state.status)
    text += fmt::format(" for an unknown reason; last update {} ago", time_text(now_s - state.status->updated_s));
  return text + "; " + blocks_text(state);
}

std::string waiting_text(const StateOfRun& state, std::int64_t now_s) {
  std::string text =
      fmt::format("has been queued as job {} for {}", state.job->job, time_text(now_s - state.job->submitted_s));
  if (!state.job_state->reason.empty()) text += fmt::format(" ({})", state.job_state->reason);
  return text + (state.blocks_done > 0 ? "; " + blocks_text(state) : "");
}

std::string finished_text(const StateOfRun& state) {
  const auto failed =
      std::ranges::count_if(state.cells, [](const StateOfCell& cell) { return !cell.failed_because.empty(); });
  return fmt::format("is finished: {} blocks of {} cells{}", state.blocks_done, state.cells.size(),
                     failed == 0 ? "" : fmt::format(", but {} failed; --resume retries what failed", failed));
}

std::string sentence(const StateOfRun& state, std::int64_t now_s) {
  switch (state.stage) {
    case Stage::waiting: return waiting_text(state, now_s);
    case Stage::running: return running_text(state, now_s);
    case Stage::ended: return ended_text(state, now_s);
    case Stage::finished: return finished_text(state);
    case Stage::silent: break;
  }
  return fmt::format("was last updated {} ago on {}: {}; whether it is still running is unknown here",
                     time_text(now_s - state.status->updated_s), state.status->host, state.status->doing);
}

StateOfRun read_state(const std::filesystem::path& folder) {
  StateOfRun state;
  state.status = read_status(folder);
  state.holder = FileLock::holder(folder / "run.lock").value_or("");
  if (report::find_results(folder)) add_results(folder, state);
  if (state.blocks_planned == 0 && state.status) state.blocks_planned = state.status->blocks_planned;
  return state;
}

Json job_json(const StateOfRun& state) {
  if (!state.job) return nullptr;
  Json json{{"number", state.job->job}, {"state", nullptr}, {"reason", nullptr}, {"nodes", nullptr}};
  if (state.job_state) json.update(fields::encode(*state.job_state));
  return json;
}

}  // namespace

std::string_view to_string(Stage stage) {
  constexpr std::array kNames{"waiting", "running", "silent", "ended", "finished"};
  return kNames.at(static_cast<std::size_t>(stage));
}

StateOfRun state_of_run(const std::filesystem::path& folder,
                        const std::function<std::optional<JobState>(const std::string&)>& ask) {
  StateOfRun state = read_state(folder);
  state.job = read_job(folder);
  if (!report::find_results(folder) && !state.status && !state.job && state.holder.empty())
    throw std::invalid_argument(
        fmt::format("{} contains no run: no results.json, status.json or job.json", folder.string()));
  const bool is_done = state.blocks_planned > 0 && state.blocks_done >= state.blocks_planned;
  if (state.job && !is_done) state.job_state = ask ? ask(state.job->job) : state_of_job(state.job->job);
  state.stage = stage_of(state);
  return state;
}

StateOfRun state_of_task(const std::filesystem::path& folder, const std::optional<JobState>& job_state,
                         std::int32_t blocks_planned) {
  StateOfRun state = read_state(folder);
  state.blocks_planned = blocks_planned;
  state.job_state = job_state;
  state.stage = stage_of(state);
  return state;
}

std::string state_text(const StateOfRun& state, const std::string& folder, std::int64_t now_s,
                       const TableFormat& format) {
  std::string text = wrap(fmt::format("{} {}.", folder, sentence(state, now_s)), format.width);
  if (state.stage == Stage::ended && state.status && !state.status->resume_command.empty())
    text += fmt::format("  continue with: {}\n", state.status->resume_command);
  if (state.cells.empty()) return text;
  Table table{.columns = {{.title = "cell", .align = Align::left}, {.title = "blocks"}, {.title = "of"}}, .rows = {}};
  const bool any_failed =
      std::ranges::any_of(state.cells, [](const StateOfCell& cell) { return !cell.failed_because.empty(); });
  if (any_failed) table.columns.push_back({.title = "failed", .align = Align::left});
  for (const StateOfCell& cell : state.cells) {
    auto& row = table.rows.emplace_back();
    row = {cell.name, std::to_string(cell.blocks_done), std::to_string(state.blocks_planned)};
    if (any_failed) row.emplace_back(cell.failed_because.substr(0, cell.failed_because.find('\n')));
  }
  return text + "\n" + render(table, format) + "\n";
}

void visit_fields(Is<StateOfCell> auto& cell, auto&& field) {
  field("name", cell.name);
  field("blocks_done", cell.blocks_done);
  field("failed_because", cell.failed_because);
}

void visit_fields(Is<JobState> auto& job, auto&& field) {
  field("state", job.state);
  field("reason", job.reason);
  field("nodes", job.nodes);
}

void visit_fields(Is<StateOfRun> auto& state, auto&& field) {
  const RunStatus status = state.status.value_or(RunStatus{});
  const bool is_unknown = !state.status;
  field("stage", state.stage);
  field("blocks_done", state.blocks_done);
  field("blocks_planned", state.blocks_planned);
  field("cells", state.cells);
  field("host", NullIf{status.host, is_unknown});
  field("doing", NullIf{status.doing, is_unknown});
  field("seconds_left", status.seconds_left);
  field("updated_unix_s", NullIf{status.updated_s, is_unknown});
  field("ended_because", NullIf{status.ended_because, is_unknown});
  field("job", Derived{[&] { return job_json(state); }});
}

std::string state_json(const StateOfRun& state) { return fields::document_text(kStateSchema, state); }

}  // namespace underlap::bench
