// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "profiler/trace/data_type.hpp"
#include "profiler/trace/name.hpp"

namespace underlap {

/// A tensor's identity. It names memory of one rank, and exists also where no memory backs it.
struct Tensor {
  std::uint32_t id = 0;  ///< unique on its rank, from 1; 0: no tensor
  DataType dtype = DataType::f32;
  std::int64_t elements = 0;
};

/// A rectangle of a tensor, row-major. All figures count elements.
struct View {
  Tensor tensor;
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t leading_dimension = 0;  ///< distance between the starts of two rows, at least cols

  std::int64_t elements() const { return rows * cols; }
  std::int64_t bytes() const { return elements() * size_of(tensor.dtype); }
  bool is_dense() const { return rows <= 1 || leading_dimension == cols; }
  /// One past the last element, counted from the tensor's start.
  std::int64_t end() const { return rows == 0 || cols == 0 ? offset : offset + (rows - 1) * leading_dimension + cols; }
};

/// All of `tensor` as one row.
View flat(const Tensor& tensor);
/// `elements` elements of `tensor` from `offset`, as one row.
View flat(const Tensor& tensor, std::int64_t offset, std::int64_t elements);
/// A dense [rows, cols] matrix of `tensor` that begins at `offset`.
View matrix(const Tensor& tensor, std::int64_t rows, std::int64_t cols, std::int64_t offset = 0);

/// Whether two views share an element. Exact, also for strided views of one tensor.
bool overlap(const View&, const View&);

enum class Access : std::uint8_t { in, out, inout };

/// One tensor that an operation touches, and how.
struct Use {
  View view;
  Access access = Access::in;
};

/// What limits an operation's speed on a GPU, and so what its time is modelled by.
enum class Work : std::uint8_t {
  memory,  ///< moving its bytes
  gemm,
  attention_forward,
  attention_backward,
  norm,  ///< moving its bytes, by one persistent block for each SM
};

/// The element type of a GEMM's operands, which selects the peak rate that it is compared with.
enum class Precision : std::uint8_t { bf16, fp8 };

/// The cost of an operation, for every implementation.
struct Cost {
  double flops = 0;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  int sms = 0;        ///< streaming multiprocessors wanted; 0: one for each tile
  int sm_margin = 0;  ///< streaming multiprocessors that this operation leaves free
  Work work = Work::memory;
  /// What decides the time, in elements. gemm: {M, N, K} of the [M, N] product that is formed. attention: {queries of a
  /// sequence (in backward, its keys), head size, sequences * query heads}. norm: {rows, columns, 1}. memory: not used.
  std::array<std::int64_t, 3> extent{};
  Precision precision = Precision::bf16;  ///< of a gemm

  friend bool operator==(const Cost&, const Cost&) = default;
};

/// A view with its memory. An implementation accesses only these.
struct BoundView {
  std::byte* data = nullptr;
  DataType dtype = DataType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t leading_dimension = 0;

  template <class T>
  T* as() const {
    assert(static_cast<std::int64_t>(sizeof(T)) == size_of(dtype));
    return reinterpret_cast<T*>(data);
  }
  template <class T>
  T* row(std::int64_t r) const {
    return as<T>() + r * leading_dimension;
  }
};

/// What a CPU implementation is called with: the operation's views in declared order, and its parameters.
class Arguments {
 public:
  Arguments(std::span<const BoundView> views, const std::byte* parameters) : views_(views), parameters_(parameters) {}

  const BoundView& operator[](std::size_t i) const { return views_[i]; }
  std::size_t size() const { return views_.size(); }

  template <class P>
  P parameters() const {
    P value;
    std::memcpy(&value, parameters_, sizeof(P));
    return value;
  }

 private:
  std::span<const BoundView> views_;
  const std::byte* parameters_;
};

/// Computes an operation on the calling thread. A plain function: it captures nothing, so what it can touch is
/// exactly what the operation declared.
using CpuImplementation = void (*)(const Arguments&);

/// Work on one stream, as a value: what it is, what it touches, what it costs, how it is done.
///
/// Copying allocates nothing. Two uses of one operation may overlap only where both are `in`.
class Operation {
 public:
  static constexpr std::size_t kMaxUses = 10;
  static constexpr std::size_t kParameterBytes = 64;

  Operation(NameId name, CpuImplementation implementation, const Cost& cost, std::initializer_list<Use> uses)
      : Operation(name, implementation, cost, std::span(uses.begin(), uses.size())) {}

  Operation(NameId name, CpuImplementation implementation, const Cost& cost, std::span<const Use> uses)
      : name_(name), cpu_(implementation), cost_(cost), num_uses_(uses.size()) {
    assert(uses.size() <= kMaxUses);
    std::size_t i = 0;
    for (const Use& use : uses) uses_[i++] = use;
  }

  /// The same operation with `value` as its parameters.
  template <class P>
  Operation with_parameters(const P& value) const {
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= kParameterBytes);
    Operation copy = *this;
    std::memcpy(copy.parameters_.data(), &value, sizeof(P));
    return copy;
  }

  NameId name() const { return name_; }
  CpuImplementation cpu() const { return cpu_; }
  const Cost& cost() const { return cost_; }
  std::span<const Use> uses() const { return {uses_.data(), num_uses_}; }
  const std::byte* parameters() const { return parameters_.data(); }

 private:
  NameId name_;
  CpuImplementation cpu_;
  Cost cost_;
  std::size_t num_uses_ = 0;
  std::array<Use, kMaxUses> uses_{};
  std::array<std::byte, kParameterBytes> parameters_{};
};

}  // namespace underlap
