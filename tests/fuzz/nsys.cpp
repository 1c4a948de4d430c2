// SPDX-License-Identifier: Apache-2.0
// The reader of Nsight Systems' SQLite files, and what the viewer does with whatever it makes of one.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/look_at.hpp"
#include "tests/profiler/formats/nsys_file.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::fuzz {
namespace {

using testing_support::NsysFile;

// Every table, and a few rows in each.
void fill(NsysFile& file) {
  file.session(1'700'000'000'000'000'000, 5);
  file.environment("RANK=\"1\"");
  for (std::int64_t i = 1; i < 6; ++i) {
    file.call({.start = 100 * i, .end = 100 * i + 9, .correlation = i});
    file.kernel(
        {.start = 100 * i + 10, .end = 100 * i + 50, .correlation = i, .name = "ncclDevKernel_AllGather_RING_LL"});
    file.nccl("ncclAllGather", 100 * i - 1, 100 * i + 10, testing_support::nccl_gather(0xABC, 1000));
    file.wait({.start = 100 * i, .end = 100 * i + 1, .correlation = i + 1, .event_sync_id = i});
    file.record(i, 7, i);
  }
  file.nccl("ncclGroupStart", 1, 2, "");
  file.nccl("ncclSend", 3, 4, testing_support::nccl_peer(0xABC, 5, 1));
  file.nccl("ncclGroupEnd", 5, 20, "");
  file.nccl("ncclCommInitRank", 1, 2, testing_support::nccl_member(0xABC, 2, 1, 0));
  file.copy({.start = 3, .end = 4, .bytes = 64});
  file.memset({.start = 5, .end = 6, .bytes = 64});
  file.graph({.start = 7, .end = 8}, 3);
  file.range({.start = 1, .text = "rank 3", .type = 34});
}

}  // namespace

std::vector<std::string> seeds() {
  const testing_support::TemporaryFolder folder;
  std::vector<std::string> inputs;
  for (const auto schema : {NsysFile::Schema::v3_11, NsysFile::Schema::v3_25}) {
    const auto path = folder / std::to_string(inputs.size());
    {
      NsysFile file(path, schema);
      fill(file);
    }
    inputs.push_back(testing_support::read_text(path));
  }
  return inputs;
}

void take(std::string_view bytes) {
  static const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "t.sqlite", bytes);
  const Trace trace = formats::read_trace(folder / "t.sqlite");
  look_at(trace, analysis::summarize(trace));
}

}  // namespace underlap::fuzz
