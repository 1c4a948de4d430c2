// SPDX-License-Identifier: Apache-2.0
// Flags between ranks. A rank that waits for a flag must see everything written before its signal: the signal releases
// and the wait acquires, at the scope of the whole system. A copy engine's copy ends before the next kernel starts, so
// it counts as written before.
#include <algorithm>

#include "impl/device/cuda/peer_copies/peer_flags.hpp"
#include "kernels/cuda/launch.cuh"

namespace underlap::cuda {
namespace {

constexpr unsigned kThreads = 32;         // of the block; one flag each
constexpr unsigned kPollNs = 40;          // between two looks at a flag
constexpr unsigned kLooksPerStatus = 64;  // the status is host memory: reading it takes as long as many looks

struct FlagCall {
  PeerState state;
  std::uint64_t timeout_ns = 0;
  unsigned num_signals = 0;
  unsigned num_waits = 0;
  FlagSignal signals[kThreads]{};
  FlagWait waits[kThreads]{};
};

__device__ std::uint64_t load(const std::uint64_t* at) {
#ifdef __CUDACC__
  std::uint64_t value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
#else
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
#endif
}

__device__ void store(std::uint64_t* at, std::uint64_t value) {
#ifdef __CUDACC__
  asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
#else
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
#endif
}

__device__ bool is_over(const PeerStatus& status) {
  if (load(&status.poison) != 0) return true;
#ifdef __CUDACC__
  return *const_cast<const volatile std::uint32_t*>(&status.is_aborted) != 0;
#else
  return __atomic_load_n(&status.is_aborted, __ATOMIC_RELAXED) != 0;
#endif
}

__device__ unsigned long long now_ns() {
#ifdef __CUDACC__
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return cuda_host::global_timer();
#endif
}

/// Lets others run: on a GPU they do anyway.
__device__ void pause() {
#ifdef __CUDACC__
  __nanosleep(kPollNs);
#else
  cuda_host::wait_for_others(kPollNs);
#endif
}

// Reports the first failure; two simultaneous ones may overwrite each other, and either is valid.
__device__ void raise(PeerStatus& status, std::uint64_t poison) {
  if (load(&status.poison) == 0) store(&status.poison, poison);
}

/// Returns true once the flag has arrived.
__device__ bool wait(const FlagWait& wait, PeerStatus& status, std::uint64_t timeout_ns) {
  const unsigned long long start = now_ns();
  for (unsigned looks = 0;; ++looks) {
    const std::uint64_t value = load(wait.flag);
    if (value == kPeerGaveUp) return raise(status, wait.if_peer_gave_up), false;
    if (value >= wait.value) return true;
    // Not at the first looks: usually the flag arrives before the status can be read.
    if (looks % kLooksPerStatus == kLooksPerStatus - 1 && is_over(status)) return false;
    if (now_ns() - start > timeout_ns) return raise(status, wait.if_late), false;
    pause();
  }
}

__global__ void flags_kernel(const __grid_constant__ FlagCall call) {
  const unsigned i = threadIdx.x;
  const PeerState& state = call.state;
  if (i < call.num_signals)
    store(call.signals[i].flag, load(state.has_given_up) != 0 ? kPeerGaveUp : call.signals[i].value);
  __syncthreads();
  if (i < call.num_waits && !wait(call.waits[i], *state.status, call.timeout_ns)) store(state.has_given_up, 1);
}

}  // namespace

void enqueue_flags(std::span<const FlagSignal> signals, std::span<const FlagWait> waits, const PeerState& state,
                   std::uint64_t timeout_ns, CUstream_st* stream) {
  FlagCall call{.state = state, .timeout_ns = timeout_ns};
  while (!signals.empty() || !waits.empty()) {
    call.num_signals = static_cast<unsigned>(std::min<std::size_t>(signals.size(), kThreads));
    std::copy_n(signals.begin(), call.num_signals, call.signals);
    signals = signals.subspan(call.num_signals);
    // No wait may keep back a signal: its peer may wait for that one first.
    call.num_waits = signals.empty() ? static_cast<unsigned>(std::min<std::size_t>(waits.size(), kThreads)) : 0;
    std::copy_n(waits.begin(), call.num_waits, call.waits);
    waits = waits.subspan(call.num_waits);
    launch(flags_kernel, {.blocks = 1, .threads = kThreads}, stream, call);
  }
}

}  // namespace underlap::cuda
