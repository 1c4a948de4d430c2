// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/cublaslt_double.hpp"

#include "kernels/fp8.hpp"
#include "tests/cuda_host/machine.hpp"

struct cublasLtContext {};

namespace underlap::cuda_host {
namespace {

using Operation = CublasLtDouble::Operation;
using Layout = CublasLtDouble::Layout;
using Preference = CublasLtDouble::Preference;
using Product = CublasLtDouble::Product;

constexpr std::uint32_t kParts = 3;  // of a k that is split
constexpr std::uint64_t kMagic = 0x616c676f72697468;

/// What the double keeps in an algorithm's opaque words.
struct Algorithm {
  std::uint64_t magic = kMagic;
  std::uint32_t id = 0;
  std::uint32_t reduction_scheme = 0;
  std::uint64_t workspace = 0;
  std::array<std::uint32_t, 4> alignment{};  // promised for A, B, C, D
  std::uint64_t asked_for = 0;               // number of the heuristic's question, from 0
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// A call: recorded, and alone while it lasts.
class Call {
 public:
  explicit Call(const char* name) : lock_(fake.mutex) { fake.calls.emplace_back(name); }
  CublasLtDouble& fake = CublasLtDouble::instance();

 private:
  std::lock_guard<std::mutex> lock_;
};

template <class Handle, class T>
cublasStatus_t give(Call& call, Handle* to, T* object) {
  *to = reinterpret_cast<Handle>(object);
  ++call.fake.num_alive;
  return CUBLAS_STATUS_SUCCESS;
}

template <class T, class Handle>
cublasStatus_t take_back(Call& call, Handle handle) {
  delete reinterpret_cast<T*>(handle);
  --call.fake.num_alive;
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t assign(T& to, const void* from, std::size_t bytes) {
  if (from == nullptr || bytes != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, sizeof to);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
const T& as(const void* handle) {
  return *static_cast<const T*>(handle);
}

std::size_t get_version() { return 130'100; }
const char* status_name(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "another status";
  }
}

cublasStatus_t create(cublasLtHandle_t* handle) {
  Call call("create");
  return give(call, handle, new cublasLtContext);
}
cublasStatus_t destroy(cublasLtHandle_t handle) {
  Call call("destroy");
  return take_back<cublasLtContext>(call, handle);
}

cublasStatus_t desc_create(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
  Call call("desc_create");
  return give(call, desc, new Operation{.compute = compute, .scale = scale});
}
cublasStatus_t desc_set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which, const void* from,
                        std::size_t bytes) {
  const Call call("desc_set");
  auto& operation = *reinterpret_cast<Operation*>(desc);
  switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return assign(operation.transpose_a, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return assign(operation.transpose_b, from, bytes);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return assign(operation.sm_count_target, from, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return assign(operation.fast_accumulation, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return assign(operation.epilogue, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return assign(operation.bias, from, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return assign(operation.scale_a, from, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return assign(operation.scale_b, from, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}
cublasStatus_t desc_destroy(cublasLtMatmulDesc_t desc) {
  Call call("desc_destroy");
  return take_back<Operation>(call, desc);
}

cublasStatus_t layout_create(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows, std::uint64_t cols,
                             std::int64_t leading_dimension) {
  Call call("layout_create");
  return give(call, layout, new Layout{type, rows, cols, leading_dimension});
}
cublasStatus_t layout_destroy(cublasLtMatrixLayout_t layout) {
  Call call("layout_destroy");
  return take_back<Layout>(call, layout);
}

cublasStatus_t preference_create(cublasLtMatmulPreference_t* preference) {
  Call call("preference_create");
  return give(call, preference, new Preference);
}
cublasStatus_t preference_set(cublasLtMatmulPreference_t handle, cublasLtMatmulPreferenceAttributes_t which,
                              const void* from, std::size_t bytes) {
  const Call call("preference_set");
  auto& preference = *reinterpret_cast<Preference*>(handle);
  switch (which) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return assign(preference.max_workspace, from, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return assign(preference.reduction_schemes, from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return assign(preference.alignment[0], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return assign(preference.alignment[1], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return assign(preference.alignment[2], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return assign(preference.alignment[3], from, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}
cublasStatus_t preference_destroy(cublasLtMatmulPreference_t preference) {
  Call call("preference_destroy");
  return take_back<Preference>(call, preference);
}

/// Rows and columns of an operand as the operation sees it.
std::pair<std::uint64_t, std::uint64_t> seen(const Layout& layout, std::int32_t transpose) {
  return transpose == CUBLAS_OP_N ? std::pair{layout.rows, layout.cols} : std::pair{layout.cols, layout.rows};
}

bool fits(const Operation& operation, const std::array<Layout, 4>& layouts) {
  const auto& [a, b, c, d] = layouts;
  const auto [m, k] = seen(a, operation.transpose_a);
  const auto [k_of_b, n] = seen(b, operation.transpose_b);
  return k == k_of_b && c == d && c.rows == m && c.cols == n && m > 0 && n > 0 && k > 0 &&
         std::ranges::all_of(layouts, [](const Layout& layout) {
           return layout.leading_dimension >= static_cast<std::int64_t>(layout.rows);
         });
}

bool is_fp8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

std::int64_t bytes_of(const Layout& layout) {
  if (is_fp8(layout.type)) return layout.leading_dimension;
  return layout.leading_dimension * (layout.type == CUDA_R_32F ? 4 : 2);
}

/// As 12.9 to 13.1 want it.
bool is_scale_aligned(const float* scale) { return reinterpret_cast<std::uintptr_t>(scale) % 16 == 0; }

/// fp8 operands both run along the summed dimension, columns begin at multiples of 16 bytes, and one is E4M3.
bool is_supported_fp8(const Operation& operation, const std::array<Layout, 4>& layouts) {
  const auto& [a, b, c, d] = layouts;
  return is_fp8(a.type) && is_fp8(b.type) && (a.type == CUDA_R_8F_E4M3 || b.type == CUDA_R_8F_E4M3) &&
         operation.transpose_a == CUBLAS_OP_T && operation.transpose_b == CUBLAS_OP_N && a.rows % 16 == 0 &&
         is_scale_aligned(operation.scale_a) && is_scale_aligned(operation.scale_b) &&
         std::ranges::all_of(layouts, [](const Layout& layout) { return bytes_of(layout) % 16 == 0; });
}

bool is_supported(const Operation& operation, const std::array<Layout, 4>& layouts) {
  const auto& [a, b, c, d] = layouts;
  return operation.compute == CUBLAS_COMPUTE_32F && operation.scale == CUDA_R_32F &&
         (c.type == CUDA_R_16BF || c.type == CUDA_R_32F) &&
         ((a.type == CUDA_R_16BF && b.type == CUDA_R_16BF) || is_supported_fp8(operation, layouts));
}

cublasStatus_t get_heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                             cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             cublasLtMatmulPreference_t handle, int requested,
                             cublasLtMatmulHeuristicResult_t results[], int* returned) {
  const Call call("get_heuristic");
  CublasLtDouble& fake = call.fake;
  const auto& operation = as<Operation>(desc);
  const std::array<Layout, 4> layouts{as<Layout>(a), as<Layout>(b), as<Layout>(c), as<Layout>(d)};
  const auto& preference = as<Preference>(handle);
  fake.questions.push_back({operation, layouts, preference});
  *returned = 0;
  if (!fits(operation, layouts)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_supported(operation, layouts)) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const CublasLtDouble::Candidate& candidate : fake.candidates) {
    if (*returned == requested) break;
    if ((candidate.reduction_scheme & ~preference.reduction_schemes) != 0) continue;
    const Algorithm algorithm{.id = candidate.id,
                              .reduction_scheme = candidate.reduction_scheme,
                              .workspace = candidate.workspace,
                              .alignment = preference.alignment,
                              .asked_for = fake.questions.size() - 1};
    cublasLtMatmulHeuristicResult_t& result = results[(*returned)++];
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = candidate.workspace;
    result.state = candidate.state;
    result.wavesCount = 1.5F;
  }
  return *returned == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t algo_get(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t which, void* to,
                        std::size_t bytes, std::size_t* written) {
  const auto& algorithm = as<Algorithm>(algo);
  std::uint32_t value = 0;
  switch (which) {
    case CUBLASLT_ALGO_CONFIG_ID: value = algorithm.id; break;
    case CUBLASLT_ALGO_CONFIG_TILE_ID: value = CUBLASLT_MATMUL_TILE_128x256; break;
    case CUBLASLT_ALGO_CONFIG_STAGES_ID: value = CUBLASLT_MATMUL_STAGES_8xAUTO; break;
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM: value = algorithm.reduction_scheme == 0 ? 1 : kParts; break;
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME: value = algorithm.reduction_scheme; break;
    case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING: value = 1; break;
    // A release that does not know cluster shapes and inner shapes.
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (bytes != sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, &value, sizeof value);
  *written = sizeof value;
  return CUBLAS_STATUS_SUCCESS;
}

float read(const void* data, const Layout& layout, std::uint64_t row, std::uint64_t col) {
  const auto at = static_cast<std::int64_t>(col) * layout.leading_dimension + static_cast<std::int64_t>(row);
  if (layout.type == CUDA_R_32F) return static_cast<const float*>(data)[at];
  if (layout.type == CUDA_R_8F_E4M3) return static_cast<float>(static_cast<const f8e4m3*>(data)[at]);
  if (layout.type == CUDA_R_8F_E5M2) return static_cast<float>(static_cast<const f8e5m2*>(data)[at]);
  return static_cast<float>(static_cast<const bf16*>(data)[at]);
}

void write(void* data, const Layout& layout, std::uint64_t row, std::uint64_t col, float value) {
  const auto at = static_cast<std::int64_t>(col) * layout.leading_dimension + static_cast<std::int64_t>(row);
  if (layout.type == CUDA_R_32F) {
    static_cast<float*>(data)[at] = value;
  } else {
    static_cast<bf16*>(data)[at] = bf16(value);
  }
}

void compute(const Product& product, void* to) {
  const auto& [a, b, c, d] = product.layouts;
  const bool transpose_a = product.operation.transpose_a == CUBLAS_OP_T;
  const bool transpose_b = product.operation.transpose_b == CUBLAS_OP_T;
  const std::uint64_t inner = transpose_a ? a.rows : a.cols;
  const auto scale_of = [](const float* scale) { return scale == nullptr ? 1.0F : *scale; };
  const float alpha = product.alpha * scale_of(product.operation.scale_a) * scale_of(product.operation.scale_b);
  for (std::uint64_t col = 0; col < d.cols; ++col)
    for (std::uint64_t row = 0; row < d.rows; ++row) {
      float sum = 0;
      for (std::uint64_t l = 0; l < inner; ++l)
        sum += (transpose_a ? read(product.pointers[0], a, l, row) : read(product.pointers[0], a, row, l)) *
               (transpose_b ? read(product.pointers[1], b, col, l) : read(product.pointers[1], b, l, col));
      // A factor of 0 means that c is not read.
      const float old = product.beta == 0 ? 0 : product.beta * read(product.pointers[2], c, row, col);
      const bool has_bias = product.operation.epilogue == CUBLASLT_EPILOGUE_BIAS;
      const float bias = has_bias ? static_cast<float>(product.operation.bias[row]) : 0;
      write(to, d, row, col, alpha * sum + old + bias);
    }
}

bool is_aligned(const void* pointer, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                      cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                      const void* c, cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                      const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t workspace_bytes,
                      cudaStream_t stream) {
  const Call call("matmul");
  const auto& algorithm = as<Algorithm>(algo);
  const Product product{
      .operation = as<Operation>(desc),
      .layouts = {as<Layout>(a_layout), as<Layout>(b_layout), as<Layout>(c_layout), as<Layout>(d_layout)},
      .pointers = {a, b, c, d},
      .alpha = as<float>(alpha),
      .beta = as<float>(beta),
      .algorithm = algorithm.id,
      .workspace = workspace,
      .workspace_bytes = workspace_bytes,
      .stream = stream};
  call.fake.products.push_back(product);
  if (handle == nullptr || algorithm.magic != kMagic || algorithm.asked_for >= call.fake.questions.size())
    return CUBLAS_STATUS_INVALID_VALUE;
  const CublasLtDouble::Question& question = call.fake.questions[algorithm.asked_for];
  if (!question.operation.is_like(product.operation) || question.layouts != product.layouts)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm.workspace > 0 &&
      (workspace == nullptr || workspace_bytes < algorithm.workspace || !is_aligned(workspace, 256)))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (std::size_t i = 0; i < 4; ++i)
    if (!is_aligned(product.pointers[i], algorithm.alignment[i])) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!is_supported(product.operation, product.layouts)) return CUBLAS_STATUS_NOT_SUPPORTED;
  Machine::instance().enqueue(stream, {.ready = {}, .run = [=] {
                                         std::memset(workspace, 0x55, algorithm.workspace);
                                         compute(product, d);
                                       }});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

CublasLtDouble& CublasLtDouble::instance() {
  static CublasLtDouble fake;
  return fake;
}

cuda::CublasLtApi CublasLtDouble::api() {
  return {.get_version = get_version,
          .get_status_name = status_name,
          .get_status_string = status_name,
          .create = create,
          .destroy = destroy,
          .desc_create = desc_create,
          .desc_set = desc_set,
          .desc_destroy = desc_destroy,
          .layout_create = layout_create,
          .layout_destroy = layout_destroy,
          .preference_create = preference_create,
          .preference_set = preference_set,
          .preference_destroy = preference_destroy,
          .get_heuristic = get_heuristic,
          .algo_get = algo_get,
          .matmul = matmul};
}

void CublasLtDouble::reset() { reset({Candidate{.id = 7}}); }

void CublasLtDouble::reset(std::vector<Candidate> proposed) {
  const std::lock_guard lock(mutex);
  calls.clear();
  questions.clear();
  products.clear();
  candidates = std::move(proposed);
}

}  // namespace underlap::cuda_host
