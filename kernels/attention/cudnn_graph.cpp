// SPDX-License-Identifier: Apache-2.0
//
// The part of cuDNN's graph interface (its backend API) that attention needs.
//
//   tensors -> operations -> operation graph -> heuristics -> engine configurations, best first -> plan -> execute
//                                                             each tried in turn: finalizing a plan
//                                                             compiles it, or reports why it cannot
//
// Everything is a descriptor: created, given attributes, finalized, and only then used by another. CudnnPlan::parts
// keeps the descriptors that a plan was made of alive.
// Source: NVIDIA's documentation of the cuDNN backend API.
#include "kernels/attention/cudnn_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

constexpr std::int64_t kMaxProposals = 32;
// Attributes that newer releases deprecate, with a warning, and older ones ask for.
constexpr auto kGraphHandle = static_cast<cudnnBackendAttributeName_t>(800);
constexpr auto kPlanHandle = static_cast<cudnnBackendAttributeName_t>(400);
constexpr cudnnBackendAttributeName_t kNothingSpecial = CUDNN_ATTR_TENSOR_UNIQUE_ID;

CudnnGraph::Sizes dense_strides(const CudnnGraph::Sizes& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

}  // namespace

/// Sets the attributes of a descriptor.
struct CudnnGraph::Attributes {
  const CudnnApi& api;
  cudnnBackendDescriptor_t descriptor;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
    api.check(api.set_attribute(descriptor, name, type, count, values),
              fmt::format("setting attribute {}", static_cast<int>(name)));
  }
  void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
  }
  void finalize(const char* doing) { api.check(api.finalize(descriptor), doing); }
};

cudnnBackendDescriptor_t CudnnGraph::keep(CudnnDescriptor descriptor) {
  parts_.push_back(std::move(descriptor));
  return parts_.back().get();
}

CudnnGraph::Tensor CudnnGraph::tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes, const Sizes& strides,
                                      std::int64_t alignment, cudnnBackendAttributeName_t special) {
  Attributes tensor{api_, keep(make_descriptor(api_, CUDNN_BACKEND_TENSOR_DESCRIPTOR))};
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, sizes.data());
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  if (special != kNothingSpecial) tensor.set(special, true);
  tensor.finalize("describing a tensor");
  return {tensor.descriptor, sizes};
}

CudnnGraph::Tensor CudnnGraph::in_memory(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                                         const Sizes& strides, std::int64_t alignment) {
  return tensor(id, type, sizes, strides, alignment, kNothingSpecial);
}

CudnnGraph::Tensor CudnnGraph::by_value(std::int64_t id, cudnnDataType_t type) {
  constexpr Sizes kOne{1, 1, 1, 1};
  return tensor(id, type, kOne, kOne, sizeof(float), CUDNN_ATTR_TENSOR_IS_BY_VALUE);
}

CudnnGraph::Tensor CudnnGraph::between(const Sizes& sizes, cudnnDataType_t type) {
  return between(sizes, dense_strides(sizes), type);
}

CudnnGraph::Tensor CudnnGraph::between(const Sizes& sizes, const Sizes& strides, cudnnDataType_t type) {
  return tensor(next_id_++, type, sizes, strides, 16, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
}

void CudnnGraph::matmul(const Tensor& a, const Tensor& b, const Tensor& c) {
  Attributes how{api_, keep(make_descriptor(api_, CUDNN_BACKEND_MATMUL_DESCRIPTOR))};
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  how.finalize("describing a product");
  Attributes operation{api_, keep(make_descriptor(api_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR))};
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.descriptor);
  operation.finalize("adding a product");
  operations_.push_back(operation.descriptor);
}

cudnnBackendDescriptor_t CudnnGraph::pointwise_mode(cudnnPointwiseMode_t mode, cudnnDataType_t math,
                                                    std::int64_t axis) {
  Attributes how{api_, keep(make_descriptor(api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR))};
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, math);
  if (axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  how.finalize("describing a pointwise operation");
  return how.descriptor;
}

void CudnnGraph::add_pointwise(cudnnBackendDescriptor_t how, const Tensor& x, const Tensor* b, const Tensor* condition,
                               const Tensor& y) {
  Attributes operation{api_, keep(make_descriptor(api_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR))};
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor);
  if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor);
  if (condition != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, condition->descriptor);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.descriptor);
  operation.finalize("adding a pointwise operation");
  operations_.push_back(operation.descriptor);
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& y) {
  add_pointwise(pointwise_mode(mode, CUDNN_DATA_FLOAT), x, nullptr, nullptr, y);
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b, const Tensor& y,
                           cudnnDataType_t math) {
  add_pointwise(pointwise_mode(mode, math), x, &b, nullptr, y);
}

void CudnnGraph::select(const Tensor& x, const Tensor& otherwise, const Tensor& condition, const Tensor& y) {
  add_pointwise(pointwise_mode(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT), x, &otherwise, &condition, y);
}

void CudnnGraph::index(const Tensor& x, std::int64_t axis, const Tensor& y) {
  add_pointwise(pointwise_mode(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, axis), x, nullptr, nullptr, y);
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t how, const Tensor& x, const Tensor& y) {
  Attributes reduction{api_, keep(make_descriptor(api_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR))};
  reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
  reduction.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  reduction.finalize("describing a reduction");
  Attributes operation{api_, keep(make_descriptor(api_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR))};
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.descriptor);
  operation.finalize("adding a reduction");
  operations_.push_back(operation.descriptor);
}

void CudnnGraph::reshape(const Tensor& x, const Tensor& y) {
  Attributes operation{api_, keep(make_descriptor(api_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR))};
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y.descriptor);
  operation.finalize("adding a reshape");
  operations_.push_back(operation.descriptor);
}

cudnnBackendDescriptor_t CudnnGraph::operation_graph(const CudnnTarget& target) {
  Attributes graph{api_, keep(make_descriptor(api_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR))};
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations_.size()),
            operations_.data());
  if (target.handle != nullptr) graph.set(kGraphHandle, CUDNN_TYPE_HANDLE, 1, &target.handle);
  graph.finalize("building the operation graph");
  return graph.descriptor;
}

// The places that cuDNN fills must already be descriptors. So as many are created as it may propose, and the rest are
// given back.
std::vector<CudnnDescriptor> CudnnGraph::proposals(cudnnBackendDescriptor_t graph, const CudnnTarget& target) {
  constexpr cudnnBackendHeurMode_t kMode = CUDNN_HEUR_MODE_A;
  Attributes heuristics{api_, keep(make_descriptor(api_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR))};
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &kMode);
#if CUDNN_VERSION >= 90800
  if (target.device != nullptr) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.device);
#endif
  heuristics.finalize("querying engines for the graph");
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> places;
  for (std::int64_t i = 0; i < kMaxProposals; ++i) {
    configs.push_back(make_descriptor(api_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    places.push_back(configs.back().get());
  }
  std::int64_t found = 0;
  api_.check(api_.get_attribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                kMaxProposals, &found, places.data()),
             "reading the proposed engines");
  while (static_cast<std::int64_t>(configs.size()) > found) configs.pop_back();
  return configs;
}

bool CudnnGraph::is_deterministic(cudnnBackendDescriptor_t config, std::int64_t& engine) {
  const CudnnDescriptor owner = make_descriptor(api_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t described = owner.get();
  std::int64_t count = 0;
  api_.check(
      api_.get_attribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &described),
      "reading an engine");
  api_.check(api_.get_attribute(described, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &engine),
             "reading an engine's number");
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  api_.check(api_.get_attribute(described, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                static_cast<std::int64_t>(notes.size()), &count, notes.data()),
             "reading an engine's notes");
  const auto end = notes.begin() + std::min<std::int64_t>(count, static_cast<std::int64_t>(notes.size()));
  return std::find(notes.begin(), end, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == end;
}

CudnnPlan CudnnGraph::plan(const CudnnTarget& target, bool deterministic) {
  std::vector<CudnnDescriptor> configs = proposals(operation_graph(target), target);
  std::string refusals = configs.empty() ? "; none is proposed: " + api_.text(CUDNN_STATUS_NOT_SUPPORTED) : "";
  for (CudnnDescriptor& config : configs) {
    std::int64_t engine = 0;
    if (!is_deterministic(config.get(), engine) && deterministic) {
      refusals += fmt::format("; engine {} is not deterministic", engine);
      continue;
    }
    Attributes plan{api_, nullptr};
    CudnnDescriptor owner = make_descriptor(api_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.descriptor = owner.get();
    if (target.handle != nullptr) plan.set(kPlanHandle, CUDNN_TYPE_HANDLE, 1, &target.handle);
#if CUDNN_VERSION >= 90800
    if (target.device != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.device);
#endif
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config.get());
    if (const auto status = api_.finalize(plan.descriptor); status != CUDNN_STATUS_SUCCESS) {
      refusals += fmt::format("; engine {}: {}", engine, api_.text(status));
      continue;
    }
    std::int64_t bytes = 0, count = 0;
    api_.check(api_.get_attribute(plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                  &count, &bytes),
               "reading a plan's workspace");
    parts_.push_back(std::move(config));
    return {.parts = std::move(parts_), .plan = std::move(owner), .workspace_bytes = bytes, .engine = engine};
  }
  throw MachineError(fmt::format("cuDNN {}: no engine supports the graph{}", api_.version(), refusals));
}

}  // namespace underlap::cuda
