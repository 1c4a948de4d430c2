// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA runtime that Underlap calls, played by the machine of queues. Linked in place of the
// runtime by tests that have no GPU.
#include <cstdlib>

#include "tests/cuda_host/machine.hpp"

using underlap::cuda_host::Machine;

namespace {

Machine& machine() { return Machine::instance(); }

cudaError_t called(const char* name, cudaError_t result = cudaSuccess) {
  const std::lock_guard lock(machine().mutex());
  machine().calls.emplace_back(name);
  return result;
}

// As the runtime does: "not ready" is no error, and yet the thread's last one.
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t ready(bool is_ready) { return is_ready ? cudaSuccess : (last_error = cudaErrorNotReady); }

void* allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory != nullptr) std::memset(memory, 0xFF, bytes);
  return memory;
}

}  // namespace

namespace underlap::cuda_host {

cudaError_t launch_kernel(KernelLaunch asked, cudaStream_t stream) {
  if (asked.blocks == 0 || asked.threads == 0 || asked.threads > 1024 || asked.shared_bytes > 227 * 1024)
    return cudaErrorInvalidConfiguration;
  if (asked.cluster > 8 || (asked.cluster > 0 && asked.blocks % asked.cluster != 0))
    return cudaErrorInvalidConfiguration;
  if ((asked.cluster > 0 || asked.is_remote_domain) && machine().compute_capability < 90)
    return cudaErrorInvalidConfiguration;
  // Who launches asks for the last error, whatever call it is of.
  if (last_error != cudaSuccess) return std::exchange(last_error, cudaSuccess);
  if (const unsigned threads = machine().link_threads; threads > 0 && asked.threads == 544) asked.threads = threads;
  const auto launch = std::make_shared<const KernelLaunch>(std::move(asked));
  {
    const std::lock_guard lock(machine().mutex());
    machine().launched.push_back(*launch);
    machine().launched.back().thread_code = {};
  }
  const auto run = std::make_shared<KernelRun>(launch);
  machine().enqueue(stream, {.ready = {}, .run = {}, .kernel = launch, .advance = [run] {
                               return run->advance(machine().random());
                             }});
  return cudaSuccess;
}

}  // namespace underlap::cuda_host

extern "C" {

const char* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorLaunchTimeout: return "cudaErrorLaunchTimeout";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorPeerAccessUnsupported: return "cudaErrorPeerAccessUnsupported";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    default: return "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorLaunchFailure ? machine().what().c_str() : cudaGetErrorName(code);
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = machine().num_devices();
  if (machine().driver() < CUDART_VERSION) return cudaErrorInsufficientDriver;
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int device) {
  return device >= 0 && device < machine().num_devices() ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = machine().driver();
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "host threads");
  properties->multiProcessorCount = machine().num_sms;
  properties->major = 9;
  properties->minor = 0;
  properties->totalGlobalMem = std::size_t{4} << 30;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->sharedMemPerBlockOptin = 227 * 1024;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = machine().num_sms; return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = machine().compute_capability / 10; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = machine().compute_capability % 10; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; return cudaSuccess;
    default: return cudaErrorInvalidValue;
  }
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int) {
  std::strncpy(text, "0000:01:00.0", static_cast<std::size_t>(bytes));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  called("cudaDeviceSynchronize");
  return machine().run_until([] { return machine().waits_for_device && machine().is_idle(); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  *stream = machine().create_stream(priority);
  return called("cudaStreamCreateWithPriority");
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  machine().destroy_stream(stream);
  return called("cudaStreamDestroy");
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  called("cudaStreamSynchronize");
  if (stream == nullptr) return cudaSuccess;  // nothing is enqueued on it here
  return machine().run_until([&] { return stream->items.empty(); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (machine().has_failed()) return called("cudaStreamQuery", cudaErrorLaunchFailure);
  const std::lock_guard lock(machine().mutex());
  machine().calls.emplace_back("cudaStreamQuery");
  return ready(stream->items.empty());
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  // The record that stands now is what is waited for: a later one changes nothing.
  machine().enqueue(stream, {.ready = [moment = *event] { return machine().has_passed(moment); }, .run = {}});
  return called("cudaStreamWaitEvent");
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return called("cudaEventCreateWithFlags");
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return called("cudaEventDestroy");
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (machine().before_record) machine().before_record();
  const std::lock_guard lock(machine().mutex());
  *event = {.stream = stream, .position = stream->num_enqueued};
  machine().calls.emplace_back("cudaEventRecord");
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (machine().has_failed()) return called("cudaEventQuery", cudaErrorLaunchFailure);
  const std::lock_guard lock(machine().mutex());
  machine().calls.emplace_back("cudaEventQuery");
  return ready(machine().has_passed(*event));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  called("cudaEventSynchronize");
  return machine().run_until([&] { return machine().has_passed(*event); });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const std::lock_guard lock(machine().mutex());
  if (machine().event_distance_ms) {
    *milliseconds = *machine().event_distance_ms;
    return cudaSuccess;
  }
  if (!machine().has_passed(*from) || !machine().has_passed(*to)) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(machine().passed_at_ns(*to) - machine().passed_at_ns(*from)) * 1e-6F;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = machine().take_memory(bytes);
  {
    const std::lock_guard lock(machine().mutex());
    if (*memory != nullptr) machine().make_shareable(*memory);
  }
  return called("cudaMalloc", *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
cudaError_t cudaFree(void* memory) {
  const std::lock_guard lock(machine().mutex());
  machine().give_memory(memory);
  machine().calls.emplace_back("cudaFree");
  return cudaSuccess;
}
// Ranks are threads here, so a block that is mapped has the address that it has; memory of a pool cannot be shown.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  const std::lock_guard lock(machine().mutex());
  machine().calls.emplace_back("cudaIpcGetMemHandle");
  if (!machine().is_shareable(memory)) return cudaErrorInvalidValue;
  std::memcpy(handle, &memory, sizeof memory);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  const std::lock_guard lock(machine().mutex());
  machine().calls.emplace_back("cudaIpcOpenMemHandle");
  std::memcpy(memory, &handle, sizeof *memory);
  if (machine().refuses_peer_access) return last_error = cudaErrorPeerAccessUnsupported;
  return machine().open_memory(*memory) ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaIpcCloseMemHandle(void* memory) {
  const std::lock_guard lock(machine().mutex());
  machine().calls.emplace_back("cudaIpcCloseMemHandle");
  return machine().close_memory(memory) ? cudaSuccess : cudaErrorInvalidValue;
}
// What a stream frees may be given away again at once, to whoever asks: it is filled with NaN, and found missing.
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  machine().enqueue(stream, {.ready = {}, .run = [memory] { machine().give_memory(memory); }});
  return called("cudaFreeAsync");
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t) {
  *memory = machine().take_memory(bytes);
  return called("cudaMallocAsync", *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t, cudaStream_t) {
  *memory = machine().take_memory(bytes);
  return called("cudaMallocFromPoolAsync", *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = new CUmemPoolHandle_st;
  return called("cudaMemPoolCreate");
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  delete pool;
  return called("cudaMemPoolDestroy");
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute == cudaMemPoolAttrReleaseThreshold) std::memcpy(&pool->release_threshold, value, sizeof(std::uint64_t));
  if (attribute == cudaMemPoolReuseAllowInternalDependencies) std::memcpy(&pool->reuses_by_waiting, value, sizeof(int));
  return called("cudaMemPoolSetAttribute");
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  *memory = allocate(bytes);
  return called("cudaMallocHost", *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return called("cudaFreeHost");
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = machine().memory_left();
  *total_bytes = machine().memory_bytes();
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  machine().enqueue(stream, {.ready = {}, .run = [=] { std::memcpy(to, from, bytes); }});
  return called("cudaMemcpyAsync");
}
#if CUDART_VERSION >= 13000
cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const std::size_t* sizes, std::size_t count,
                                 cudaMemcpyAttributes*, std::size_t*, std::size_t, cudaStream_t stream) {
  for (std::size_t i = 0; i < count; ++i)
    machine().enqueue(
        stream, {.ready = {}, .run = [to = to[i], from = from[i], bytes = sizes[i]] { std::memcpy(to, from, bytes); }});
  return called("cudaMemcpyBatchAsync");
}
#endif
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  machine().enqueue(stream, {.ready = {}, .run = [=] {
                               for (std::size_t r = 0; r < height; ++r)
                                 std::memcpy(static_cast<std::byte*>(to) + r * to_pitch,
                                             static_cast<const std::byte*>(from) + r * from_pitch, width);
                             }});
  return called("cudaMemcpy2DAsync");
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return called("cudaMemcpy");
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  machine().enqueue(stream, {.ready = {}, .run = [=] { std::memset(memory, value, bytes); }});
  return called("cudaMemsetAsync");
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return called("cudaMemset");
}

}  // extern "C"
