// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "profiler/formats/format.hpp"
#include "profiler/formats/jax/dialect.hpp"
#include "profiler/formats/kineto/reader.hpp"

namespace underlap::formats {
namespace {

// {"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[{"ph":"M","pid":1,"name":"process_name",
//  "args":{"name":"/device:GPU:0"}}, ...: the names of processes come first.
bool is_jax(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return text.starts_with('{') && has("\"traceEvents\"") && (has("\"/device:") || has("\"/host:"));
}

Trace read_jax(const std::filesystem::path& path, Reading& reading) {
  jax::Dialect dialect;
  return read_chrome_trace(path, reading, dialect);
}

}  // namespace

Format jax_format() {
  return {.name = "jax",
          .extension = ".json",
          .description = "JAX and XLA on GPUs: HOST.trace.json.gz; may be compressed (.gz, .zst)",
          .sniff = is_jax,
          .read = read_jax,
          .write = nullptr};
}

}  // namespace underlap::formats
