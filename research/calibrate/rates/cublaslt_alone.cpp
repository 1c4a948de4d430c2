// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/rates/cublaslt_alone.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/gemm_fp8/gemm_fp8_parameters.hpp"
#include "platform/errors.hpp"

// Row-major to a library that stores by columns: c^T = b^T a^T, so b is its first operand and a its second.

namespace underlap::bench {
namespace {

template <class T, class Create, class... Arguments>
std::unique_ptr<T, cublasStatus_t (*)(T*)> make(const cuda::CublasLtApi& api, Create create,
                                                cublasStatus_t (*destroy)(T*), Arguments... arguments) {
  T* made = nullptr;
  api.check(create(&made, arguments...));
  return {made, destroy};
}

cudaDataType_t type_of(DataType type) {
  switch (type) {
    case DataType::f32: return CUDA_R_32F;
    case DataType::f8e4m3: return CUDA_R_8F_E4M3;
    case DataType::f8e5m2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_16BF;
  }
}

auto layout(const cuda::CublasLtApi& api, const BoundView& view) {
  return make(api, api.layout_create, api.layout_destroy, type_of(view.dtype), static_cast<std::uint64_t>(view.cols),
              static_cast<std::uint64_t>(view.rows), std::max(view.leading_dimension, view.cols));
}

}  // namespace

CublasLtAlone::CublasLtAlone(const cuda::CublasLtApi& api, const kernels::GemmCall& call, std::int64_t workspace_bytes)
    : api_(api),
      workspace_bytes_(workspace_bytes),
      library_(make(api, api.create, api.destroy)),
      operation_(make(api, api.desc_create, api.desc_destroy, CUBLAS_COMPUTE_32F, CUDA_R_32F)),
      a_(layout(api, call.a)),
      b_(layout(api, call.b)),
      c_(layout(api, call.c)) {
  const auto transpose = [&](cublasLtMatmulDescAttributes_t operand, bool is_transposed) {
    const std::int32_t value = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    api_.check(api_.desc_set(operation_.get(), operand, &value, sizeof value));
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, call.transpose_b);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, call.transpose_a);
  if (is_fp8(call.a.dtype)) {
    const std::int8_t has_fast_accumulation = call.use_split_accumulator ? 0 : 1;
    api_.check(api_.desc_set(operation_.get(), CUBLASLT_MATMUL_DESC_FAST_ACCUM, &has_fast_accumulation,
                             sizeof has_fast_accumulation));
    api_.check(
        api_.desc_set(operation_.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &call.b_inverse_scale, sizeof(void*)));
    api_.check(
        api_.desc_set(operation_.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &call.a_inverse_scale, sizeof(void*)));
  }
  const auto preference = make(api, api.preference_create, api.preference_destroy);
  const auto workspace = static_cast<std::uint64_t>(workspace_bytes);
  api_.check(
      api_.preference_set(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
  cublasLtMatmulHeuristicResult_t found{};
  int num_found = 0;
  api_.check(api_.get_heuristic(library_.get(), operation_.get(), b_.get(), a_.get(), c_.get(), c_.get(),
                                preference.get(), 1, &found, &num_found));
  if (num_found == 0) throw MachineError("cuBLASLt has no algorithm for this GEMM");
  algorithm_ = found.algo;
}

void CublasLtAlone::enqueue(const kernels::GemmCall& call, const cuda::LaunchContext& context) {
  const float alpha = 1, beta = call.accumulate ? 1 : 0;
  api_.check(api_.matmul(library_.get(), operation_.get(), &alpha, call.b.data, b_.get(), call.a.data, a_.get(), &beta,
                         call.c.data, c_.get(), call.c.data, c_.get(), &algorithm_,
                         context.workspace->take(workspace_bytes_), static_cast<std::size_t>(workspace_bytes_),
                         context.stream));
}

kernels::GemmCall product_of(NameId operation, const Arguments& views) {
  const std::string name(name_of(operation));
  if (name == "gemm_fp8") return kernels::fp8_call(views);
  kernels::GemmCall call;
  call.a = views[0];
  call.b = views[1];
  call.c = views[2];
  if (name == "gemm_fprop")
    call.transpose_b = true;
  else if (name == "gemm_wgrad")
    call.transpose_a = call.accumulate = true;
  else if (name != "gemm_dgrad")
    throw std::invalid_argument(name + " is not a matrix product");
  return call;
}

}  // namespace underlap::bench
