// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/launch_context.hpp"
#include "kernels/gemm/cublaslt_api.hpp"
#include "kernels/gemm/gemm.hpp"

namespace underlap::cuda {

/// What cuBLASLt chose for one kind of product. Numbers are the library's own.
struct ProductChoice {
  std::string product;  ///< as "[m, n] bf16 += [k, m]^T [k, n], ..."
  int sm_budget = 0;    ///< asked for; 0: none
  int algorithm = 0;
  int tile = 0;
  int stages = 0;
  int inner_shape = 0;
  int cluster_shape = 0;
  int split_k = 0;
  int reduction_scheme = 0;
  int swizzle = 0;
  float waves = 0;
  std::int64_t workspace_bytes = 0;  ///< that the algorithm needs
};

/// One line, for results and logs.
std::string to_string(const ProductChoice& choice);

/// Matrix products of one device through cuBLASLt: bf16 operands, or fp8 ones with a scale each; fp32 sums, c bf16 or
/// f32.
///
/// Everything that a product needs, except its pointers, is created at its first use and cached. The key is shape,
/// leading dimensions, types, transpositions, alignment of the pointers, fp8 accumulation, whether there is a bias, and
/// SM budget. After that a product is one look-up and one call. c += a b is formed as 1 * (a b) + 1 * c in fp32 and
/// rounded once, also where c is bf16. So reduction schemes that would round partial sums to c's type, which are also
/// the ones that add into c itself, are not admitted. The remaining schemes do not split k, or add partial sums in fp32
/// in order in a second pass. They use no atomics: the same product on the same device gives the same bits. Another SM
/// budget, alignment or release of cuBLASLt may choose another algorithm, and so give other bits. Algorithms that are
/// known to omit a part of k are not used.
///
/// For one thread at a time, whose current device is the one that the object was made on.
class MatrixProducts {
 public:
  /// Makes a handle on the current device. Throws MachineError.
  explicit MatrixProducts(const CublasLtApi& api);
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  /// Enqueues `call` on the context's stream; its views are in device memory. Takes workspace_bytes() of the context's
  /// workspace. Throws MachineError naming the product where cuBLASLt has no algorithm for it, and for fp8 operands on
  /// a GPU that cannot multiply them.
  void enqueue(const kernels::GemmCall& call, const LaunchContext& context);

  /// Of each stream: 32 MiB from compute capability 9 on, 4 MiB before, what NVIDIA recommends.
  std::int64_t workspace_bytes() const { return workspace_bytes_; }

  /// What is known to be wrong with this release of cuBLASLt on this GPU, where products run side by side. Source:
  /// release notes of CUDA 13.2.
  std::vector<std::string> notices() const;

  /// Every kind of product so far, in a fixed order.
  std::vector<ProductChoice> choices() const;

 private:
  struct Prepared;
  using Key = std::array<std::int64_t, 17>;

  Key key_of(const kernels::GemmCall& call, int sm_budget) const;
  const Prepared& prepared_for(const kernels::GemmCall& call, int sm_budget);
  std::unique_ptr<Prepared> prepare(const kernels::GemmCall& call, int sm_budget) const;
  void choose(Prepared& prepared, const kernels::GemmCall& call) const;
  void set_pointers(const kernels::GemmCall& call, cublasLtMatmulDesc_t operation) const;

  CublasLtApi api_;
  int capability_ = 0;  // of the device, as 90 for 9.0
  std::int64_t workspace_bytes_ = 0;
  std::unique_ptr<cublasLtContext, decltype(&cublasLtDestroy)> handle_;
  std::map<Key, std::unique_ptr<Prepared>> prepared_;
};

}  // namespace underlap::cuda
