// SPDX-License-Identifier: Apache-2.0
// The reader of logs of the Inspector plugin.
#include "profiler/formats/inspector/inspector_log.hpp"

#include <string_view>

#include "tests/fuzz/harness.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::fuzz {

std::vector<std::string> seeds() {
  return {
      R"({"header": {"id": "0x7f", "rank": 1, "n_ranks": 2, "nnodes": 1, "comm_name": "dp"}, "metadata": )"
      R"({"inspector_output_format_version": "v4.0", "hostname": "n0", "pid": 77}, "coll_perf": {"coll": "AllGather", )"
      R"("coll_sn": 3, "coll_msg_size_bytes": 8192, "coll_exec_time_us": 40, "coll_busbw_gbs": 1.5, "event_trace_ts": )"
      R"({"kernel_events": [{"channel_id": 0, "kernel_start_ts": 1790000000000500, "kernel_stop_ts": 5}]}}})"
      "\n{\"header\": {}}\n"};
}

void take(std::string_view text) {
  static const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "a.log", text);
  formats::read_inspector_log(folder / "a.log");
}

}  // namespace underlap::fuzz
