// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "profiler/formats/format.hpp"
#include "profiler/formats/rocprof/reader.hpp"

namespace underlap::formats {
namespace {

bool is_rocprof(std::span<const std::byte> bytes) {
  constexpr std::string_view kSpaces = " \t\r\n";
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto skip = [&] { text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size())); };
  skip();
  if (!text.starts_with('{')) return false;
  text.remove_prefix(1);
  skip();
  return text.starts_with("\"rocprofiler-sdk-tool\"");
}

}  // namespace

Format rocprofv3_format() {
  return {.name = "rocprofv3",
          .extension = ".json",
          .description = "AMD GPUs, written by `rocprofv3 --output-format json`; may be compressed (.gz, .zst)",
          .sniff = is_rocprof,
          .read = rocprof::read,
          .write = nullptr};
}

}  // namespace underlap::formats
