// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/other_client.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace underlap::cupti {
namespace {

struct Client {
  std::string_view in_maps;
  std::string_view name;
};

// Tools first: a program that holds PyTorch holds kineto whether its profiler runs or not.
constexpr Client kClients[] = {
    {"libToolsInjection", "Nsight Systems"},
    {"nsight-systems", "Nsight Systems"},
    {"libcuda-injection", "Nsight Compute"},
    {"nsight-compute", "Nsight Compute"},
    {"libsanitizer-collection", "compute-sanitizer"},
    {"libcudadebugger", "cuda-gdb"},
    {"libnvperf_dcgm", "DCGM"},
    {"libkineto", "PyTorch's profiler"},
    {"libtorch_cpu", "PyTorch's profiler"},
};

}  // namespace

// 7f2a40000000-7f2a40021000 r-xp 00000000 08:01 131 /opt/nsight-systems/target-linux-x64/libToolsInjection64.so
std::string name_other_client(std::string_view maps, std::string_view injection) {
  for (const Client& client : kClients)
    if (maps.find(client.in_maps) != maps.npos) return std::string(client.name);
  return std::string(injection);
}

std::string name_other_client() {
  std::ifstream file("/proc/self/maps");
  const std::string maps{std::istreambuf_iterator<char>(file), {}};
  const char* const injection = std::getenv("CUDA_INJECTION64_PATH");
  return name_other_client(maps, injection == nullptr ? "" : injection);
}

}  // namespace underlap::cupti
