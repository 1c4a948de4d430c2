// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "kernels/bf16.hpp"
#include "kernels/gemm/cublaslt_api.hpp"

namespace underlap::cuda_host {

/// A cuBLASLt that computes on the machine of queues, writes down what it is asked for, and refuses what cuBLASLt
/// refuses. Matrices are column-major, of bf16, fp8 and fp32, without batches. All threads share it.
class CublasLtDouble {
 public:
  struct Operation {
    cublasComputeType_t compute{};
    cudaDataType scale{};
    std::int32_t transpose_a = CUBLAS_OP_N;
    std::int32_t transpose_b = CUBLAS_OP_N;
    std::int32_t sm_count_target = 0;
    std::int8_t fast_accumulation = 0;
    const float* scale_a = nullptr;
    const float* scale_b = nullptr;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const bf16* bias = nullptr;

    /// But for the places of scales and bias, which an algorithm does not depend on.
    bool is_like(Operation other) const {
      other.scale_a = scale_a;
      other.scale_b = scale_b;
      other.bias = bias;
      return *this == other;
    }
    bool operator==(const Operation&) const = default;
  };
  struct Layout {
    cudaDataType type{};
    std::uint64_t rows = 0;
    std::uint64_t cols = 0;
    std::int64_t leading_dimension = 0;

    bool operator==(const Layout&) const = default;
  };
  struct Preference {
    std::uint64_t max_workspace = 0;
    std::uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
    std::array<std::uint32_t, 4> alignment{256, 256, 256, 256};  // A, B, C, D

    bool operator==(const Preference&) const = default;
  };
  /// What is asked of the heuristic.
  struct Question {
    Operation operation;
    std::array<Layout, 4> layouts;  // A, B, C, D
    Preference preference;
  };
  struct Product {
    Operation operation;
    std::array<Layout, 4> layouts;
    std::array<const void*, 4> pointers;
    float alpha = 0;
    float beta = 0;
    std::uint32_t algorithm = 0;
    void* workspace = nullptr;
    std::size_t workspace_bytes = 0;
    cudaStream_t stream = nullptr;
  };
  /// An algorithm that the heuristic proposes.
  struct Candidate {
    std::uint32_t id = 0;
    cublasStatus_t state = CUBLAS_STATUS_SUCCESS;
    std::size_t workspace = 1024;
    std::uint32_t reduction_scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
  };

  static CublasLtDouble& instance();
  CublasLtDouble() { reset(); }
  static cuda::CublasLtApi api();

  /// Forgets what it was asked for, and proposes `candidates` from now on; one, number 7, where none are given.
  void reset(std::vector<Candidate> proposed);
  void reset();

  std::vector<std::string> calls;  // in order
  std::vector<Question> questions;
  std::vector<Product> products;
  std::vector<Candidate> candidates;
  int num_alive = 0;  // handles and descriptors
  std::mutex mutex;
};

}  // namespace underlap::cuda_host
