// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/process_session.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "profiler/analysis/arrivals.hpp"

namespace underlap::bench {
namespace {

// A program that is loaded from a slow disk, with all its libraries.
constexpr std::chrono::seconds kPatienceToStart{60};

// What fails is a cell's, which another session may get further with.
auto guarded(std::size_t cell, const auto& work) {
  try {
    return work();
  } catch (const MachineError& error) {
    throw CellFailure(cell, error.what());
  }
}

}  // namespace

ProcessOptions options_of_gpu_ranks() {
  return {.environment = launch_environment,
          .is_profiled = [](const plan::Plan& plan) { return plan.config.run.trace; }};
}

ProcessSession::ProcessSession(std::span<const plan::Cell> cells, std::int32_t first_step,
                               const SessionOptions& session, const ProcessOptions& options)
    : cells_(cells), session_(session), options_(options), plans_hash_(plans_hash(cells)), next_step_(first_step) {
  options_.ranks.starter = session.starter;
  options_.ranks.log_folder = session.log_folder;
  options_.ranks.peer_timeout = peer_timeout(cells);
  for (const std::size_t cell : session.cells ? *session.cells : all_cells(cells.size())) {
    const Environment environment = options.environment ? options.environment(cells[cell].plan) : Environment{};
    const bool is_profiled = options.is_profiled && options.is_profiled(cells[cell].plan);
    auto set = std::ranges::find_if(sets_, [&](const RankSet& known) {
      return known.environment == environment && known.is_profiled == is_profiled;
    });
    if (set == sets_.end()) set = sets_.insert(set, RankSet{environment, is_profiled, {}, 1, nullptr});
    set->cells.push_back(cell);
    set->num_ranks = std::max(set->num_ranks, num_ranks(cells[cell]));
  }
  start_all();
}

void ProcessSession::start_all() {
  for (RankSet& set : sets_) set.ranks.reset();  // all at once: what the old ones held is free for the new ones
  for (RankSet& set : sets_) start(set);
}

void ProcessSession::start(RankSet& set) {
  RankGroupOptions options = options_.ranks;
  options.environment = set.environment;
  set.ranks = std::make_unique<RankGroup>(set.num_ranks, options);
  std::vector<std::string> orders;
  for (std::int32_t rank = 0; rank < set.num_ranks; ++rank) orders.push_back(to_message(start_order(set, rank)));
  set.ranks->ask(RankMessage::start, orders, "start", options.peer_timeout + kPatienceToStart);
  for (const std::size_t cell : set.cells)
    ask(cell, RankMessage::build, {.cell = cell}, fmt::format("build cell {}", cells_[cell].name));
  set.ranks->end_exchange();
}

StartOrder ProcessSession::start_order(const RankSet& set, std::int32_t rank) const {
  StartOrder order{.rank = rank,
                   .world_size = set.num_ranks,
                   .cells = set.cells,
                   .first_step = next_step_,
                   .environment = {.local_rank = rank},
                   .source = session_.source,
                   .plans_hash = plans_hash_};
  if (session_.placement == nullptr) return order;
  const RankPlace& place = session_.placement->ranks[static_cast<std::size_t>(rank)];
  order.environment = {.address = place.address,
                       .local_rank = place.local_rank,
                       .num_sharing = session_.placement->num_sharing(rank, set.num_ranks),
                       .is_launched = true};
  return order;
}

ProcessSession::RankSet& ProcessSession::set_of(std::size_t cell) {
  return *std::ranges::find_if(
      sets_, [cell](const RankSet& set) { return std::ranges::find(set.cells, cell) != set.cells.end(); });
}

std::vector<std::string> ProcessSession::ask(std::size_t cell, RankMessage order, const CellOrder& what,
                                             const std::string& task) {
  const std::vector<std::string> payloads(static_cast<std::size_t>(num_ranks(cells_[cell])), to_message(what));
  return guarded(cell, [&] { return set_of(cell).ranks->ask(order, payloads, task); });
}

// All ranks are done before the first is emptied: sending a trace would take the processor from one that still runs.
report::BlockRun ProcessSession::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  const CellOrder order{.cell = cell, .block = block, .steps = steps};
  const std::string what = fmt::format("{} steps of cell {}, {}", steps, cells_[cell].name,
                                       block < 0 ? "warm-up" : fmt::format("block {}", block));
  const Clocks before = read_clocks(cell);
  set_clocks(cell, before);
  ask(cell, RankMessage::run, order, "run " + what);
  const std::int64_t residual_ns = residual(before, read_clocks(cell));
  std::vector<RankRun> runs;
  report::BlockFigures figures;
  for (RankReport& report : take_reports(cell, order, what)) {
    append(figures, std::move(*report.figures));
    runs.push_back(std::move(report.run));
  }
  report::BlockRun result = joined(std::move(runs), steps);
  result.figures = std::move(figures);
  for (const auto& [rank, pause] : set_of(cell).ranks->take_pauses())
    result.notes.push_back(fmt::format("rank {} was stopped (SIGSTOP, or a debugger) for about {:.1f} s", rank,
                                       static_cast<double>(pause.count()) / 1e3));
  next_step_ = std::max(next_step_, result.first_step + result.num_steps);
  result.clock_residual_ns = residual_ns;
  return result;
}

std::vector<RankReport> ProcessSession::take_reports(std::size_t cell, const CellOrder& order,
                                                     const std::string& what) {
  last_run_ = what;
  std::vector<RankReport> reports;
  for (const std::string& answer : ask(cell, RankMessage::take, order, "report the results of " + what))
    reports.push_back(decode_report(answer, fmt::format("rank {}", reports.size())));
  complete(cell, reports, what);
  return reports;
}

// Those whose communications no member could know the last arrival of: their starts lie side by side only here.
void ProcessSession::complete(std::size_t cell, std::vector<RankReport>& reports, const std::string& what) {
  if (std::ranges::all_of(reports, [](const RankReport& report) { return report.figures.has_value(); })) return;
  std::vector<Trace> parts;
  for (RankReport& report : reports) parts.push_back(std::exchange(report.run.trace, {}));
  const std::vector<std::vector<std::int64_t>> arrivals = analysis::last_arrivals(parts);
  RankGroup::Orders orders;
  for (std::size_t rank = 0; rank < reports.size(); ++rank)
    if (!reports[rank].figures) orders.emplace_back(static_cast<std::int32_t>(rank), to_message(arrivals[rank]));
  const std::vector<std::string> answers = guarded(cell, [&] {
    return set_of(cell).ranks->ask_ranks(RankMessage::arrivals, orders, "split its windows of " + what);
  });
  for (std::size_t i = 0; i < orders.size(); ++i)
    reports[static_cast<std::size_t>(orders[i].first)].figures = report::decode_figures(answers[i]);
}

Trace ProcessSession::take_trace(std::size_t cell, std::span<const std::int32_t> ranks) {
  RankGroup::Orders orders;
  for (const std::int32_t rank : ranks) orders.emplace_back(rank, to_message(CellOrder{.cell = cell}));
  const std::vector<std::string> answers = guarded(cell, [&] {
    return set_of(cell).ranks->ask_ranks(RankMessage::trace, orders, "send the trace of " + last_run_);
  });
  Trace trace;
  for (std::size_t i = 0; i < answers.size(); ++i)
    trace.append(decode_trace(answers[i], fmt::format("rank {}", orders[i].first)));
  return trace;
}

// One rank of each clock that is not rank 0's, whose process's clock this is too.
ProcessSession::Clocks ProcessSession::read_clocks(std::size_t cell) {
  Clocks clocks;
  if (session_.placement == nullptr) return clocks;
  const std::vector<RankPlace>& places = session_.placement->ranks;
  for (std::int32_t rank = 1; rank < num_ranks(cells_[cell]); ++rank) {
    const std::string& clock = places[static_cast<std::size_t>(rank)].clock;
    if (clock != places.front().clock && !clocks.contains(clock))
      clocks[clock] = guarded(cell, [&] { return set_of(cell).ranks->read_clock(rank); });
  }
  return clocks;
}

void ProcessSession::set_clocks(std::size_t cell, const Clocks& clocks) {
  for (std::int32_t rank = 1; !clocks.empty() && rank < num_ranks(cells_[cell]); ++rank)
    if (const auto clock = clocks.find(session_.placement->ranks[static_cast<std::size_t>(rank)].clock);
        clock != clocks.end())
      guarded(cell, [&] { set_of(cell).ranks->set_clock_offset(rank, clock->second.offset_ns); });
}

// By which a time may be wrong: what either reading may be, or what the clock has drifted between them.
std::int64_t ProcessSession::residual(const Clocks& before, const Clocks& after) {
  std::int64_t residual = 0;
  for (const auto& [clock, reading] : before) {
    const ClockReading& later = after.at(clock);
    residual =
        std::max({residual, reading.residual_ns, later.residual_ns, std::abs(later.offset_ns - reading.offset_ns)});
  }
  return residual;
}

void ProcessSession::reserve(std::size_t cell, std::int64_t steps) {
  ask(cell, RankMessage::reserve, {.cell = cell, .steps = steps},
      fmt::format("reserve memory for {} steps of cell {}", steps, cells_[cell].name));
}

std::int32_t ProcessSession::round_of(std::int32_t block) const {
  const auto blocks = static_cast<std::int32_t>(cells_.front().plan.config.run.blocks);
  return blocks <= kRounds ? block : static_cast<std::int32_t>(std::int64_t{block} * kRounds / blocks);
}

bool ProcessSession::begin_block(std::int32_t block) {
  if (sets_.size() < 2) return false;
  const std::int32_t round = round_of(block);
  const bool is_new = round_.has_value() && *round_ != round;
  round_ = round;
  if (is_new) start_all();
  return is_new;
}

std::vector<pid_t> ProcessSession::pids() const {
  std::vector<pid_t> all;
  for (const RankSet& set : sets_)
    for (const pid_t pid : set.ranks->pids()) all.push_back(pid);
  return all;
}

}  // namespace underlap::bench
