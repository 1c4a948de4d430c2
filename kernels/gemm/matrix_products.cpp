// SPDX-License-Identifier: Apache-2.0
//
// From a product to one call of cuBLASLt:
//
//   call, SM budget -> key -> prepared at its first use: descriptor, layouts, algorithm -> cublasLtMatmul
//
// cuBLASLt's matrices are stored by columns. A row-major [r, c] view is a column-major [c, r] matrix in the same place
// with the same leading dimension, so what is asked of cuBLASLt is c^T = b^T a^T: b comes first, and neither operand is
// copied. An operand that is to be transposed is transposed there too.
//
//   c = a b     row-major                     as cuBLASLt sees the same memory
//               a [m, k], b [k, n] -> c       A = b, [n, k];  B = a, [k, m];  D = c, [n, m]
//
// Which algorithm it is decides bits as well as time: reduction schemes that would round partial sums to c's type are
// left out, and so are algorithms that are known to be wrong.
#include "kernels/gemm/matrix_products.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

using kernels::GemmCall;

/// Pointers that a kernel moves 16 bytes at a time from lie on multiples of this; cuBLASLt asks for no more.
constexpr std::uintptr_t kLargestAlignment = 256;
/// Ada's. Hopper's is 9.0.
constexpr int kFp8Capability = 89;
/// How many algorithms to look at; nearly always the first fits.
constexpr int kCandidates = 8;

template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

/// Calls `create(&handle, arguments...)` and owns what it made.
template <class Handle, class Create, class... Arguments>
Owned<Handle> make(const CublasLtApi& api, Create create, cublasStatus_t (*destroy)(Handle), Arguments... arguments) {
  Handle handle = nullptr;
  api.check(create(&handle, arguments...));
  return {handle, destroy};
}

cudaDataType type_of(DataType type) {
  if (type == DataType::bf16) return CUDA_R_16BF;
  if (type == DataType::f32) return CUDA_R_32F;
  if (type == DataType::f8e4m3) return CUDA_R_8F_E4M3;
  if (type == DataType::f8e5m2) return CUDA_R_8F_E5M2;
  throw std::invalid_argument(fmt::format("matrix products do not support operands of type {}", to_string(type)));
}

/// The leading dimension, which a view of one row need not have.
std::int64_t leading_dimension(const BoundView& view) { return std::max(view.leading_dimension, view.cols); }

std::int64_t inner(const GemmCall& call) { return call.transpose_a ? call.a.rows : call.a.cols; }

/// The largest power of two that divides the address, up to kLargestAlignment.
std::uint32_t alignment(const BoundView& view) {
  const auto address = reinterpret_cast<std::uintptr_t>(view.data) | kLargestAlignment;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

/// Operands are bf16 unless the name includes a type.
std::string fp8_name(const BoundView& view) {
  return is_fp8(view.dtype) ? fmt::format(" {}", to_string(view.dtype)) : "";
}

bool has_fast_accumulation(const GemmCall& call) { return is_fp8(call.a.dtype) && !call.use_split_accumulator; }

std::string describe(const GemmCall& call) {
  return fmt::format(
      "[{}, {}] {} {} [{}, {}]{}{} [{}, {}]{}{}{}, leading dimensions {}, {}, {}, aligned to {}, {}, {} bytes{}",
      call.c.rows, call.c.cols, to_string(call.c.dtype), call.accumulate ? "+=" : "=", call.a.rows, call.a.cols,
      fp8_name(call.a), call.transpose_a ? "^T" : "", call.b.rows, call.b.cols, fp8_name(call.b),
      call.transpose_b ? "^T" : "", call.bias != nullptr ? " + bias" : "", call.a.leading_dimension,
      call.b.leading_dimension, call.c.leading_dimension, alignment(call.a), alignment(call.b), alignment(call.c),
      has_fast_accumulation(call) ? ", fast accumulation" : "");
}

Owned<cublasLtMatrixLayout_t> layout_of(const CublasLtApi& api, const BoundView& view) {
  return make(api, api.layout_create, api.layout_destroy, type_of(view.dtype), static_cast<std::uint64_t>(view.cols),
              static_cast<std::uint64_t>(view.rows), leading_dimension(view));
}

/// Of the current device, as 90 for 9.0.
int current_capability() {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return 10 * major + minor;
}

std::int64_t recommended_workspace(int capability) { return std::int64_t{capability >= 90 ? 32 : 4} << 20; }

/// An attribute of an algorithm; 0 where this release of the library does not know it.
int attribute(const CublasLtApi& api, const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t which,
              std::size_t bytes = sizeof(std::uint32_t)) {
  std::uint32_t value = 0;
  std::size_t written = 0;
  const auto status = api.algo_get(&algorithm, which, &value, bytes, &written);
  return status == CUBLAS_STATUS_SUCCESS ? static_cast<int>(value) : 0;
}

/// Elements of k in a stage, for the library's numbers of stages that it chooses itself (8xAUTO and so on); of others
/// 8, which divides all.
int stage_length(int stages) {
  constexpr int kFirst = 32;  // CUBLASLT_MATMUL_STAGES_8xAUTO
  constexpr std::array kLengths{8, 16, 32, 64, 128, 256, 768};
  const int i = stages - kFirst;
  return i >= 0 && i < static_cast<int>(kLengths.size()) ? kLengths[static_cast<std::size_t>(i)] : 8;
}

/// On GPUs from compute capability 9.0, algorithm 66 omits the rest after the last whole part of k if the parts do not
/// divide k and are whole stages. Source: release notes of CUDA 13.4 Update 1, of 12.6 Update 2 to 13.4.
bool loses_end_of_k(const CublasLtApi& api, const cublasLtMatmulAlgo_t& algorithm, std::int64_t k) {
  const int parts = attribute(api, algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  return attribute(api, algorithm, CUBLASLT_ALGO_CONFIG_ID) == 66 && parts > 1 && k % parts != 0 &&
         k / parts % stage_length(attribute(api, algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID)) == 0;
}

}  // namespace

/// A product that needs only its pointers.
struct MatrixProducts::Prepared {
  Owned<cublasLtMatmulDesc_t> operation;
  Owned<cublasLtMatrixLayout_t> a, b, c;
  float beta = 0;
  cublasLtMatmulAlgo_t algorithm{};
  ProductChoice choice;
};

MatrixProducts::MatrixProducts(const CublasLtApi& api)
    : api_(api),
      capability_(current_capability()),
      workspace_bytes_(recommended_workspace(capability_)),
      handle_(make(api, api.create, api.destroy)) {}

MatrixProducts::~MatrixProducts() = default;

MatrixProducts::Key MatrixProducts::key_of(const GemmCall& call, int sm_budget) const {
  return {call.c.rows,
          call.c.cols,
          inner(call),
          leading_dimension(call.a),
          leading_dimension(call.b),
          leading_dimension(call.c),
          static_cast<std::int64_t>(call.a.dtype),
          static_cast<std::int64_t>(call.b.dtype),
          static_cast<std::int64_t>(call.c.dtype),
          (call.transpose_a ? 1 : 0) + (call.transpose_b ? 2 : 0),
          call.accumulate ? 1 : 0,
          alignment(call.a),
          alignment(call.b),
          alignment(call.c),
          has_fast_accumulation(call) ? 1 : 0,
          call.bias != nullptr ? 1 : 0,
          sm_budget};
}

const MatrixProducts::Prepared& MatrixProducts::prepared_for(const GemmCall& call, int sm_budget) {
  const Key key = key_of(call, sm_budget);
  const auto found = prepared_.find(key);
  if (found != prepared_.end()) return *found->second;
  return *prepared_.emplace(key, prepare(call, sm_budget)).first->second;
}

std::unique_ptr<MatrixProducts::Prepared> MatrixProducts::prepare(const GemmCall& call, int sm_budget) const {
  if (is_fp8(call.a.dtype) && capability_ < kFp8Capability)
    throw MachineError(
        fmt::format("fp8 products need a GPU of compute capability 8.9 or newer, this one has {}.{} "
                    "(mixed_precision.recipe: bf16_mixed runs here)",
                    capability_ / 10, capability_ % 10));
  Prepared prepared{.operation = make(api_, api_.desc_create, api_.desc_destroy, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                    .a = layout_of(api_, call.a),
                    .b = layout_of(api_, call.b),
                    .c = layout_of(api_, call.c),
                    .beta = call.accumulate ? 1.0F : 0.0F,
                    .choice = {.product = describe(call), .sm_budget = sm_budget}};
  const auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    api_.check(api_.desc_set(prepared.operation.get(), which, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(call.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(call.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N));
  if (sm_budget > 0) set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(sm_budget));
  if (is_fp8(call.a.dtype)) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(has_fast_accumulation(call)));
  if (call.bias != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_BIAS));
  set_pointers(call, prepared.operation.get());
  choose(prepared, call);
  return std::make_unique<Prepared>(std::move(prepared));
}

// Scales and bias are pointers in the descriptor, read by the product when it runs: set for each call, since their
// place is not part of the key. A bias has an element for each row of cuBLASLt's matrix, which is a column of ours.
void MatrixProducts::set_pointers(const GemmCall& call, cublasLtMatmulDesc_t operation) const {
  const auto set = [&](cublasLtMatmulDescAttributes_t which, const void* pointer) {
    api_.check(api_.desc_set(operation, which, &pointer, sizeof pointer));
  };
  if (call.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias);
  if (!is_fp8(call.a.dtype)) return;
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, call.b_inverse_scale);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, call.a_inverse_scale);
}

// Takes the first of the heuristic's candidates that fits into the workspace and is not known to be wrong. Its numbers
// are stored in the results, which then show which kernel was measured.
void MatrixProducts::choose(Prepared& prepared, const GemmCall& call) const {
  const auto preference = make(api_, api_.preference_create, api_.preference_destroy);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    api_.check(api_.preference_set(preference.get(), which, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes_));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(call.b));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(call.a));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(call.c));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(call.c));

  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> found{};
  auto first = found.end();
  auto status = CUBLAS_STATUS_SUCCESS;
  // With split k first; without, where no candidate of those can be taken.
  for (const auto schemes : {CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_NONE}) {
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(schemes));
    int num_found = 0;
    status =
        api_.get_heuristic(handle_.get(), prepared.operation.get(), prepared.b.get(), prepared.a.get(),
                           prepared.c.get(), prepared.c.get(), preference.get(), kCandidates, found.data(), &num_found);
    const auto end = found.begin() + num_found;
    first = std::find_if(found.begin(), end, [&](const cublasLtMatmulHeuristicResult_t& candidate) {
      return candidate.state == CUBLAS_STATUS_SUCCESS &&
             candidate.workspaceSize <= static_cast<std::size_t>(workspace_bytes_) &&
             !loses_end_of_k(api_, candidate.algo, inner(call));
    });
    if (first != end) break;
    first = found.end();
  }
  if (first == found.end())
    throw MachineError(fmt::format("cuBLASLt {} has no algorithm for {}, {} SMs, {} bytes of workspace: {}",
                                   api_.version(), prepared.choice.product,
                                   prepared.choice.sm_budget == 0 ? "all" : std::to_string(prepared.choice.sm_budget),
                                   workspace_bytes_, api_.get_status_name(status)));
  prepared.algorithm = first->algo;
  ProductChoice& choice = prepared.choice;
  choice.waves = first->wavesCount;
  choice.workspace_bytes = static_cast<std::int64_t>(first->workspaceSize);
  choice.algorithm = attribute(api_, first->algo, CUBLASLT_ALGO_CONFIG_ID);
  choice.tile = attribute(api_, first->algo, CUBLASLT_ALGO_CONFIG_TILE_ID);
  choice.stages = attribute(api_, first->algo, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  choice.split_k = attribute(api_, first->algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  choice.reduction_scheme = attribute(api_, first->algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  choice.swizzle = attribute(api_, first->algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  choice.inner_shape = attribute(api_, first->algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, sizeof(std::uint16_t));
  choice.cluster_shape = attribute(api_, first->algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, sizeof(std::uint16_t));
}

void MatrixProducts::enqueue(const GemmCall& call, const LaunchContext& context) {
  const Prepared& prepared = prepared_for(call, context.sm_budget);
  constexpr float kAlpha = 1;
  void* const workspace = context.workspace->take(workspace_bytes_);
  set_pointers(call, prepared.operation.get());
  api_.check(api_.matmul(handle_.get(), prepared.operation.get(), &kAlpha, call.b.data, prepared.b.get(), call.a.data,
                         prepared.a.get(), &prepared.beta, call.c.data, prepared.c.get(), call.c.data, prepared.c.get(),
                         &prepared.algorithm, workspace, static_cast<std::size_t>(workspace_bytes_), context.stream));
}

std::vector<std::string> MatrixProducts::notices() const {
  const std::size_t version = api_.get_version();
  if (capability_ < 100 || capability_ >= 120 || version < 120'800 || version >= 130'300) return {};
  return {
      fmt::format("cuBLASLt {} may compute wrong products on this GPU during another kernel that uses tensor memory: "
                  "losses need 13.3 or newer, times do not",
                  api_.version())};
}

std::vector<ProductChoice> MatrixProducts::choices() const {
  std::vector<ProductChoice> all;
  for (const auto& [key, prepared] : prepared_) all.push_back(prepared->choice);
  return all;
}

std::string to_string(const ProductChoice& c) {
  return fmt::format(
      "{}, SM budget {}: algorithm {}, tile {}, stages {}, inner shape {}, cluster {}, split-k {}, reduction scheme "
      "{}, "
      "swizzle {}, {:.2f} waves, {} bytes of workspace",
      c.product, c.sm_budget, c.algorithm, c.tile, c.stages, c.inner_shape, c.cluster_shape, c.split_k,
      c.reduction_scheme, c.swizzle, c.waves, c.workspace_bytes);
}

}  // namespace underlap::cuda
