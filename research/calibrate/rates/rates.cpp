// SPDX-License-Identifier: Apache-2.0
//
// underlap-calibrate rates: each operation on the host and on a GPU against the roofline measured in the same run, and
// collectives by size.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "platform/exit_code.hpp"
#include "platform/text/digits.hpp"
#include "platform/text/output.hpp"
#include "research/calibrate/commands.hpp"
#include "research/calibrate/rates/benchmarks.hpp"

namespace underlap::bench {
namespace {

constexpr std::string_view kHelp = R"(underlap-calibrate rates: operations against the roofline, and collectives by size

  host/OPERATION/SHAPE            the CPU implementation on one thread, a layer a quarter as wide as Llama 3 8B's, 256 tokens
  host_tiny/OPERATION/SHAPE       the same of a layer of the preset tiny, 128 and 1024 tokens
  host/COLLECTIVE/BYTES           the host backend between two ranks that are threads, over its TCP transport
  cuda/OPERATION/SHAPE            the CUDA implementation, a layer of Llama 3 8B, 8192 tokens; attention is cuDNN's
  cuda/cublaslt_alone_GEMM/SHAPE  the same product as cuBLASLt chooses it with nothing forbidden
  cuda/COLLECTIVE_emulated/BYTES  one of 8 members over the emulated link, 450 GB/s, 16 SMs

bytes/s, flops/s  what the operation's declared cost makes of the time
roofline_share    the larger of bytes / copy bandwidth and flops / bf16 GEMM rate, by the time; the label names which.
                  Both are measured first, in the same run. (The console adds /s, as to all that time divides.)
                  CUDA kernels are compiled with --fmad=false, for the same bits on every machine: what is bound by
                  arithmetic reaches less of the roofline than it could.
algbw, busbw      bytes/s as nccl-tests defines them

CUDA is timed by events, short kernels many times in a row so that launching them is no part of their time; buffers
hold random numbers and are rotated over more than the L2 cache. Without a GPU there are no cuda/ benchmarks.
NCCL is not measured: its collectives need more than one GPU.

  --warm-up=SECONDS  of GEMM before the first CUDA timing (default 2): an idle GPU has low clocks
  --trial            tiny shapes: tries the program out, measures nothing

Example: underlap-calibrate rates --benchmark_filter='cuda/(gemm|cublaslt)' --benchmark_out=rates.json

)";

bool has_argument(int argc, char** argv, std::string_view beginning) {
  return std::any_of(argv + 1, argv + argc, [&](const char* argument) {
    return std::string_view(argument).substr(0, beginning.size()) == beginning;
  });
}

/// Takes the option out of the arguments; nullopt: it is not there.
std::optional<std::string> take_argument(int& argc, char** argv, std::string_view name) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument != name && !argument.starts_with(std::string(name) + "=")) continue;
    std::copy(argv + i + 1, argv + argc, argv + i);
    --argc;
    return std::string(argument.substr(std::min(argument.size(), name.size() + 1)));
  }
  return std::nullopt;
}

}  // namespace

int measure_rates(int argc, char** argv) {
  HostBenchmarks host;
  CudaBenchmarks cuda;
  cuda.is_trial = take_argument(argc, argv, "--trial").has_value();
  if (const auto seconds = take_argument(argc, argv, "--warm-up")) {
    cuda.warm_up_s = parse_number<double>(*seconds).value_or(-1);
    if (cuda.warm_up_s < 0) {
      print_error("underlap-calibrate: --warm-up is \"{}\"; use seconds, such as --warm-up=2\n", *seconds);
      return kBadInput;
    }
  }
  // What a benchmark says itself comes before the option.
  if (has_argument(argc, argv, "--benchmark_min_time")) host.min_seconds = 0;
  if (has_argument(argc, argv, "--help")) print_text(kHelp);
  std::fflush(stdout);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return kBadInput;
  const std::string reason = add_cuda_benchmarks(cuda);
  if (!reason.empty()) print_error("underlap-calibrate: no CUDA benchmarks: {}\n", reason);
  benchmark::AddCustomContext("cuda_kernels",
                              "compiled with --fmad=false: bit-identical results are preferred to speed");
  add_host_operations(host);
  add_host_collectives(host);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return kOk;
}

}  // namespace underlap::bench
