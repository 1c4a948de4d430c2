// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/format.hpp"
#include "profiler/formats/pftrace/reader.hpp"

namespace underlap::formats {

Format pftrace_format() {
  return {
      .name = "pftrace",
      .extension = ".pftrace",
      .description = "Perfetto packets of the PyTorch profiler, rocprofv3 and others; may be compressed (.gz, .zst)",
      .sniff = pftrace::is_foreign,
      .read = pftrace::read,
      .write = nullptr};
}

}  // namespace underlap::formats
