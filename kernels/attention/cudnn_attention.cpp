// SPDX-License-Identifier: Apache-2.0
//
// From an operation's views to one call of cuDNN:
//
//   views -> shape and strides -> plan (made at first use, then looked up) -> pointers by name -> execute
//
//   workspace   | the plan's | sums of out * dout (backward) | lse, where a copy is needed | dq in fp32 (atomics) |
//
// lse is copied around the call where it is not dense as cuDNN wants it: after forward, which writes it, and before
// backward, which reads it. The copies are enqueued on the same stream.
#include "kernels/attention/cudnn_attention.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/attention/attention_parameters.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/implementations.hpp"

namespace underlap::cuda {
namespace {

cudnnHandle_t make_handle(const CudnnApi& api) {
  cudnnHandle_t handle = nullptr;
  api.check(api.create(&handle), "making a handle");
  return handle;
}

/// Throws std::invalid_argument unless every row of every bf16 view begins on a multiple of kAttentionAlignment.
void require_aligned(const Arguments& views) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const BoundView& view = views[i];
    if (view.dtype != DataType::bf16) continue;
    const std::int64_t row = view.leading_dimension * size_of(view.dtype);
    if (reinterpret_cast<std::uintptr_t>(view.data) % kAttentionAlignment == 0 &&
        (view.rows <= 1 || row % kAttentionAlignment == 0))
      continue;
    throw std::invalid_argument(
        fmt::format("cuDNN attention: the rows of operand {}, {} bytes apart, are not all aligned to {} bytes; use a "
                    "leading dimension and an offset that are multiples of 8",
                    i, row, kAttentionAlignment));
  }
}

/// The elements from row to row, which a view of one row need not have.
std::int64_t stride(const BoundView& view) { return std::max(view.leading_dimension, view.cols); }

/// q, k, v, out and lse are the first views of both passes.
AttentionShape shape_of(const Arguments& views) {
  require_aligned(views);
  const auto parameters = views.parameters<kernels::AttentionParameters>();
  return {.sequences = views[0].rows / parameters.seq_length,
          .seq_length = parameters.seq_length,
          .kv_length = parameters.kv_length,
          .causal = parameters.causal,
          .heads = views[0].cols / parameters.head_size,
          .groups = views[1].cols / parameters.head_size,
          .head_size = parameters.head_size,
          .strides = {.q = stride(views[0]), .k = stride(views[1]), .v = stride(views[2]), .out = stride(views[3])}};
}

std::int64_t bytes_of_rows(const AttentionShape& shape) {
  return shape.heads * shape.sequences * shape.seq_length * size_of(DataType::f32);
}

/// Offsets of consecutive parts in the workspace, each at a multiple of 256 bytes.
class WorkspaceLayout {
 public:
  std::int64_t add(std::int64_t bytes) {
    const std::int64_t first = bytes_;
    bytes_ += (bytes + 255) / 256 * 256;
    return first;
  }
  std::int64_t bytes() const { return std::max<std::int64_t>(bytes_, 1); }

 private:
  std::int64_t bytes_ = 0;
};

/// lse as the operations have it, [heads, tokens], and as cuDNN wants it: [sequences, heads, positions], dense.
class DenseLse {
 public:
  /// Adds its copy to `layout` where it needs one.
  DenseLse(const BoundView& lse, const AttentionShape& shape, WorkspaceLayout& layout)
      : lse_(lse),
        shape_(shape),
        is_dense_(shape.heads == 1 || (shape.sequences == 1 && stride(lse) == shape.seq_length)),
        offset_(is_dense_ ? 0 : layout.add(bytes_of_rows(shape))) {}

  std::byte* data(std::byte* workspace) const { return is_dense_ ? lse_.data : workspace + offset_; }
  void gather(std::byte* workspace, LaunchContext& context) const {
    for_each_sequence(workspace, [&](const BoundView& part, const BoundView& dense) { copy(part, dense, context); });
  }
  void scatter(std::byte* workspace, LaunchContext& context) const {
    for_each_sequence(workspace, [&](const BoundView& part, const BoundView& dense) { copy(dense, part, context); });
  }

 private:
  template <class F>
  void for_each_sequence(std::byte* workspace, F f) const {
    if (is_dense_) return;
    BoundView part = lse_, dense = lse_;
    part.cols = dense.cols = dense.leading_dimension = shape_.seq_length;
    for (std::int64_t s = 0; s < shape_.sequences; ++s) {
      part.data = lse_.data + s * shape_.seq_length * size_of(DataType::f32);
      dense.data = data(workspace) + s * shape_.heads * shape_.seq_length * size_of(DataType::f32);
      f(part, dense);
    }
  }
  static void copy(const BoundView& from, const BoundView& to, LaunchContext& context) {
    static const CudaImplementation copy_views = cuda_implementation(intern("copy"));
    const std::array<BoundView, 2> views{from, to};
    copy_views(Arguments(views, nullptr), context);
  }

  BoundView lse_;
  AttentionShape shape_;
  bool is_dense_;
  std::int64_t offset_;
};

/// Before 9.10 cuDNN wants the lowest number, and infinity after.
float hidden_score(std::size_t version) {
  return version < 91'000 ? std::numeric_limits<float>::lowest() : -std::numeric_limits<float>::infinity();
}

}  // namespace

Attention::Attention(const CudnnApi& api) : api_(api), handle_(make_handle(api), api.destroy) {}

const CudnnPlan& Attention::plan_for(const Key& key) {
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  const CudnnTarget target{.handle = handle_.get()};
  CudnnPlan plan = key.backward ? plan_attention_backward(api_, target, key.shape, key.dq_sums)
                                : plan_attention_forward(api_, target, key.shape);
  return plans_.emplace(key, std::move(plan)).first->second;
}

// Pointers and numbers go by the names that the graph gave its tensors. Numbers are read during the call: they may lie
// on the host's stack.
void Attention::execute(const CudnnPlan& plan, std::vector<Pointer> pointers, const AttentionShape& shape,
                        std::byte* workspace, const LaunchContext& context) {
  float scale = 1.0F / std::sqrt(static_cast<float>(shape.head_size));
  float hidden = hidden_score(api_.get_version());
  auto keys = static_cast<std::int32_t>(shape.kv_length), queries = static_cast<std::int32_t>(shape.seq_length);
  pointers.push_back({kScale, &scale});
  if (shape.causal) pointers.push_back({kHidden, &hidden});
  if (shape.causal && keys != queries) {
    pointers.push_back({kKeys, &keys});
    pointers.push_back({kQueries, &queries});
  }
  std::vector<std::int64_t> names;
  std::vector<void*> data;
  for (const Pointer& pointer : pointers) {
    names.push_back(pointer.name);
    data.push_back(pointer.data);
  }
  const auto count = static_cast<std::int64_t>(names.size());
  const CudnnDescriptor pack = make_descriptor(api_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t elements,
                       const void* values) {
    api_.check(api_.set_attribute(pack.get(), name, type, elements, values), "setting attention's pointers");
  };
  set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, names.data());
  set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data.data());
  set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  api_.check(api_.finalize(pack.get()), "setting attention's pointers");
  api_.check(api_.set_stream(handle_.get(), context.stream), "setting the stream");
  api_.check(api_.execute(handle_.get(), plan.plan.get(), pack.get()), "attention");
}

void Attention::forward(const Arguments& views, LaunchContext& context) {
  const AttentionShape shape = shape_of(views);
  const CudnnPlan& plan = plan_for({.backward = false, .shape = shape});
  WorkspaceLayout layout;
  layout.add(plan.workspace_bytes);
  const DenseLse lse(views[4], shape, layout);
  std::byte* const workspace = context.workspace->take(layout.bytes());
  execute(plan,
          {{kQ, views[0].data},
           {kK, views[1].data},
           {kV, views[2].data},
           {kOut, views[3].data},
           {kLse, lse.data(workspace)}},
          shape, workspace, context);
  lse.scatter(workspace, context);
}

void Attention::backward(const Arguments& views, LaunchContext& context) {
  AttentionShape shape = shape_of(views);
  shape.strides.dout = stride(views[5]);
  shape.strides.dq = stride(views[6]);
  shape.strides.dk = stride(views[7]);
  shape.strides.dv = stride(views[8]);
  const DqSums dq_sums = context.is_deterministic ? DqSums::ordered : DqSums::atomic;
  const CudnnPlan& plan = plan_for({.backward = true, .shape = shape, .dq_sums = dq_sums});
  WorkspaceLayout layout;
  layout.add(plan.workspace_bytes);
  const std::int64_t row_sums = layout.add(bytes_of_rows(shape));
  const DenseLse lse(views[4], shape, layout);
  const std::int64_t dq_bytes = dq_sums == DqSums::atomic ? bytes_of_rows(shape) * shape.head_size : 0;
  const std::int64_t dq_sum = layout.add(dq_bytes);
  std::byte* const workspace = context.workspace->take(layout.bytes());
  lse.gather(workspace, context);
  float one = 1;
  std::vector<Pointer> pointers{{kQ, views[0].data},
                                {kK, views[1].data},
                                {kV, views[2].data},
                                {kOut, views[3].data},
                                {kLse, lse.data(workspace)},
                                {kDout, views[5].data},
                                {kDq, views[6].data},
                                {kDk, views[7].data},
                                {kDv, views[8].data},
                                {kRowSum, workspace + row_sums},
                                {kOne, &one}};
  if (dq_sums == DqSums::atomic) {
    // Before 9.6 cuDNN adds to what it finds there.
    if (api_.get_version() < 90'600)
      check(cudaMemsetAsync(workspace + dq_sum, 0, static_cast<std::size_t>(dq_bytes), context.stream));
    pointers.push_back({kDqSum, workspace + dq_sum});
  }
  execute(plan, std::move(pointers), shape, workspace, context);
}

std::vector<std::string> Attention::choices() const {
  std::vector<std::string> all;
  for (const auto& [key, plan] : plans_)
    all.push_back(fmt::format("attention {}, {}: cuDNN {}, engine {}, {} bytes of workspace",
                              !key.backward                    ? "forward"
                              : key.dq_sums == DqSums::ordered ? "backward, deterministic"
                                                               : "backward",
                              to_string(key.shape), api_.version(), plan.engine, plan.workspace_bytes));
  return all;
}

}  // namespace underlap::cuda
