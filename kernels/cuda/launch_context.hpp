// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace underlap::cuda {

class Attention;
class MatrixProducts;

/// Device memory for the inside of one operation, owned by the stream that the operation runs on.
class Workspace {
 public:
  virtual ~Workspace() = default;

  /// Returns `bytes` bytes of device memory of any contents, aligned to 256, valid for what the operation enqueues from
  /// here on. One call an operation: a second one may return the same memory. Never waits for the device.
  /// Throws MachineError where the device has no memory left.
  virtual std::byte* take(std::int64_t bytes) = 0;
};

/// Errors inside a kernel. Bits of the device's fault word, which is read after a block.
enum Fault : std::uint32_t {
  kTokenOutsideVocabulary = 1U << 0,
  kTargetOutsideVocabulary = 1U << 1,
  kPositionOutsideSequence = 1U << 2,
};

/// The inputs of a CUDA implementation other than its views. Everything belongs to the device that launches.
struct LaunchContext {
  CUstream_st* stream = nullptr;
  int num_sms = 0;                     ///< streaming multiprocessors of the device
  int sm_budget = 0;                   ///< that this matrix product may use; 0: all
  int norm_sm_margin = 0;              ///< that a norm's persistent blocks leave free
  Workspace* workspace = nullptr;      ///< of this stream
  std::uint32_t* faults = nullptr;     ///< device word that kernels add Fault bits to
  MatrixProducts* products = nullptr;  ///< cuBLASLt
  Attention* attention = nullptr;      ///< cuDNN; nullptr: our own kernels, which are there for numerics
  bool is_deterministic = false;       ///< attention's backward gives the same bits at every run
};

}  // namespace underlap::cuda
