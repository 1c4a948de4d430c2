// SPDX-License-Identifier: Apache-2.0
// Reads other programs' Perfetto traces and runs the viewer's analysis on the result.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "profiler/formats/pftrace/reader.hpp"
#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/look_at.hpp"
#include "tests/profiler/formats/pftrace_file.hpp"

namespace underlap::fuzz {
namespace {

using testing_support::PftraceFile;
using Table = PftraceFile::Table;

// Slices with every argument that the reader uses.
std::string slices() {
  PftraceFile file;
  file.process(1, 900, "python");
  file.thread(2, 1, 900, 901, "python");
  file.track(3, 0, "GPU 1");
  file.track(4, 3, "stream 7");
  file.clocks({{6, 40}, {1, 1'790'000'000'000'000'000}, {64, 40, true}}, 64);
  file.slice({2,
              10,
              90,
              "record_param_comms",
              "cpu_op",
              {{"External id", std::int64_t{5}},
               {"Collective name", "allreduce"},
               {"dtype", "Float"},
               {"In msg nelems", std::int64_t{64}},
               {"Group size", std::int64_t{2}},
               {"Process Group Ranks", "[0, 1]"}}});
  file.slice({2, 0, 5, "cudaLaunchKernel", "cuda_runtime", {{"correlation", std::int64_t{3}}}, {9}, {1}});
  file.slice({2, 0, 5, "ncclAllReduce", "rccl_api", {{"corr_id", std::int64_t{4}}}});
  file.slice({4,
              20,
              60,
              "ncclDevKernel_Generic",
              "kernel",
              {{"correlation", std::int64_t{3}},
               {"stream", std::int64_t{7}},
               {"grid", std::vector<std::int64_t>{4, 1, 1}},
               {"begin_ns", std::int64_t{60}},
               {"end_ns", std::int64_t{90}}},
              {9}});
  file.slice({4, 1, 5, "Stream Wait Event", "cuda_sync", {{"wait_on_stream", std::int64_t{8}}}});
  file.slice({4, 1, 5, "CopyDeviceToDevice", "memory_copy", {{"src_agent", "GPU-0"}, {"dst_agent", "GPU-1"}}});
  return file.bytes;
}

std::string stages() {
  PftraceFile file;
  file.intern({{Table::names, {1, "gemm"}}, {Table::stages, {1, "Kernel"}}, {Table::stages, {7, "[07] stream 7"}}},
              {{1, "ncclDevKernel"}});
  file.stage({1,
              100,
              50,
              1,
              7,
              1,
              1,
              0,
              {{"stream id", "7"}, {"correlation", "3"}, {"func", "AllReduce"}, {"count", "64"}},
              {4, 1, 1}});
  return file.bytes;
}

}  // namespace

std::vector<std::string> seeds() { return {slices(), stages(), slices() + stages()}; }

void take(std::string_view bytes) {
  Trace trace = formats::pftrace::read(bytes, "fuzzed bytes");
  look_at(trace, analysis::match_and_summarize(trace, analysis::find_steps(trace)));
}

}  // namespace underlap::fuzz
