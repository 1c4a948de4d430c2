// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/cudnn_double.hpp"

#include <array>
#include <exception>
#include <stdexcept>

#include "kernels/bf16.hpp"
#include "tests/cuda_host/machine.hpp"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace underlap::cuda_host {
namespace {

using Sizes = std::array<std::int64_t, 4>;

/// A backend descriptor: attributes as they were set.
struct Node {
  cudnnBackendDescriptorType_t type{};
  bool finalized = false;
  std::map<int, std::vector<std::byte>> attributes;
  const Node* graph = nullptr;  // of an engine's configuration

  template <class T>
  std::vector<T> all(int name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) throw std::invalid_argument("attribute " + std::to_string(name) + " is not set");
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), found->second.size());
    return values;
  }
  template <class T>
  T one(int name) const {
    return all<T>(name).at(0);
  }
  bool has(int name) const { return attributes.contains(name); }
  const Node& node(int name) const { return *static_cast<const Node*>(one<void*>(name)); }
};

/// A tensor's description.
struct Tensor {
  std::int64_t id;
  cudnnDataType_t type;
  Sizes sizes, strides;
  std::int64_t alignment;
  bool is_virtual, by_value;

  explicit Tensor(const Node& node)
      : id(node.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)),
        type(node.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
        alignment(node.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)),
        is_virtual(node.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL)),
        by_value(node.has(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
    const auto dimensions = node.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const auto steps = node.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    if (dimensions.size() != 4 || steps.size() != 4) throw std::invalid_argument("a tensor without four dimensions");
    std::copy_n(dimensions.begin(), 4, sizes.begin());
    std::copy_n(steps.begin(), 4, strides.begin());
    if (is_of_rows()) strides = {sizes[1] * sizes[2], sizes[2], 1, 1};
  }

  /// cuDNN takes a number for each row to lie behind that of the row before, whatever it is told: before 9.12 where it
  /// writes them, before 9.26 where it reads them.
  bool is_of_rows() const { return type == CUDNN_DATA_FLOAT && sizes[3] == 1 && !is_virtual && !by_value; }

  std::int64_t offset(const Sizes& at) const {
    return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
  }
};

template <class F>
void for_each(const Sizes& sizes, F f) {
  for (std::int64_t a = 0; a < sizes[0]; ++a)
    for (std::int64_t b = 0; b < sizes[1]; ++b)
      for (std::int64_t c = 0; c < sizes[2]; ++c)
        for (std::int64_t d = 0; d < sizes[3]; ++d) f(Sizes{a, b, c, d});
}

/// The memory that a tensor's strides point into: for tensors that are never in memory, a memory of its own.
class Storage {
 public:
  Storage(const Tensor& tensor, void* data) : tensor_(tensor), data_(data) {
    const Sizes last{tensor.sizes[0] - 1, tensor.sizes[1] - 1, tensor.sizes[2] - 1, tensor.sizes[3] - 1};
    if (data == nullptr) own_.resize(static_cast<std::size_t>(tensor.offset(last) + 1));
  }

  float at(std::int64_t offset) const {
    if (data_ == nullptr) return own_.at(static_cast<std::size_t>(offset));
    if (tensor_.type == CUDNN_DATA_FLOAT) return static_cast<const float*>(data_)[offset];
    return static_cast<float>(static_cast<const bf16*>(data_)[offset]);
  }
  float read(const Sizes& at_place) const { return at(tensor_.offset(at_place)); }

  void write(const Sizes& at_place, float value) {
    const std::int64_t offset = tensor_.offset(at_place);
    if (tensor_.type == CUDNN_DATA_BFLOAT16) value = static_cast<float>(bf16(value));
    if (data_ == nullptr) {
      own_.at(static_cast<std::size_t>(offset)) = value;
    } else if (tensor_.type == CUDNN_DATA_FLOAT) {
      static_cast<float*>(data_)[offset] = value;
    } else {
      static_cast<bf16*>(data_)[offset] = bf16(value);
    }
  }
  const Tensor& tensor() const { return tensor_; }

  /// The element that belongs to `place` of a larger tensor: a dimension of one element is repeated, and several heads
  /// share one.
  float broadcast(Sizes place, const Sizes& of) const {
    for (std::size_t i = 0; i < 4; ++i) place[i] = place[i] * tensor_.sizes[i] / of[i];
    return read(place);
  }

 private:
  Tensor tensor_;
  void* data_;
  std::vector<float> own_;
};

/// A graph with its pointers: all that is needed to compute it.
class Evaluation {
 public:
  Evaluation(const Node& graph, std::map<std::int64_t, void*> pointers) : pointers_(std::move(pointers)) {
    for (void* operation : graph.all<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) add(*static_cast<const Node*>(operation));
  }

  void run() {
    for (const auto& step : steps_) step();
  }

 private:
  using Place = Storage&;

  Place place(const Node& operation, int attribute) {
    const Tensor tensor(operation.node(attribute));
    const auto known = storages_.find(tensor.id);
    if (known != storages_.end()) return known->second;
    const auto pointer = pointers_.find(tensor.id);
    if (!tensor.is_virtual && pointer == pointers_.end())
      throw std::invalid_argument("tensor " + std::to_string(tensor.id) + " has no pointer");
    void* data = tensor.is_virtual ? nullptr : pointer->second;
    if (data != nullptr && reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(tensor.alignment) != 0)
      throw std::invalid_argument("tensor " + std::to_string(tensor.id) + " is not aligned as promised");
    if (!tensor.by_value) return storages_.emplace(tensor.id, Storage(tensor, data)).first->second;
    Storage value(tensor, nullptr);  // the caller's number is read now
    value.write({}, tensor.type == CUDNN_DATA_INT32 ? static_cast<float>(*static_cast<const std::int32_t*>(data))
                                                    : *static_cast<const float*>(data));
    return storages_.emplace(tensor.id, std::move(value)).first->second;
  }

  void add(const Node& operation) {
    switch (operation.type) {
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: return add_matmul(operation);
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return add_pointwise(operation);
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: return add_reduction(operation);
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: return add_reshape(operation);
      default: throw std::invalid_argument("an operation that the double does not know");
    }
  }

  void add_matmul(const Node& operation) {
    Place a = place(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    Place b = place(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    Place c = place(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    const std::int64_t inner = a.tensor().sizes[3];
    if (b.tensor().sizes[2] != inner || c.tensor().sizes[2] != a.tensor().sizes[2] ||
        c.tensor().sizes[3] != b.tensor().sizes[3])
      throw std::invalid_argument("a product whose sizes do not fit");
    steps_.push_back([&a, &b, &c, inner] {
      const Sizes sizes = c.tensor().sizes;
      for_each(sizes, [&](const Sizes& at) {
        float sum = 0;
        for (std::int64_t i = 0; i < inner; ++i)
          sum += a.broadcast({at[0], at[1], at[2], i}, {sizes[0], sizes[1], sizes[2], inner}) *
                 b.broadcast({at[0], at[1], i, at[3]}, {sizes[0], sizes[1], inner, sizes[3]});
        c.write(at, sum);
      });
    });
  }

  static float compute(cudnnPointwiseMode_t mode, float x, float b) {
    switch (mode) {
      case CUDNN_POINTWISE_ADD: return x + b;
      case CUDNN_POINTWISE_SUB: return x - b;
      case CUDNN_POINTWISE_MUL: return x * b;
      case CUDNN_POINTWISE_DIV: return x / b;
      case CUDNN_POINTWISE_CMP_GE: return x >= b ? 1 : 0;
      case CUDNN_POINTWISE_CMP_LE: return x <= b ? 1 : 0;
      case CUDNN_POINTWISE_EXP: return std::exp(x);
      case CUDNN_POINTWISE_LOG: return std::log(x);
      case CUDNN_POINTWISE_IDENTITY: return x;
      default: throw std::invalid_argument("a mode that the double does not know");
    }
  }

  void add_pointwise(const Node& operation) {
    const Node& how = operation.node(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const auto mode = how.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    Place x = place(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    Storage* const b = operation.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)
                           ? &place(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC)
                           : nullptr;
    Place y = place(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    if (mode == CUDNN_POINTWISE_GEN_INDEX) {
      const auto axis = static_cast<std::size_t>(how.one<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS));
      steps_.push_back([&y, axis] {
        for_each(y.tensor().sizes, [&](const Sizes& at) { y.write(at, static_cast<float>(at[axis])); });
      });
    } else if (mode == CUDNN_POINTWISE_BINARY_SELECT) {
      Place condition = place(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
      steps_.push_back([&x, b, &condition, &y] {
        for_each(y.tensor().sizes, [&](const Sizes& at) {
          y.write(at, condition.read(at) != 0 ? x.read(at) : b->broadcast(at, y.tensor().sizes));
        });
      });
    } else {
      steps_.push_back([mode, &x, b, &y] {
        for_each(y.tensor().sizes, [&](const Sizes& at) {
          y.write(at, compute(mode, x.broadcast(at, y.tensor().sizes),
                              b == nullptr ? 0 : b->broadcast(at, y.tensor().sizes)));
        });
      });
    }
  }

  void add_reduction(const Node& operation) {
    const Node& how = operation.node(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    const bool adds = how.one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_ADD;
    Place x = place(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    Place y = place(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    steps_.push_back([&x, &y, adds] {
      const Sizes from = x.tensor().sizes, to = y.tensor().sizes;
      std::map<Sizes, float> results;  // kept in fp32 until all is added
      for_each(from, [&](const Sizes& at) {
        Sizes target{};
        for (std::size_t i = 0; i < 4; ++i) target[i] = at[i] * to[i] / from[i];
        const auto [result, is_first] = results.emplace(target, x.read(at));
        if (!is_first) result->second = adds ? result->second + x.read(at) : std::max(result->second, x.read(at));
      });
      for (const auto& [at, value] : results) y.write(at, value);
    });
  }

  void add_reshape(const Node& operation) {
    Place x = place(operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    Place y = place(operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    // The same memory, read with other strides; rounded where y's type is narrower.
    steps_.push_back(
        [&x, &y] { for_each(y.tensor().sizes, [&](const Sizes& at) { y.write(at, x.at(y.tensor().offset(at))); }); });
  }

  std::map<std::int64_t, void*> pointers_;
  std::map<std::int64_t, Storage> storages_;
  std::vector<std::function<void()>> steps_;
};

CudnnDouble& fake() { return CudnnDouble::instance(); }
Node& node(void* descriptor) { return *static_cast<Node*>(descriptor); }

std::size_t get_version() { return 91'900; }
const char* status_text(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                                : "CUDNN_STATUS_BAD_PARAM";
}

std::string& reason() {
  static thread_local std::string text;
  return text;
}
void last_error(char* message, std::size_t size) {
  std::strncpy(message, reason().c_str(), size - 1);
  message[size - 1] = 0;
}
cudnnStatus_t refuse(const std::string& why, cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM) {
  reason() = why;
  return status;
}

cudnnStatus_t create(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  ++fake().num_alive;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t destroy(cudnnHandle_t handle) {
  delete handle;
  --fake().num_alive;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t set_stream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t create_descriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  auto* const made = new Node;
  made->type = type;
  *descriptor = made;
  ++fake().num_alive;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Node*>(descriptor);
  --fake().num_alive;
  return CUDNN_STATUS_SUCCESS;
}

std::size_t size_of_type(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_INT64: return sizeof(std::int64_t);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void*);
    default: return sizeof(int);
  }
}

cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  if (node(descriptor).finalized) return refuse("the descriptor is finalized");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    for (std::int64_t i = 0; i < count; ++i)
      if (!node(static_cast<void* const*>(values)[i]).finalized) return refuse("an attribute is not finalized");
  const auto* const bytes = static_cast<const std::byte*>(values);
  node(descriptor).attributes[name].assign(bytes, bytes + static_cast<std::size_t>(count) * size_of_type(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
  Node& finished = node(descriptor);
  try {
    if (finished.type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) (void)Tensor(finished);
    if (finished.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
      (void)finished.all<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
    if (finished.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
      (void)finished.node(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
      if (fake().refuses_graphs) return refuse("no kernel for it", CUDNN_STATUS_NOT_SUPPORTED);
      ++fake().num_plans;
    }
  } catch (const std::invalid_argument& error) {
    return refuse(error.what());
  }
  finished.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t, std::int64_t, std::int64_t* count, void* values) {
  *count = 1;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      Node& config = node(*static_cast<void**>(values));
      config.graph = &node(descriptor).node(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      config.finalized = true;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX: *static_cast<std::int64_t*>(values) = 6; return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: *count = 0; return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<std::int64_t*>(values) = fake().workspace;
      return CUDNN_STATUS_SUCCESS;
    default: return refuse("an attribute that the double does not know");
  }
}

cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  try {
    const auto names = node(pack).all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto data = node(pack).all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    void* const workspace = node(pack).one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    if (workspace == nullptr && fake().workspace > 0) return refuse("no workspace");
    std::map<std::int64_t, void*> pointers;
    for (std::size_t i = 0; i < names.size(); ++i) pointers.emplace(names[i], data.at(i));
    const Node& graph = *node(plan).node(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).graph;
    const auto evaluation = std::make_shared<Evaluation>(graph, std::move(pointers));
    Machine::instance().enqueue(handle->stream, {.ready = {}, .run = [=, bytes = fake().workspace] {
                                                   std::memset(workspace, 0x55, static_cast<std::size_t>(bytes));
                                                   evaluation->run();
                                                 }});
    ++fake().num_executions;
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

CudnnDouble& CudnnDouble::instance() {
  static CudnnDouble only;
  return only;
}

void CudnnDouble::reset() {
  refuses_graphs = false;
  workspace = 512;
  num_plans = num_executions = 0;
}

cuda::CudnnApi CudnnDouble::api() {
  return {.get_version = get_version,
          .get_error_string = status_text,
          .get_last_error_string = last_error,
          .create = create,
          .destroy = destroy,
          .set_stream = set_stream,
          .create_descriptor = create_descriptor,
          .destroy_descriptor = destroy_descriptor,
          .finalize = finalize,
          .set_attribute = set_attribute,
          .get_attribute = get_attribute,
          .execute = execute};
}

}  // namespace underlap::cuda_host
