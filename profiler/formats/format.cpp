// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "profiler/formats/file_bytes.hpp"

namespace underlap::formats {
namespace {

std::string known_formats() {
  std::string list;
  for (const Format& format : formats())
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", format.name, format.extension);
  return list;
}

}  // namespace

Trace read_trace(const std::filesystem::path& path) {
  const FileBytes head = read_bytes(path, kSniffBytes);
  if (head.bytes.empty())
    throw std::invalid_argument(
        fmt::format("{}: {}", path.string(), head.fault.empty() ? "an empty file, no trace" : head.fault));
  const auto fits = [&](const Format& format) { return format.sniff(head.span()); };
  const auto format = std::find_if(formats().begin(), formats().end(), fits);
  if (format == formats().end())
    throw std::invalid_argument(
        fmt::format("{}: a trace of no known format; known are {}", path.string(), known_formats()));
  return format->read(path);
}

void write_trace(const std::filesystem::path& path, const Trace& trace) {
  std::filesystem::path name = path.filename();
  if (name.extension() == ".zst") name = name.stem();
  for (const Format& format : formats())
    if (format.write != nullptr && name.extension() == format.extension) return format.write(path, trace);
  throw std::invalid_argument(
      fmt::format("{}: no format is written with this extension; known are {}", path.string(), known_formats()));
}

}  // namespace underlap::formats
