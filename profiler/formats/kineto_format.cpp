// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "profiler/formats/format.hpp"
#include "profiler/formats/kineto/reader.hpp"
#include "profiler/formats/kineto_writer/writer.hpp"

namespace underlap::formats {
namespace {

constexpr std::string_view kWhitespace = " \t\r\n";

// Members that an object of trace events begins with, in some tool or version.
constexpr std::array<std::string_view, 9> kMembers{
    "\"traceEvents\"",     "\"schemaVersion\"",        "\"deviceProperties\"",
    "\"distributedInfo\"", "\"displayTimeUnit\"",      "\"baseTimeNanoseconds\"",
    "\"traceName\"",       "\"cuda_runtime_version\"", "\"otherData\""};

bool is_kineto(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(kWhitespace), text.size()));
  if (text.starts_with('['))
    return text.find("\"ph\"") != std::string_view::npos && text.find('{') < text.find("\"ph\"");
  if (!text.starts_with('{')) return false;
  return std::ranges::any_of(kMembers, [&](std::string_view member) { return text.find(member) != text.npos; });
}

Trace read(const std::filesystem::path& path, Reading& reading) { return read_kineto(path, reading); }

}  // namespace

Format kineto_format() {
  return {.name = "kineto",
          .extension = ".json",
          .description = "PyTorch profiler (Kineto) and other Chrome traces; may be compressed (.gz, .zst)",
          .sniff = is_kineto,
          .read = read,
          .write = write_kineto,
          .files = kineto_files,
          .gzip = true};
}

}  // namespace underlap::formats
