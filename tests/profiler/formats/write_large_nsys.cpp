// SPDX-License-Identifier: Apache-2.0
// underlap_write_large_nsys ROWS FILE: an export of Nsight Systems of that many rows, to measure its reader with. Of
// ten rows one is a kernel, three are calls and six NVTX ranges, each with a number in its text, as of a training step
// that PyTorch annotates.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "tests/profiler/formats/nsys_file.hpp"

namespace underlap {
namespace {

using testing_support::NsysFile;

constexpr int kNumKernelNames = 300;

// One row for each i in [0, count) of two processes, whose numbers alternate.
void insert(NsysFile& file, const std::string& table, const std::string& columns, std::int64_t count,
            const std::string& values) {
  file.need(table);
  file.run(
      fmt::format("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {}) "
                  "INSERT INTO {} ({}) SELECT {} FROM n",
                  count, table, columns, values));
}

void write(std::int64_t rows, const std::filesystem::path& path) {
  std::filesystem::remove(path);
  NsysFile file(path, NsysFile::Schema::v3_25, 4096);
  file.run("BEGIN");
  for (int i = 0; i < kNumKernelNames; ++i)
    file.string(fmt::format("void kernel_{}<float, {}>(int, float*)", i, i % 7));
  const std::int64_t launch = file.string("cudaLaunchKernel_v7000");
  file.session(1'700'000'000'000'000'000, 0);
  const std::string process = fmt::format("{} + (i % 2 << 24)", NsysFile::global(100));
  insert(
      file, "CUPTI_ACTIVITY_KIND_KERNEL",
      "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, "
      "registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ",
      rows / 10,
      fmt::format("i * 9000 + 4000, i * 9000 + 11000, i % 2, 1, 7 + i % 3, i * 3 + 1, {}, 1 + i % {}, 1 + i % {}, 32, "
                  "i % 500 + 1, 1, 1, 128, 1, 1",
                  process, kNumKernelNames, kNumKernelNames));
  insert(file, "CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, eventClass, globalTid, correlationId, nameId, returnValue",
         3 * (rows / 10),
         fmt::format("i * 3000, i * 3000 + 2000, 0, {} + (i / 3 % 2 << 24), i + 1, {}, 0", NsysFile::global(100, 100),
                     launch));
  insert(file, "NVTX_EVENTS", "start, end, eventType, globalTid, domainId, text", 6 * (rows / 10),
         fmt::format(
             "i * 1500, i * 1500 + 1400, 59, {} + (i / 6 % 2 << 24), 0, 'aten::operation_' || i % 50 || ', op_id = "
             "' || i",
             NsysFile::global(100, 100)));
  file.run("COMMIT");
}

}  // namespace
}  // namespace underlap

int main(int argc, char** argv) try {
  if (argc != 3) {
    fmt::print(stderr, "usage: underlap_write_large_nsys ROWS FILE\n");
    return 2;
  }
  underlap::write(std::strtoll(argv[1], nullptr, 10), argv[2]);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "underlap_write_large_nsys: {}\n", error.what());
  return 3;
}
