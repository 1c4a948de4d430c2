// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/shared_library.hpp"

namespace underlap {

/// The libraries of NVIDIA that are opened when a program runs, in the order in which they are listed.
enum class NvidiaLibrary : std::uint8_t { driver, nvml, cublaslt, cudnn, nccl, cupti };

struct NvidiaLibraryEntry {
  const char* name;
  std::vector<std::string> files;                ///< newest first
  std::string (*version)(const SharedLibrary&);  ///< the version as text; calls the library
  std::int64_t oldest = 0;                       ///< accepted release, as release_text() reads it; 0: any
};

const NvidiaLibraryEntry& entry_of(NvidiaLibrary library);

/// Throws as SharedLibrary::open() does.
SharedLibrary open_library(NvidiaLibrary library);

/// "13.1.0" for 130100: cuBLASLt, cuDNN, NCCL and newer CUPTIs count 10000 a major release and 100 a minor one.
std::string release_text(std::int64_t number);

/// Throws MachineError with the file and both versions where `number` is older than `library` must be.
void require_release(NvidiaLibrary library, std::int64_t number, const SharedLibrary& file);

/// One of the libraries, as this machine has it.
struct GpuLibrary {
  std::string name;
  std::string version;  ///< empty where it is missing
  std::string where;    ///< its file, or why it is missing
};

/// All of them, each looked for as the CUDA backend does when it starts. Works in every build and on every machine, and
/// makes no CUDA context.
std::vector<GpuLibrary> find_gpu_libraries();

}  // namespace underlap
