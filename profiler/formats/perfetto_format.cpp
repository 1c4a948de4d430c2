// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "profiler/formats/format.hpp"
#include "profiler/formats/output_file.hpp"
#include "profiler/formats/perfetto/encoder.hpp"
#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/formats/perfetto/reader.hpp"
#include "profiler/formats/perfetto/slice.hpp"

namespace underlap::formats {
namespace {

bool is_perfetto(std::string_view bytes) {
  return std::ranges::any_of(first_packets(bytes), [](protozero::data_view packet) {
    return has_field(packet, perfetto::bytes(perfetto::packet::kUnderlap));
  });
}

void write(const std::filesystem::path& path, const Trace& trace) {
  OutputFile file(path);
  file.write(PerfettoEncoder().encode(trace));
  file.close();
}

}  // namespace

Format perfetto_format() {
  return {.name = "perfetto",
          .extension = ".pftrace",
          .description = "native: Perfetto packets, for ui.perfetto.dev; may be compressed (.zst)",
          .sniff = is_perfetto,
          .read = read_perfetto,
          .write = write};
}

}  // namespace underlap::formats
