// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "profiler/formats/ascend/companions.hpp"
#include "profiler/formats/ascend/dialect.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/kineto/reader.hpp"

namespace underlap::formats {
namespace {

// [{"name": "aten::to", "pid": 10, "tid": 10, "ts": "1704161511414893.954", "dur": 2.3, "cat": "cpu_op", "ph": "X"}:
// the times are text. Processes have names of their own, which may come late.
bool is_ascend(std::span<const std::byte> bytes) {
  constexpr std::string_view kSpaces = " \t\r\n";
  constexpr std::array<std::string_view, 5> kMarks{"\"ts\": \"", "\"ts\":\"", "\"Ascend Hardware\"",
                                                   "\"Overlap Analysis\"", "\"CANN\""};
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  if (!text.starts_with('[') || text.find("\"ph\"") == std::string_view::npos) return false;
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

Trace read_ascend(const std::filesystem::path& path, Reading& reading) {
  ascend::Dialect dialect(ascend::read_companions(path));
  return read_chrome_trace(path, reading, dialect);
}

}  // namespace

Format ascend_format() {
  return {.name = "ascend",
          .extension = ".json",
          .description = "Ascend NPUs: trace_view.json of torch_npu, msprof_TIME.json; may be compressed (.gz, .zst)",
          .sniff = is_ascend,
          .read = read_ascend,
          .write = nullptr};
}

}  // namespace underlap::formats
