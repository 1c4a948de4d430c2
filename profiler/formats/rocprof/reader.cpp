// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/rocprof/reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "platform/input/byte_stream.hpp"
#include "platform/input/input_file.hpp"
#include "profiler/formats/rocprof/json_parts.hpp"
#include "profiler/formats/rocprof/process.hpp"

namespace underlap::formats::rocprof {

// {"rocprofiler-sdk-tool": [{"metadata": {...}, "agents": [...], "strings": {...}, "kernel_symbols": [...],
//                            "buffer_records": {"kernel_dispatch": [...], ...}}, ...]}
Trace read(const std::filesystem::path& path, Reading& reading) {
  ByteStream stream(path);
  const FileBytes file =
      read_bytes(stream, {.memory_factor = 2}, [&] { reading.at(stream.bytes_taken(), stream.file_length()); });
  std::string_view text = file.bytes;
  text.remove_prefix(std::min(text.find('{'), text.size()));
  const std::vector<JsonPart> members = json_members(text);
  const JsonPart processes = json_member(members, "rocprofiler-sdk-tool");
  Trace trace;
  std::int32_t num_ranks = 0;
  for_each_json_element(
      processes.value, [&](const JsonPart& process) { num_ranks += Process(trace, reading).read(process, num_ranks); });
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  const bool is_closed = last != std::string_view::npos && text[last] == '}';
  if (!processes.is_whole || !is_closed) ++trace.import.skipped["the file is cut off"];
  if (!file.fault.empty()) ++trace.import.skipped[file.fault];
  if (num_ranks == 0)
    throw std::invalid_argument(path.string() +
                                ": rocprofv3 JSON without kernels or copies of a GPU; record with `rocprofv3 "
                                "--kernel-trace --memory-copy-trace --hip-trace --marker-trace --output-format json`");
  trace.metadata["format"] = "rocprofv3";
  trace.metadata["rank"] = "assumed";
  reading.show(trace);
  return trace;
}

}  // namespace underlap::formats::rocprof
