// SPDX-License-Identifier: Apache-2.0
#include "profiler/input/trace_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "profiler/analysis/steps.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/unreadable.hpp"
#include "profiler/graph/exposure_causes.hpp"
#include "profiler/input/one_job.hpp"
#include "profiler/input/trace_files.hpp"

namespace underlap::input {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kKeptWhole = 256'000'000;  ///< bytes of files
constexpr std::uintmax_t kUnpacked = 8;             ///< what a compressed trace unpacks to, of its own size

std::string cell_of(const Trace& trace) {
  const auto said = trace.metadata.find("cell");
  return said == trace.metadata.end() ? "" : said->second;
}

// "all_reduce (12), all_gather (3)": the collectives that the host launched, as PyTorch's annotations name them.
std::string launched_collectives(const Trace& trace) {
  constexpr std::string_view kPrefix = "nccl:";
  std::map<std::string_view, std::size_t> count;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (const std::string_view name = name_of(trace.name(i)); name.starts_with(kPrefix))
      ++count[name.substr(kPrefix.size())];
  std::string text;
  for (const auto& [name, launches] : count) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, launches);
  return text;
}

// How to record the missing GPU work; empty if the tool is unknown.
std::string recording_advice(const Trace& trace) {
  const auto format = trace.metadata.find("format");
  if (trace.size() == 0 || format == trace.metadata.end()) return "";
  if (format->second == "nsys") return fmt::format("no GPU work was recorded: {}", formats::kRecordWithNsys);
  if (format->second != "kineto") return "";
  const std::string launched = launched_collectives(trace);
  return fmt::format(
      "no GPU work was recorded: {}{}", formats::kRecordWithTorch,
      launched.empty() ? "" : "; the host launched " + launched + ", but the trace lacks their transfers");
}

// A trace of which nothing is left, as one cut in its first lines is.
void check_holds_something(const CellTrace& cell) {
  const Trace& trace = cell.trace;
  bool has_work = !trace.marks.empty();
  for (std::size_t i = 0; i < trace.size() && !has_work; ++i) has_work = trace.is_work(i);
  if (has_work) return;
  std::string skipped;
  for (const auto& [reason, count] : cell.trace.import.skipped)
    skipped += fmt::format("; skipped {}: {}", count, reason);
  if (const std::string advice = recording_advice(trace); !advice.empty())
    throw std::invalid_argument(fmt::format("{}: {}{}", fmt::join(cell.files, ", "), advice, skipped));
  throw std::invalid_argument(
      fmt::format("{}: no usable slice, so there is nothing to analyze{}; give a trace of a run that finished a block, "
                  "or of a program that used a GPU",
                  fmt::join(cell.files, ", "), skipped));
}

// Fails when a compressed trace unpacks to more than kUnpacked times its size: it then needs more memory.
bool keeps_everything(const std::vector<std::string>& files, Keep keep) {
  if (keep != Keep::by_size) return keep == Keep::everything;
  std::uintmax_t bytes = 0;
  for (const fs::path file : files) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    const bool is_packed = file.extension() == ".gz" || file.extension() == ".zst";
    if (!error) bytes += is_packed ? kUnpacked * size : size;
  }
  return bytes <= kKeptWhole;
}

// The work of devices, and the calls that launched communication, which explain why a rank was late.
std::vector<bool> kept_slices(const Trace& trace) {
  std::vector<bool> kept(trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) kept[i] = trace.is_work(i);
  for (const Flow& flow : trace.flows)
    if (flow.kind == FlowKind::launch && trace.tag(flow.to).kind == Kind::communication) kept[flow.from] = true;
  return kept;
}

constexpr std::uint32_t kDropped = ~std::uint32_t{0};

// Appends the kept slices of a file, and the data about the whole trace. Returns where each slice of the file is now.
std::vector<std::uint32_t> append_kept(Trace& all, const Trace& file, const std::vector<bool>& kept,
                                       const Reading& reading) {
  constexpr std::size_t kPolled = std::size_t{1} << 16;
  Trace part;
  part.metadata = file.metadata;
  part.import = file.import;
  part.groups = file.groups;
  part.marks = file.marks;
  part.clocks = file.clocks;
  std::vector<std::uint32_t> place(file.size(), kDropped), track_in_part(file.tracks.size(), kDropped);
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (i % kPolled == 0) reading.check();
    if (!kept[i]) continue;
    place[i] = static_cast<std::uint32_t>(part.size());
    Slice slice = file.slice(i);
    if (std::uint32_t& track = track_in_part[file.track(i)]; track == kDropped)
      track = slice.track = part.add_track(file.track_of(i));
    else
      slice.track = track;
    if (const CommunicationRecord* record = file.communication(i))
      part.add(slice, *record);
    else
      part.add(slice);
  }
  for (const Flow& flow : file.flows)
    if (place[flow.from] != kDropped && place[flow.to] != kDropped)
      part.flows.push_back({place[flow.from], place[flow.to], flow.kind});
  reading.check();
  const auto before = static_cast<std::uint32_t>(all.size());
  all.append(part);
  for (std::uint32_t& slice : place)
    if (slice != kDropped) slice += before;
  return place;
}

bool is_assumed(const Trace& trace) {
  const auto rank = trace.metadata.find("rank");
  return rank != trace.metadata.end() && rank->second == "assumed";
}

void renumber(Trace& trace, std::int32_t first_rank) {
  for (Track& track : trace.tracks) track.rank += first_rank;
  for (Mark& mark : trace.marks) mark.rank += first_rank;
  for (ClockSnapshot& clock : trace.clocks) clock.rank += first_rank;
}

// Adds the rows of one file to those of others, and sorts them by time.
template <class Row, class Key>
void add_rows(std::vector<Row>& all, const std::vector<Row>& rows, Key key) {
  for (const Row& row : rows) {
    const auto same = std::ranges::find_if(all, [&](const Row& other) { return key(other) == key(row); });
    if (same == all.end()) {
      all.push_back(row);
      continue;
    }
    same->count += row.count;
    same->time_ns += row.time_ns;
  }
  std::ranges::stable_sort(all, std::greater(), &Row::time_ns);
}

void add(attribution::AttributionReport& all, const attribution::AttributionReport& file) {
  add_rows(all.attributed, file.attributed, [](const attribution::AttributedBy& evidence) {
    return std::tie(evidence.source, evidence.mode, evidence.confidence_pct, evidence.reason);
  });
  add_rows(all.not_taken, file.not_taken, [](const attribution::NotTaken& left) { return std::tie(left.name); });
  add_rows(all.rules, file.rules, [](const attribution::RuleUse& use) { return std::tie(use.rule); });
}

// The share of each file in all bytes. A file of unknown size has a share of 0: reading it fails with the reason.
std::vector<double> shares_of(const std::vector<std::string>& files) {
  std::vector<double> shares;
  for (const fs::path file : files) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(file, error);
    shares.push_back(error ? 0 : static_cast<double>(bytes));
  }
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share = all > 0 ? share / all : 0;
  return shares;
}

// Reads the files of one job one after the other.
class JobReader {
 public:
  JobReader(const std::vector<std::string>& files, const AttributionOptionsOf& options, Reading& reading,
            const ReadOptions& read)
      : options_(options),
        reading_(reading),
        read_(read),
        assumed_(assumed_ranks(files)),
        keeps_everything_(keeps_everything(files, read.keep)) {
    cell_.files = files;
    cell_.is_whole = keeps_everything_;
  }

  // `shares`: of all bytes those of each file.
  CellTrace read(std::span<const double> shares) {
    for (std::size_t i = 0; i < cell_.files.size(); ++i) read_file(i, shares[i]);
    reading_.say(fmt::format("splitting {} slices", cell_.trace.size()));
    reading_.show_now(cell_.trace);
    job_.check_times();
    if (!contradicting_name_.empty()) cell_.trace.metadata["ranks"] = contradicting_name_;
    cell_.cell = cell_of(cell_.trace);
    check_holds_something(cell_);
    split();
    reading_.say("");
    return std::move(cell_);
  }

 private:
  // Shows no parts while a file after the first is read: its part would look like the whole trace.
  void read_file(std::size_t i, double share) {
    const std::string& file = cell_.files[i];
    const std::string of_all = cell_.files.size() > 1 ? fmt::format(" ({} of {})", i + 1, cell_.files.size()) : "";
    reading_.say("reading " + file + of_all);
    reading_.begin_file(share);
    reading_.hold_parts(i > 0);
    add_file(file, formats::read_trace(file, reading_));
    reading_.hold_parts(false);
    reading_.show(cell_.trace);
  }

  void split() {
    if (keeps_everything_) {
      cell_.attribution = attribution::attribute(cell_.trace, options_(cell_.trace));
      reading_.check();
      steps_ = analysis::find_steps(cell_.trace, read_.steps);
      reading_.check();
      if (read_.reasons) causes_ = graph::find_exposure_causes(cell_.trace);
    }
    steps_.check_choice();
    reading_.check();
    cell_.summary = analysis::match_and_summarize(cell_.trace, std::move(steps_), reading_);
    reading_.check();
    cell_.summary.reasons = analysis::find_exposure_reasons(cell_.trace, causes_, cell_.summary.shown_windows());
    reading_.check();
  }

  void add_file(const std::string& file, Trace trace) {
    if (is_assumed(trace)) {
      const bool has_several = analysis::ranks_of(trace).size() > 1;
      const auto named = assumed_.by_file.find(file);
      renumber(trace, has_several || named == assumed_.by_file.end() ? next_rank_ : named->second);
      trace.metadata["ranks"] =
          has_several ? "numbered by device, file by file, since the traces do not record them" : assumed_.how;
    }
    const std::vector<std::int32_t> ranks = analysis::ranks_of(trace);
    if (const auto named = rank_in_name(file);
        !is_assumed(trace) && named && ranks.size() == 1 && ranks.front() != *named && contradicting_name_.empty())
      contradicting_name_ =
          fmt::format("as recorded in the traces; {} has rank {}, unlike its name", file, ranks.front());
    if (!ranks.empty()) next_rank_ = std::max(next_rank_, ranks.back() + 1);
    leave_out_clocks_of_other_hosts(trace);
    analysis::choose_marks(trace, read_.steps);
    job_.add(file, trace);
    if (keeps_everything_) {
      if (cell_.files.size() == 1)
        cell_.trace = std::move(trace);
      else
        cell_.trace.append(trace);
      return;
    }
    add(cell_.attribution, attribution::attribute(trace, options_(trace)));
    reading_.check();
    steps_.append(analysis::find_steps(trace, read_.steps));
    reading_.check();
    std::vector<analysis::ExposureCause> causes;
    if (read_.reasons) causes = graph::find_exposure_causes(trace);
    reading_.check();
    const std::vector<bool> kept = kept_slices(trace);
    if (cell_.files.size() == 1 && std::ranges::find(kept, false) == kept.end()) {
      cell_.trace = std::move(trace);
      causes_ = std::move(causes);
      return;
    }
    const std::vector<std::uint32_t> place = append_kept(cell_.trace, trace, kept, reading_);
    for (analysis::ExposureCause& cause : causes) {
      cause.slice = place[cause.slice];
      causes_.push_back(cause);
    }
  }

  // Clocks of different hosts cannot be compared.
  void leave_out_clocks_of_other_hosts(Trace& trace) {
    const auto host = trace.metadata.find("host_name");
    if (host == trace.metadata.end()) return;
    hosts_.insert(host->second);
    if (hosts_.size() < 2) return;
    trace.clocks.clear();
    cell_.trace.clocks.clear();
  }

  const AttributionOptionsOf& options_;
  Reading& reading_;
  const ReadOptions& read_;
  CellTrace cell_;
  OneJob job_;
  AssumedRanks assumed_;
  analysis::StepList steps_;
  std::vector<analysis::ExposureCause> causes_;
  bool keeps_everything_;
  std::int32_t next_rank_ = 0;
  std::set<std::string> hosts_;
  std::string contradicting_name_;  // the first file whose name has another rank than its trace
};

}  // namespace

CellTrace read_cell(const std::vector<std::string>& files, const AttributionOptionsOf& options, ReadingWatch& watch,
                    const ReadOptions& read) {
  Reading reading(watch);
  CellTrace cell = JobReader(files, options, reading, read).read(shares_of(files));
  reading.end();
  return cell;
}

// Two cells have the same ranks and steps, and adding them up would mean nothing.
void for_each_cell(const std::string& folder, const std::optional<std::string>& wanted,
                   const AttributionOptionsOf& options, ReadingWatch& watch,
                   const std::function<void(CellTrace&&)>& take, const ReadOptions& read) {
  Reading reading(watch);
  const std::vector<std::string> files = traces_of_run(folder);
  const std::vector<double> shares = shares_of(files);
  std::set<std::string> names;
  bool is_found = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    CellTrace cell = JobReader({files[i]}, options, reading, read).read(std::span(&shares[i], 1));
    names.insert(cell.cell);
    if (wanted && cell.cell != *wanted) continue;
    is_found = true;
    take(std::move(cell));
  }
  reading.end();
  if (!is_found)
    throw std::invalid_argument(fmt::format("--cell is \"{}\", which has no trace in {}; must be one of: {}", *wanted,
                                            folder, fmt::join(names, ", ")));
}

}  // namespace underlap::input
