// SPDX-License-Identifier: Apache-2.0
#include "profiler/input/trace_files.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <stdexcept>
#include <system_error>

#include "profiler/formats/format.hpp"

namespace underlap::input {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }

std::string_view digits_at(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  return text.substr(0, end);
}

std::string_view without_zeros(std::string_view digits) {
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

std::string lower(std::string text) {
  for (char& c : text)
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// The number that follows `word`, which no letter goes before.
std::optional<std::int32_t> number_after(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    if (at > 0 && is_letter(name[at - 1])) continue;
    std::string_view rest = name.substr(at + word.size());
    if (!rest.empty() && std::string_view("-_.= ").find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
    const std::string_view digits = digits_at(rest);
    std::int32_t number = 0;
    if (!digits.empty() && std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc())
      return number;
  }
  return std::nullopt;
}

// The extension for the format, before a compression suffix.
std::string extension_of(const fs::path& file) {
  fs::path name = file.filename();
  if (name.extension() == ".zst" || name.extension() == ".gz") name = name.stem();
  return name.extension().string();
}

bool is_native(const fs::path& file) { return extension_of(file) == ".pftrace"; }

bool has_extension_of_a_trace(const fs::path& file) {
  return std::ranges::any_of(formats::formats(),
                             [&](const formats::Format& format) { return extension_of(file) == format.extension; });
}

// Whether its first bytes are those of a trace. What cannot be read is none.
bool begins_as_a_trace(const fs::path& file) {
  try {
    return formats::is_trace(file);
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error) throw std::invalid_argument(fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
  std::vector<fs::path> files;
  for (const auto& entry : entries)
    if (std::error_code none; entry.is_regular_file(none)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// The folders "iteration_10", ... of torchtitan, in natural order: each holds the traces of all ranks.
std::vector<std::string> iterations_in(const fs::path& folder) {
  constexpr std::string_view kPrefix = "iteration_";
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (entry.is_directory(ignored) && name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
        digits_at(std::string_view(name).substr(kPrefix.size())).size() + kPrefix.size() == name.size())
      found.push_back(entry.path().string());
  }
  std::ranges::sort(found, naturally_before);
  return found;
}

// Names the first file of a folder that is known to be unreadable.
std::string unreadable_in(const fs::path& folder) {
  constexpr std::size_t kMostTried = 100;
  std::size_t tried = 0;
  for (const fs::path& file : files_in(folder)) {
    if (++tried > kMostTried) break;
    try {
      if (const std::string what = formats::unreadable_file(file); !what.empty())
        return fmt::format("; {} is {}", file.filename().string(), what);
    } catch (const std::invalid_argument&) {
      continue;
    }
  }
  return "; give a trace, or the folder of a run that recorded traces";
}

[[noreturn]] void refuse_folder(const fs::path& folder) {
  throw std::invalid_argument(fmt::format("{}: a folder without traces{}", folder.string(), unreadable_in(folder)));
}

[[noreturn]] void refuse_iterations(const fs::path& folder, const std::vector<std::string>& iterations) {
  throw std::invalid_argument(
      fmt::format("{}: has the traces of {} iterations; analyze one at a time: give one "
                  "of: {}",
                  folder.string(), iterations.size(), fmt::join(iterations, ", ")));
}

// Adds the traces of a folder or, if it has none, those of the only iteration in it.
void add_folder(const fs::path& folder, std::vector<std::string>& files) {
  const std::size_t before = files.size();
  for (const fs::path& file : files_in(folder))
    if (has_extension_of_a_trace(file) && begins_as_a_trace(file)) files.push_back(file.string());
  if (files.size() > before) return;
  const std::vector<std::string> iterations = iterations_in(folder);
  if (iterations.size() > 1) refuse_iterations(folder, iterations);
  if (iterations.empty()) refuse_folder(folder);
  add_folder(iterations.front(), files);
}

struct FreeGlob {
  void operator()(glob_t* found) const { ::globfree(found); }
};

// Adds an argument without wildcards as it is, and so a file whose name has wildcards: reading it reports any error.
// Throws std::invalid_argument if no file matches a pattern.
void add_pattern(const std::string& pattern, std::vector<std::string>& files) {
  std::error_code ignored;
  if (pattern.find_first_of("*?[") == std::string::npos || fs::exists(pattern, ignored)) {
    files.push_back(pattern);
    return;
  }
  glob_t found{};
  const std::unique_ptr<glob_t, FreeGlob> freed(&found);
  if (::glob(pattern.c_str(), 0, nullptr, &found) != 0 || found.gl_pathc == 0) {
    const fs::path folder = fs::path(pattern).parent_path();
    throw std::invalid_argument(
        fmt::format("{}: no file matches this pattern; see `ls {}`", pattern, folder.empty() ? "." : folder.string()));
  }
  for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
}

}  // namespace

bool naturally_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view digits_a = digits_at(a);
    const std::string_view digits_b = digits_at(b);
    if (digits_a.empty() || digits_b.empty()) {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const std::string_view number_a = without_zeros(digits_a);
    const std::string_view number_b = without_zeros(digits_b);
    if (number_a != number_b)
      return number_a.size() != number_b.size() ? number_a.size() < number_b.size() : number_a < number_b;
    a.remove_prefix(digits_a.size());
    b.remove_prefix(digits_b.size());
  }
  return a.size() < b.size();
}

std::optional<std::int32_t> rank_in_name(const fs::path& file) {
  const std::string name = lower(file.filename().string());
  const auto rank = number_after(name, "rank");
  return rank ? rank : number_after(name, "worker");
}

bool is_run_folder(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  if (fs::is_directory(path / "traces", error)) return iterations_in(path / "traces").empty();
  return std::ranges::any_of(files_in(path), is_native);
}

std::vector<std::string> traces_of_run(const fs::path& folder) {
  std::error_code error;
  const fs::path where = fs::is_directory(folder / "traces", error) ? folder / "traces" : folder;
  std::vector<std::string> files;
  for (const fs::path& file : files_in(where))
    if (is_native(file)) files.push_back(file.string());
  if (files.empty()) refuse_folder(where);
  return files;
}

std::vector<std::string> trace_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    const fs::path traces = fs::path(argument) / "traces";  // torchtitan: profiling/traces/iteration_N
    if (fs::is_directory(argument, ignored))
      add_folder(iterations_in(traces).empty() ? fs::path(argument) : traces, files);
    else
      add_pattern(argument, files);
  }
  std::ranges::stable_sort(files, naturally_before);
  return files;
}

AssumedRanks assumed_ranks(const std::vector<std::string>& files) {
  AssumedRanks assumed;
  std::set<std::int32_t> taken;
  for (const std::string& file : files)
    if (const auto rank = rank_in_name(file); rank && taken.insert(*rank).second) assumed.by_file[file] = *rank;
  if (assumed.by_file.size() == files.size()) {
    assumed.how = "taken from the file names, since the traces do not record them";
    return assumed;
  }
  assumed.by_file.clear();
  assumed.how = files.size() == 1 ? "not recorded in the trace; rank 0 is assumed"
                                  : "numbered in file name order, since neither traces nor names record them";
  return assumed;
}

}  // namespace underlap::input
