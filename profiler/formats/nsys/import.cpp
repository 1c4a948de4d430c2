// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/import.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <system_error>

namespace underlap::formats::nsys {
namespace {

constexpr std::size_t kLongestName = 1 << 16;
constexpr std::array kLongTables{"CUPTI_ACTIVITY_KIND_KERNEL",
                                 "CUPTI_ACTIVITY_KIND_MEMCPY",
                                 "CUPTI_ACTIVITY_KIND_MEMSET",
                                 "CUPTI_ACTIVITY_KIND_RUNTIME",
                                 "NVTX_EVENTS",
                                 "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                 "CUPTI_ACTIVITY_KIND_CUDA_EVENT"};

std::string first_text(const Database& database, const std::string& table, const char* column,
                       std::string_view only = "") {
  Rows rows(database, table, {column}, only);
  return rows.next() ? std::string(rows.text(0)) : std::string();
}

std::int64_t first_integer(const Database& database, const std::string& table, const char* column) {
  Rows rows(database, table, {column});
  return rows.next() ? rows.integer_or(0, 0) : 0;
}

}  // namespace

std::int32_t rank_in(std::string_view text) {
  if (text.starts_with('[')) text.remove_prefix(1);
  constexpr std::string_view kWord = "rank";
  if (text.size() <= kWord.size() || text.size() > 16) return -1;
  for (std::size_t i = 0; i < kWord.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[i])) != kWord[i]) return -1;
  text.remove_prefix(kWord.size());
  while (!text.empty() && std::string_view(" :=_-").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  if (text.ends_with(']')) text.remove_suffix(1);
  std::int32_t rank = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return code == std::errc() && end == text.data() + text.size() && rank >= 0 ? rank : -1;
}

Import::Import(const Database& database, Reading& reading)
    : database_(&database), reading_(&reading), string_by_id_(database, "StringIds", {"value"}, "id = ?1") {
  trace.metadata["format"] = "nsys";
  for (const char* table : kLongTables) about_rows_ += database.about_rows(table);
  read_clock();
  read_strings();
  read_thread_names();
}

void Import::report_progress() {
  reading_->at(rows_, about_rows_);
  reading_->show(trace);
}

// 1364242|cudaLaunchKernel_v7000
void Import::read_strings() {
  if (database_->is_key("StringIds", "id")) return;
  Rows rows(*database_, "StringIds", {"id", "value"});
  while (next(rows))
    if (const auto id = rows.integer(0)) strings_.emplace(*id, rows.text(1).substr(0, kLongestName));
  end_table("StringIds", rows);
}

// Times of events and ANALYSIS_DETAILS.startTime count from the same moment: the start of the session, or of the
// machine's clock. The start of the session in Unix time is a separate value. Exported with --ts-normalize they are
// Unix time.
// utcEpochNs 1779782330176752435, startTime 28254349605: time 60111513113 of an event is 31.86 s after the start.
void Import::read_clock() {
  const bool is_unix =
      first_text(*database_, "META_DATA_EXPORT", "value", "name = 'EXPORT_PARAM_TIME_NORMALIZE'") == "true";
  const std::int64_t session_ns = first_integer(*database_, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs");
  if (is_unix || session_ns <= 0) return;
  const std::int64_t start_ns = first_integer(*database_, "ANALYSIS_DETAILS", "startTime");
  if (__builtin_sub_overflow(session_ns, start_ns, &base_ns_)) {
    base_ns_ = 0;
    return skip("session with an overflowing start");
  }
  trace.metadata["time_base_ns"] = fmt::format("{}", base_ns_);
}

// 281474993487873|28, a string that is "dumb-init"
void Import::read_thread_names() {
  Rows rows(*database_, "ThreadNames", {"globalTid", "nameId"});
  while (next(rows)) {
    const auto tid = rows.integer(0);
    const auto name = string(rows.integer_or(1, -1));
    if (tid && name && !name->empty()) thread_names_.emplace(*tid, *name);
  }
}

void Import::end_table(const std::string& table, const Rows& rows) {
  report_progress();
  if (!rows.fault().empty()) skip(fmt::format("rest of {}: {}", table, rows.fault()));
}

std::optional<std::int64_t> Import::time(std::int64_t file_ns) const {
  std::int64_t time_ns = 0;
  if (__builtin_add_overflow(base_ns_, file_ns, &time_ns)) return std::nullopt;
  return time_ns;
}

std::optional<Import::Span> Import::span(const Rows& rows, std::string_view what) {
  const auto begin = rows.integer(0);
  const auto end = rows.integer(1);
  const auto refuse = [&](std::string_view why) {
    skip(fmt::format("{} {}", what, why));
    return std::nullopt;
  };
  if (!begin) return refuse("whose start is not an integer");
  if (!end) return refuse(rows.is_null(1) ? "without an end" : "whose end is not an integer");
  Span span;
  if (*end < *begin) return refuse("that ends before it starts");
  const auto start_ns = time(*begin);
  if (!start_ns || !time(*end) || __builtin_sub_overflow(*end, *begin, &span.duration_ns))
    return refuse("whose time overflows");
  span.start_ns = *start_ns;
  return span;
}

void Import::add(std::uint32_t track, const Span& span, NameId name, Kind kind, const LaunchShape& shape) {
  trace.add({.track = track,
             .start_ns = span.start_ns,
             .duration_ns = span.duration_ns,
             .name = name,
             .tag = {.kind = kind},
             .attribution = kNotAttributed,
             .shape = shape});
}

std::optional<std::string_view> Import::string(std::int64_t id) {
  if (!database_->is_key("StringIds", "id")) {
    const auto found = strings_.find(id);
    return found == strings_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }
  string_by_id_.restart(id);
  if (string_by_id_.next()) return string_by_id_.text(0).substr(0, kLongestName);
  return std::nullopt;
}

NameId Names::operator()(std::int64_t id) {
  const auto found = names_.find(id);
  if (found != names_.end()) return found->second;
  const auto text = import_->string(id);
  if (!text) import_->skip("name missing from StringIds");
  return names_.emplace(id, text ? intern(shorten_(*text)) : kNoName).first->second;
}

std::uint32_t Import::owner(const Owner& wanted) {
  const auto [found, is_new] = owner_index_.try_emplace(wanted, static_cast<std::uint32_t>(owners.size()));
  if (is_new) owners.push_back(wanted);
  return found->second;
}

bool Import::has_work(Process process) const {
  const auto is_there = [&](Process wanted) {
    const auto found = owner_index_.lower_bound({wanted, 0});
    return found != owner_index_.end() && found->first.process == wanted;
  };
  return device_work.empty() || is_there(process) || is_there(kUnknownProcess);
}

std::uint32_t Import::add_track(const TrackKey& key, std::string name) {
  const auto index = static_cast<std::uint32_t>(trace.tracks.size());
  trace.tracks.push_back({.rank = static_cast<std::int32_t>(key.owner),
                          .stream = key.number,
                          .name = std::move(name),
                          .kind = key.kind,
                          .device = owners[key.owner].device});
  tracks_.emplace(key, index);
  return index;
}

std::uint32_t Import::stream_track(const Owner& whose, std::int32_t stream) {
  const TrackKey key{owner(whose), TrackKind::stream, stream, 0};
  const auto found = tracks_.find(key);
  return found != tracks_.end() ? found->second : add_track(key, fmt::format("stream {}", stream));
}

std::uint32_t Import::thread_track(std::int64_t global_tid) {
  const TrackKey key{owner({process_of(global_tid), -1}), TrackKind::thread, thread_of(global_tid), 0};
  const auto found = tracks_.find(key);
  if (found != tracks_.end()) return found->second;
  const auto name = thread_names_.find(global_tid);
  return add_track(key, name == thread_names_.end() ? fmt::format("thread {}", key.number)
                                                    : fmt::format("{} {}", name->second, key.number));
}

std::uint32_t Import::range_track(std::int64_t global_tid, std::int64_t row, const std::string& name) {
  const TrackKey key{owner({process_of(global_tid), -1}), TrackKind::range, thread_of(global_tid), row};
  const auto found = tracks_.find(key);
  return found != tracks_.end() ? found->second : add_track(key, name);
}

}  // namespace underlap::formats::nsys
