// SPDX-License-Identifier: Apache-2.0
#include "platform/nvidia_library.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "platform/errors.hpp"

namespace underlap {
namespace {

std::string driver_version(const SharedLibrary& library) {
  int (*get)(int*) = nullptr;
  library.require("cuDriverGetVersion", get);
  int version = 0;
  get(&version);
  return fmt::format("for CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::string nvml_version(const SharedLibrary& library) {
  int (*init)() = nullptr;
  int (*get)(char*, unsigned) = nullptr;
  int (*shutdown)() = nullptr;
  library.require("nvmlInit_v2", init);
  library.require("nvmlSystemGetDriverVersion", get);
  library.require("nvmlShutdown", shutdown);
  if (init() != 0) return "unknown: the driver does not run";
  char version[96] = {};
  const bool has_version = get(version, sizeof version) == 0;
  shutdown();
  return has_version ? fmt::format("of driver {}", version) : "unknown: no version reported";
}

std::string returned_release(const SharedLibrary& library, const char* function) {
  std::size_t (*get)() = nullptr;
  library.require(function, get);
  return release_text(static_cast<std::int64_t>(get()));
}
std::string cublaslt_version(const SharedLibrary& library) { return returned_release(library, "cublasLtGetVersion"); }
std::string cudnn_version(const SharedLibrary& library) { return returned_release(library, "cudnnGetVersion"); }

std::string nccl_version(const SharedLibrary& library) {
  int (*get)(int*) = nullptr;
  library.require("ncclGetVersion", get);
  int version = 0;
  get(&version);
  return release_text(version);
}

std::string cupti_version(const SharedLibrary& library) {
  int (*get)(std::uint32_t*) = nullptr;
  library.require("cuptiGetVersion", get);
  std::uint32_t version = 0;
  if (get(&version) != 0) return "unknown: no version reported without a driver";
  return version < 1000 ? fmt::format("API {}", version) : release_text(version);
}

// By NvidiaLibrary.
const std::vector<NvidiaLibraryEntry>& entries() {
  static const std::vector<NvidiaLibraryEntry> kEntries{
      {"driver", {"libcuda.so.1"}, driver_version},
      {"NVML", {"libnvidia-ml.so.1"}, nvml_version},
      // CUDA 12.4 Update 1: before it, calls took the host longer, and some raised floating-point exceptions on Hopper.
      {"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, cublaslt_version, 120'405},
      {"cuDNN", {"libcudnn.so.9"}, cudnn_version, 90'000},
      {"NCCL", {"libnccl.so.2"}, nccl_version, 22'000},
      // The unversioned name last: it may be the link of a toolkit that is not the driver's.
      {"CUPTI", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, cupti_version},
  };
  return kEntries;
}

GpuLibrary find(const NvidiaLibraryEntry& wanted) {
  try {
    const SharedLibrary library = SharedLibrary::open(wanted.files);
    return {wanted.name, wanted.version(library), library.path().string()};
  } catch (const MachineError& error) {
    return {wanted.name, "", error.what()};
  }
}

}  // namespace

const NvidiaLibraryEntry& entry_of(NvidiaLibrary library) { return entries().at(static_cast<std::size_t>(library)); }

SharedLibrary open_library(NvidiaLibrary library) { return SharedLibrary::open(entry_of(library).files); }

std::string release_text(std::int64_t number) {
  return fmt::format("{}.{}.{}", number / 10'000, number / 100 % 100, number % 100);
}

void require_release(NvidiaLibrary library, std::int64_t number, const SharedLibrary& file) {
  const NvidiaLibraryEntry& entry = entry_of(library);
  if (number >= entry.oldest) return;
  throw MachineError(fmt::format("{} is {} {}; {} or newer is needed", file.path().string(), entry.name,
                                 release_text(number), release_text(entry.oldest)));
}

std::vector<GpuLibrary> find_gpu_libraries() {
  std::vector<GpuLibrary> found;
  for (const NvidiaLibraryEntry& wanted : entries()) found.push_back(find(wanted));
  return found;
}

}  // namespace underlap
