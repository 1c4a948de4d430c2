// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <system_error>

#include "platform/errors.hpp"
#include "platform/input/input_file.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/unreadable.hpp"

namespace underlap::formats {
namespace {

std::string written_extensions() {
  std::string list;
  for (const Format& format : formats()) {
    if (format.write == nullptr) continue;
    list += fmt::format("{}{}, {}.zst", list.empty() ? "" : ", ", format.extension, format.extension);
    if (format.gzip) list += fmt::format(", {}.gz", format.extension);
  }
  return list;
}

std::string known_formats() {
  std::string list;
  for (const Format& format : formats())
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", format.name, format.extension);
  return list;
}

// The format for a file's extension, which may precede a compression suffix.
const Format& format_of(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  const bool is_gzip = name.extension() == ".gz";
  if (is_gzip || name.extension() == ".zst") name = name.stem();
  for (const Format& format : formats())
    if (format.write != nullptr && name.extension() == format.extension && (!is_gzip || format.gzip)) return format;
  throw std::invalid_argument(
      fmt::format("{}: no output format has this extension; known: {}", path.string(), written_extensions()));
}

FileBytes first_bytes(const std::filesystem::path& path) {
  ByteStream stream(path);
  return read_bytes(stream, {.bytes = kSniffBytes});
}

// nullptr: a trace of no known format. A file that is known to be unreadable may begin like a trace.
const Format* format_with(std::string_view bytes) {
  if (!unreadable(bytes).empty()) return nullptr;
  const auto format = std::ranges::find_if(formats(), [&](const Format& one) { return one.sniff(bytes); });
  return format == formats().end() ? nullptr : &*format;
}

Trace read_as(const Format& format, const std::filesystem::path& path, Reading& reading) {
  try {
    return format.read(path, reading);
  } catch (const std::bad_alloc&) {
    std::error_code ignored;
    throw MachineError(
        fmt::format("{}: out of memory while reading; the file has {:.3g} GB, and its trace needs about three times "
                    "its uncompressed size",
                    path.string(), static_cast<double>(std::filesystem::file_size(path, ignored)) / 1e9));
  }
}

}  // namespace

std::string unreadable_file(const std::filesystem::path& path) { return unreadable(first_bytes(path).bytes); }

bool is_trace(const std::filesystem::path& path) { return format_with(first_bytes(path).bytes) != nullptr; }

Trace read_trace(const std::filesystem::path& path) {
  Reading unwatched;
  return read_trace(path, unwatched);
}

Trace read_trace(const std::filesystem::path& path, Reading& reading) {
  reading.check();
  const FileBytes head = first_bytes(path);
  if (head.bytes.empty())
    throw std::invalid_argument(
        fmt::format("{}: {}; give a trace of `underlap run`, the PyTorch profiler, Nsight Systems or another format "
                    "of `underlap list formats`",
                    path.string(), head.fault.empty() ? "an empty file, not a trace" : head.fault));
  const Format* format = format_with(head.bytes);
  if (format == nullptr) {
    const std::string what = unreadable(head.bytes);
    throw std::invalid_argument(
        fmt::format("{}: {}", path.string(), what.empty() ? "unknown trace format; known: " + known_formats() : what));
  }
  Trace trace = read_as(*format, path, reading);
  reading.at(1);
  return trace;
}

bool is_schema_of(std::string_view schema, std::string_view family, std::int32_t newest, const std::string& origin) {
  if (!schema.starts_with(family)) return false;
  const auto version = integer_of(schema.substr(family.size()));
  if (!version || !std::in_range<std::int32_t>(*version)) return false;
  if (*version > newest)
    throw std::invalid_argument(
        fmt::format("{}: written with schema {}, but this Underlap reads up to {}{}; use the Underlap that wrote it, "
                    "or a newer one",
                    origin, schema, family, newest));
  return true;
}

void check_extension(const std::filesystem::path& path) { format_of(path); }

std::vector<std::filesystem::path> written_files(const std::filesystem::path& path, const Trace& trace) {
  const Format& format = format_of(path);
  if (format.files == nullptr) return {path};
  return format.files(path, trace);
}

void write_trace(const std::filesystem::path& path, const Trace& trace) { format_of(path).write(path, trace); }

}  // namespace underlap::formats
