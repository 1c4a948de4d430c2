// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace underlap::cuda_host {

/// What UNDERLAP_PLAYED_GPU says of the GPU that a whole program runs on: words and KEY=NUMBER between commas.
///
///   gpus=N           how many there are (default 1; 0: none)
///   driver=N         newest CUDA of the driver, as 13000
///   memory_mib=N     of the GPU (default 4096)
///   untagged=N, lost=N, untimed=N   every Nth kernel's record lacks its operation, is missing, or has no times
///   dropped=N        CUPTI drops so many records at each flush
///   slow_link        the link's kernels keep under the requested rate, alone too
///   throttled        NVML reports the power limit
///   no_driver, no_nvml, no_cupti, no_nccl, no_cublaslt, no_cudnn   the library is missing
///   mig, busy        what NVML says of MIG mode and of other processes
class PlayedGpu {
 public:
  static const PlayedGpu& instance();

  bool has(const std::string& word) const { return values_.contains(word); }
  long number(const std::string& key, long otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }

 private:
  PlayedGpu();
  std::map<std::string, long> values_;
};

/// The functions that a program looks up in these libraries, by name.
std::map<std::string, void*> played_cupti_functions();
std::map<std::string, void*> played_nvml_functions();
std::map<std::string, void*> played_driver_functions();

/// The address of a function as a table of functions has it.
template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace underlap::cuda_host
