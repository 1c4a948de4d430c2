// SPDX-License-Identifier: Apache-2.0
// read_trace TRACE: how much communication of each mode is exposed on each rank, in a trace of any format.
#include <cstdio>
#include <exception>

#include "profiler/analysis/analysis.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/formats/format.hpp"

int main(int argc, char** argv) try {
  if (argc != 2) return std::fputs("usage: read_trace TRACE\n", stderr), 2;
  underlap::Trace trace = underlap::formats::read_trace(argv[1]);
  underlap::attribution::attribute(trace);
  for (const auto& rank : underlap::analysis::summarize(trace).ranks)
    for (const auto& [mode, split] : rank.total.modes)
      std::printf("rank %d %s: %.3f ms of communication, %.3f ms of it exposed\n", rank.rank, mode.c_str(),
                  static_cast<double>(split.comm_ns) / 1e6, static_cast<double>(split.exposed_ns) / 1e6);
  return 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 2;
}
