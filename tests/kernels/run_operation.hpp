// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <new>
#include <random>
#include <vector>

#include "kernels/bf16.hpp"
#include "kernels/fp8.hpp"
#include "kernels/operation.hpp"
#include "tests/testing.hpp"

namespace underlap::test {

/// A row-major matrix of doubles: what reference implementations compute with.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  Matrix(std::int64_t rows_, std::int64_t cols_)
      : rows(rows_), cols(cols_), values(static_cast<std::size_t>(rows_ * cols_)) {}

  double& operator()(std::int64_t r, std::int64_t c) { return values[static_cast<std::size_t>(r * cols + c)]; }
  double operator()(std::int64_t r, std::int64_t c) const { return values[static_cast<std::size_t>(r * cols + c)]; }
};

/// The matrix with f(row, column) at each place.
template <class F>
Matrix matrix_of(std::int64_t rows, std::int64_t cols, F f) {
  Matrix result(rows, cols);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) result(r, c) = f(r, c);
  return result;
}

inline double read_element(const std::byte* from, DataType dtype) {
  const auto as = [from]<class T>(T value) {
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  switch (dtype) {
    case DataType::f32: return as(float{});
    case DataType::bf16: return static_cast<float>(as(bf16{}));
    case DataType::i32: return as(std::int32_t{});
    case DataType::u8: return as(std::uint8_t{});
    case DataType::f64: return as(double{});
    case DataType::f8e4m3: return static_cast<float>(as(f8e4m3{}));
    case DataType::f8e5m2: return static_cast<float>(as(f8e5m2{}));
  }
  return 0;
}

inline void write_element(std::byte* to, DataType dtype, double value) {
  const auto put = [to](auto typed) { std::memcpy(to, &typed, sizeof typed); };
  switch (dtype) {
    case DataType::f32: return put(static_cast<float>(value));
    case DataType::bf16: return put(bf16(static_cast<float>(value)));
    case DataType::i32: return put(static_cast<std::int32_t>(value));
    case DataType::u8: return put(static_cast<std::uint8_t>(value));
    case DataType::f64: return put(value);
    case DataType::f8e4m3: return put(f8e4m3(static_cast<float>(value)));
    case DataType::f8e5m2: return put(f8e5m2(static_cast<float>(value)));
  }
}

/// Runs one implementation of `operation` on host memory and waits for it. The program that a test is linked into says
/// which: the CPU implementation, or the CUDA implementation on a GPU that the host plays, or on a real one.
void run_implementation(const Operation& operation, std::span<const BoundView> views);

/// The tensors of one test, in host memory.
class Memory {
 public:
  /// A new tensor, zeroed.
  Tensor tensor(DataType dtype, std::int64_t elements) {
    tensors_.emplace_back(static_cast<std::size_t>(elements * size_of(dtype)));
    return {.id = static_cast<std::uint32_t>(tensors_.size()), .dtype = dtype, .elements = elements};
  }

  /// All of a new tensor, zeroed.
  View dense(DataType dtype, std::int64_t rows, std::int64_t cols) {
    return matrix(tensor(dtype, rows * cols), rows, cols);
  }

  /// Columns [first, first + cols) of a new [rows, width] tensor, zeroed.
  View columns(DataType dtype, std::int64_t rows, std::int64_t cols, std::int64_t width, std::int64_t first) {
    return {
        .tensor = tensor(dtype, rows * width), .offset = first, .rows = rows, .cols = cols, .leading_dimension = width};
  }

  /// Fills `view` with normal deviates, rounded to its type, and returns it.
  View randomize(const View& view, double stddev = 1) {
    std::normal_distribution<double> normal(0, stddev);
    for_each_element(view, [&](std::byte* at, std::size_t) { write_element(at, view.tensor.dtype, normal(random_)); });
    return view;
  }

  /// A new dense tensor of normal deviates.
  View random(DataType dtype, std::int64_t rows, std::int64_t cols, double stddev = 1) {
    return randomize(dense(dtype, rows, cols), stddev);
  }

  /// A new tensor of one row with these values.
  View row_of(DataType dtype, const std::vector<double>& values) {
    return set(dense(dtype, 1, std::ssize(values)), values);
  }

  /// Sets element i, row by row, to value_of(i), and returns `view`.
  template <class F>
  requires std::invocable<F, std::int64_t> View set(const View& view, F value_of) {
    for_each_element(view, [&](std::byte* at, std::size_t i) {
      write_element(at, view.tensor.dtype, static_cast<double>(value_of(static_cast<std::int64_t>(i))));
    });
    return view;
  }
  View set(const View& view, std::span<const double> values) {
    return set(view, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  }

  Matrix get(const View& view) {
    Matrix result(view.rows, view.cols);
    for_each_element(view,
                     [&](std::byte* at, std::size_t i) { result.values[i] = read_element(at, view.tensor.dtype); });
    return result;
  }

  std::byte* row(const View& view, std::int64_t r) {
    return tensors_.at(view.tensor.id - 1).data() +
           (view.offset + r * view.leading_dimension) * size_of(view.tensor.dtype);
  }

 private:
  template <class F>
  void for_each_element(const View& view, F f) {
    std::size_t i = 0;
    for (std::int64_t r = 0; r < view.rows; ++r) {
      for (std::int64_t c = 0; c < view.cols; ++c) f(row(view, r) + c * size_of(view.tensor.dtype), i++);
    }
  }

  std::vector<std::vector<std::byte>> tensors_;
  std::mt19937_64 random_{20240229};
};

/// `view` of the tensors themselves.
inline BoundView bind(Memory& memory, const View& view) {
  return {.data = memory.row(view, 0),
          .dtype = view.tensor.dtype,
          .rows = view.rows,
          .cols = view.cols,
          .leading_dimension = view.leading_dimension};
}

inline std::vector<BoundView> bind(Memory& memory, const Operation& operation) {
  std::vector<BoundView> views;
  for (const Use& use : operation.uses()) views.push_back(bind(memory, use.view));
  return views;
}

/// Runs the CPU implementation on the tensors themselves.
inline void run_on_cpu(Memory& memory, const Operation& operation) {
  const std::vector<BoundView> views = bind(memory, operation);
  operation.cpu()(Arguments(views, operation.parameters()));
}

/// Where the private copies of an operation's views lie.
enum class Placement : std::uint8_t {
  odd,      ///< aligned to one element and no more: all that an implementation may count on
  aligned,  ///< tensors begin at multiples of 256 bytes, as devices hand them out: where wide accesses are possible
};

/// One use's private copy. What lies before, behind and between its rows is guard, and so is all of a view that is
/// `out` before the run: NaN in every float type, so that reading it shows in the result.
class GuardedView {
 public:
  GuardedView(Memory& memory, const Use& use, Placement placement = Placement::odd)
      : use_(use),
        row_bytes_(use.view.cols * element()),
        margin_(placement == Placement::odd ? 33 * element() : 2 * kAlignment),
        bytes_(2 * margin_ + use.view.end() * element(), kGuard) {
    if (use.access == Access::out) return;
    for (std::int64_t r = 0; r < use.view.rows; ++r) std::memcpy(row(r), memory.row(use.view, r), row_length());
  }

  BoundView bound() {
    const View& view = use_.view;
    return {.data = row(0),
            .dtype = view.tensor.dtype,
            .rows = view.rows,
            .cols = view.cols,
            .leading_dimension = view.leading_dimension};
  }

  bool guards_hold() {
    Bytes blanked = bytes_;
    for (std::int64_t r = 0; r < use_.view.rows; ++r) {
      std::memset(blanked.data() + (row(r) - bytes_.data()), 0xFF, row_length());
    }
    return std::ranges::all_of(blanked, [](std::byte b) { return b == kGuard; });
  }

  bool equals(Memory& memory) {
    for (std::int64_t r = 0; r < use_.view.rows; ++r) {
      if (std::memcmp(row(r), memory.row(use_.view, r), row_length()) != 0) return false;
    }
    return true;
  }

  bool same_bytes(const GuardedView& other) const { return bytes_ == other.bytes_; }

  void copy_back(Memory& memory) {
    for (std::int64_t r = 0; r < use_.view.rows; ++r) std::memcpy(memory.row(use_.view, r), row(r), row_length());
  }

  const Use& use() const { return use_; }

 private:
  static constexpr std::byte kGuard{0xFF};
  static constexpr std::int64_t kAlignment = 256;
  template <class T>
  struct AlignedAllocator {
    using value_type = T;
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new (n, std::align_val_t{kAlignment})); }
    void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{kAlignment}); }
    bool operator==(const AlignedAllocator&) const = default;
  };
  using Bytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

  std::int64_t element() const { return size_of(use_.view.tensor.dtype); }
  std::size_t row_length() const { return static_cast<std::size_t>(row_bytes_); }
  std::byte* row(std::int64_t r) {
    return bytes_.data() + margin_ + (use_.view.offset + r * use_.view.leading_dimension) * element();
  }

  Use use_;
  std::int64_t row_bytes_;
  std::int64_t margin_;
  Bytes bytes_;
};

inline std::vector<GuardedView> run_once(Memory& memory, const Operation& operation,
                                         Placement placement = Placement::odd,
                                         decltype(run_implementation)& run = run_implementation) {
  std::vector<GuardedView> views;
  for (const Use& use : operation.uses()) views.emplace_back(memory, use, placement);
  std::vector<BoundView> bound;
  for (GuardedView& view : views) bound.push_back(view.bound());
  run(operation, bound);
  return views;
}

inline void expect_uses_apart(const Operation& operation) {
  const auto uses = operation.uses();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (uses[i].access == Access::in && uses[j].access == Access::in) continue;
      EXPECT_FALSE(overlap(uses[i].view, uses[j].view)) << name_of(operation.name()) << ": uses " << j << ", " << i;
    }
  }
}

/// Runs `operation` on private copies of its views and puts what it wrote into `memory`. Fails the test where it
/// writes outside a view or into an `in` view, where two runs differ in a bit (unless it adds in any order), or where
/// declared uses collide.
inline void run_operation(Memory& memory, const Operation& operation, Placement placement = Placement::odd,
                          bool is_deterministic = true) {
  expect_uses_apart(operation);
  std::vector<GuardedView> views = run_once(memory, operation, placement);
  const std::vector<GuardedView> again = run_once(memory, operation, placement);
  for (std::size_t i = 0; i < views.size(); ++i) {
    EXPECT_TRUE(views[i].guards_hold()) << name_of(operation.name()) << " wrote outside use " << i;
    EXPECT_TRUE(!is_deterministic || views[i].same_bytes(again[i]))
        << name_of(operation.name()) << " is not deterministic in use " << i;
    if (views[i].use().access == Access::in) {
      EXPECT_TRUE(views[i].equals(memory)) << name_of(operation.name()) << " wrote into its input, use " << i;
    } else {
      views[i].copy_back(memory);
    }
  }
}

}  // namespace underlap::test
