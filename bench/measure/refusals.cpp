// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "bench/ranks/cuda_backend.hpp"
#include "bench/ranks/host_room.hpp"
#include "bench/ranks/session.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/model/text_data.hpp"

namespace underlap::bench {
namespace {

/// Location of the request for `knob`, or the file if nobody requested it.
std::string place_of(const plan::Matrix& matrix, const plan::Cell& cell, std::string_view knob) {
  for (const plan::Knob& each : cell.plan.knobs)
    if (each.name == knob && !each.where.empty()) return each.where;
  return matrix.source.where;
}

void add_once(std::vector<plan::Message>& messages, plan::Message message) {
  const auto is_known = [&](const plan::Message& m) {
    return m.where == message.where && m.message == message.message;
  };
  if (std::ranges::none_of(messages, is_known)) messages.push_back(std::move(message));
}

/// The message of a std::invalid_argument that `attempt` throws; empty if it succeeds. May have several lines, one per
/// error in a file.
std::string complaint_of(const auto& attempt) {
  try {
    attempt();
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

void add_error(plan::Matrix& matrix, plan::Cell& cell, std::string_view knob, const std::string& complaint) {
  if (complaint.empty()) return;
  const plan::Message message{place_of(matrix, cell, knob), complaint};
  add_once(cell.plan.errors, message);
  add_once(matrix.errors, message);
}

/// An unreadable file that the configuration names is an error. A sequence longer than the included text is an error if
/// the cell is to run here, and otherwise only a reason not to run it.
void check_data_files(plan::Matrix& matrix, bool is_to_be_run) {
  std::map<std::pair<std::string, std::int64_t>, std::string> known;
  for (plan::Cell& cell : matrix.cells) {
    const plan::Config& c = cell.plan.config;
    if (!c.run.reads_values()) continue;
    const auto [entry, is_new] = known.try_emplace({c.train.data, c.model.seq_length});
    if (is_new)
      entry->second = complaint_of([&] { model::TextData::open(c.train.data, c.model.seq_length, c.run.seed); });
    const bool is_named = !c.train.data.empty();
    if (is_named || is_to_be_run)
      add_error(matrix, cell, is_named ? "train.data" : "model.seq_length", entry->second);
    else if (!entry->second.empty())
      add_once(cell.plan.not_run, {place_of(matrix, cell, "model.seq_length"), entry->second});
  }
}

void check_hardware(plan::Matrix& matrix) {
  std::map<std::tuple<std::string, std::int64_t, int>, std::string> known;
  for (plan::Cell& cell : matrix.cells) {
    const plan::Config& c = cell.plan.config;
    if (c.run.backend != Backend::sim) continue;
    const auto [entry, is_new] =
        known.try_emplace({c.run.hardware, c.run.gpus_per_node.value_or(0), c.environment.layernorm_sm_margin});
    if (is_new) entry->second = complaint_of([&] { sim::make_time_model(c); });
    add_error(matrix, cell, "run.hardware", entry->second);
  }
}

// All cells share blocks, so they cannot differ in the settings of a block.
void check_blocks_are_shared(plan::Matrix& matrix) {
  const auto shape = [](const plan::RunConfig& r) {
    return std::tuple(r.backend, r.steps, r.blocks, r.warmup, r.peer_timeout_s, r.rank_processes);
  };
  const auto other = std::ranges::find_if(matrix.cells, [&](const plan::Cell& cell) {
    return shape(cell.plan.config.run) != shape(matrix.cells.front().plan.config.run);
  });
  if (other == matrix.cells.end()) return;
  const plan::Message message{
      matrix.source.where,
      fmt::format("cell {} differs in run.backend, steps, blocks, warmup, peer_timeout_s or rank_processes: all cells "
                  "of a matrix share their blocks; use two runs to compare these settings",
                  other->name)};
  for (plan::Cell& cell : matrix.cells) add_once(cell.plan.errors, message);
  add_once(matrix.errors, message);
}

const std::vector<plan::Message>& reasons_of(const plan::Plan& plan) {
  return plan.errors.empty() ? plan.not_run : plan.errors;
}

report::RefusedCell refused(const plan::Cell& cell) {
  report::RefusedCell result{.name = cell.name, .values = cell.values, .because = {}};
  for (const plan::Message& reason : reasons_of(cell.plan)) result.because.push_back(reason.text());
  return result;
}

void add_not_run(plan::Matrix& matrix, const CellPart& cells, std::string_view knob, const std::string& complaint) {
  if (complaint.empty()) return;
  for (const std::size_t cell : cells)
    add_once(matrix.cells[cell].plan.not_run, {place_of(matrix, matrix.cells.front(), knob), complaint});
}

}  // namespace

void find_unreadable_data(plan::Matrix& matrix) {
  if (!matrix.has_errors()) check_data_files(matrix, true);
}

void find_refusals(plan::Matrix& matrix, bool has_launcher) {
  if (matrix.has_errors()) return;
  check_blocks_are_shared(matrix);
  check_data_files(matrix, false);
  check_hardware(matrix);
  if (matrix.has_errors()) return;
  if (std::ranges::any_of(matrix.cells, [](const plan::Cell& cell) { return !cell.plan.not_run.empty(); })) return;
  if (has_launcher && matrix.cells.front().plan.config.run.backend != Backend::sim) return;
  if (matrix.cells.front().plan.config.run.backend == Backend::cuda)
    return add_not_run(matrix, all_cells(matrix.cells.size()), "run.backend",
                       complaint_of([&] { check_cuda_backend(matrix.cells); }));
  for (const CellPart& part : session_parts(matrix.cells, nullptr))
    add_not_run(matrix, part, "", complaint_of([&] { check_planned_memory(matrix.cells, part); }));
}

std::vector<report::RefusedCell> take_out_refused(plan::Matrix& matrix) {
  const auto is_refused = [](const plan::Cell& cell) { return !reasons_of(cell.plan).empty(); };
  if (std::ranges::all_of(matrix.cells, is_refused) || std::ranges::none_of(matrix.cells, is_refused)) return {};
  std::vector<report::RefusedCell> taken_out;
  for (const plan::Cell& cell : matrix.cells)
    if (is_refused(cell)) taken_out.push_back(refused(cell));
  std::erase_if(matrix.cells, is_refused);
  matrix.errors.clear();  // errors of the whole file also belong to every cell
  std::erase_if(matrix.source.overrides, [](const plan::Override& o) { return o.first == plan::kOneCell; });
  for (const plan::Cell& cell : matrix.cells) matrix.source.overrides.emplace_back(plan::kOneCell, cell.name);
  return taken_out;
}

std::vector<report::RefusedCell> keep_runnable(plan::Matrix& matrix, bool has_launcher) {
  std::vector<report::RefusedCell> taken_out = take_out_refused(matrix);
  find_refusals(matrix, has_launcher);
  if (has_launcher) return taken_out;  // the other launched processes only check plans
  for (auto more = take_out_refused(matrix); !more.empty(); more = take_out_refused(matrix)) {
    taken_out.insert(taken_out.end(), more.begin(), more.end());
    find_refusals(matrix);
  }
  return taken_out;
}

}  // namespace underlap::bench
