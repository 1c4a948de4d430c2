// SPDX-License-Identifier: Apache-2.0
// What is asked of libcuda before a rank starts.
#include <cstdio>

#include "tests/cuda_host/machine.hpp"
#include "tests/cuda_host/played/played_gpu.hpp"

namespace underlap::cuda_host {
namespace {

int driver_version(int* version) {
  *version = Machine::instance().driver();
  return 0;
}
int init(unsigned) { return Machine::instance().num_devices() > 0 ? 0 : 100; }
int device_count(int* count) {
  *count = Machine::instance().num_devices();
  return 0;
}
int name(char* text, int bytes, int) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "host threads");
  return 0;
}
int memory(std::size_t* bytes, int) {
  *bytes = Machine::instance().memory_bytes();
  return 0;
}
int error_text(int status, const char** text) {
  *text = status == 100 ? "no CUDA-capable device is detected" : "an error";
  return 0;
}

}  // namespace

std::map<std::string, void*> played_driver_functions() {
  return {{"cuDriverGetVersion", address_of(driver_version)}, {"cuInit", address_of(init)},
          {"cuDeviceGetCount", address_of(device_count)},     {"cuDeviceGetName", address_of(name)},
          {"cuDeviceTotalMem_v2", address_of(memory)},        {"cuGetErrorString", address_of(error_text)}};
}

}  // namespace underlap::cuda_host
