// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "profiler/formats/kineto/reader.hpp"
#include "profiler/trace/trace.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::testing_support {

/// A file of Kineto's with these events, and these members before them.
inline std::string kineto_file(std::initializer_list<std::string_view> events, std::string_view members = "") {
  std::string text = "{\"schemaVersion\": 1, ";
  text += members;
  if (!members.empty()) text += ", ";
  text += "\"traceEvents\": [";
  for (const std::string_view event : events) {
    text += text.back() == '[' ? "" : ",\n";
    text += event;
  }
  return text + "]}";
}

/// Reads the text of a file.
inline Trace read_kineto_text(std::string_view text) {
  const TemporaryFolder folder;
  write_text(folder / "t.json", text);
  return formats::read_kineto(folder / "t.json");
}

inline Trace read_kineto_events(std::initializer_list<std::string_view> events, std::string_view members = "") {
  return read_kineto_text(kineto_file(events, members));
}

/// A kernel, the call that launched it, and a thread's operation around that.
inline constexpr std::string_view kKernel =
    R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 110, "dur": 20,
        "args": {"External id": 5, "device": 0, "context": 1, "stream": 7, "correlation": 31, "grid": [4, 2, 1],
                 "block": [128, 1, 1]}})";
inline constexpr std::string_view kLaunch =
    R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 900, "tid": 901, "ts": 100, "dur": 5,
        "args": {"External id": 5, "cbid": 211, "correlation": 31}})";
inline constexpr std::string_view kOperation =
    R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 900, "tid": 901, "ts": 95, "dur": 15,
        "args": {"External id": 5}})";

}  // namespace underlap::testing_support
