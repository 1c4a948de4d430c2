// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/gpu_libraries.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "platform/errors.hpp"
#include "platform/shared_library.hpp"

namespace underlap::bench {
namespace {

// Each library counts its releases in its own way.
std::string decimal(std::int64_t number, std::int64_t major, std::int64_t minor) {
  return fmt::format("{}.{}.{}", number / major, number % major / minor, number % minor);
}

std::string driver_version(const SharedLibrary& library) {
  int (*get)(int*) = nullptr;
  library.require("cuDriverGetVersion", get);
  int version = 0;
  get(&version);
  return fmt::format("for CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::string cublaslt_version(const SharedLibrary& library) {
  std::size_t (*get)() = nullptr;
  library.require("cublasLtGetVersion", get);
  const auto number = static_cast<std::int64_t>(get());
  return decimal(number, 10000, 100);
}

std::string cudnn_version(const SharedLibrary& library) {
  std::size_t (*get)() = nullptr;
  library.require("cudnnGetVersion", get);
  return decimal(static_cast<std::int64_t>(get()), 10000, 100);
}

std::string nccl_version(const SharedLibrary& library) {
  int (*get)(int*) = nullptr;
  library.require("ncclGetVersion", get);
  int version = 0;
  get(&version);
  return decimal(version, 10000, 100);
}

std::string cupti_version(const SharedLibrary& library) {
  int (*get)(std::uint32_t*) = nullptr;
  library.require("cuptiGetVersion", get);
  std::uint32_t version = 0;
  if (get(&version) != 0) return "of a version that it tells only with a driver";
  return version < 1000 ? fmt::format("API {}", version) : decimal(version, 10000, 100);
}

std::string nvml_version(const SharedLibrary& library) {
  int (*init)() = nullptr;
  int (*get)(char*, unsigned) = nullptr;
  int (*shutdown)() = nullptr;
  library.require("nvmlInit_v2", init);
  library.require("nvmlSystemGetDriverVersion", get);
  library.require("nvmlShutdown", shutdown);
  if (init() != 0) return "of a driver that does not run";
  char version[96] = {};
  const bool has_version = get(version, sizeof version) == 0;
  shutdown();
  return has_version ? fmt::format("of driver {}", version) : "of a version that it does not tell";
}

struct Wanted {
  const char* name;
  std::vector<std::string> files;
  std::string (*version)(const SharedLibrary&);
};

GpuLibrary find(const Wanted& wanted) {
  try {
    const SharedLibrary library = SharedLibrary::open(wanted.files);
    return {wanted.name, wanted.version(library), library.path().string()};
  } catch (const MachineError& error) {
    return {wanted.name, "", error.what()};
  }
}

}  // namespace

std::vector<GpuLibrary> find_gpu_libraries() {
  std::vector<GpuLibrary> found;
  for (const Wanted& wanted : std::vector<Wanted>{
           {"driver", {"libcuda.so.1"}, driver_version},
           {"NVML", {"libnvidia-ml.so.1"}, nvml_version},
           {"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, cublaslt_version},
           {"cuDNN", {"libcudnn.so.9"}, cudnn_version},
           {"NCCL", {"libnccl.so.2"}, nccl_version},
           {"CUPTI", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, cupti_version},
       })
    found.push_back(find(wanted));
  return found;
}

}  // namespace underlap::bench
