// SPDX-License-Identifier: Apache-2.0
#include "impl/device/distinct_launches.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace underlap {
namespace {

constexpr std::int64_t kAlignment = 16;          // bytes that a thread moves at once
constexpr std::int64_t kProductAlignment = 256;  // the alignment by which cuBLASLt selects a product's kernel

class Key {
 public:
  template <class Value>
  Key& operator<<(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Key& append(const std::byte* bytes, std::size_t count) {
    text_.append(reinterpret_cast<const char*>(bytes), count);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string key_of(Stream stream, const Operation& operation) {
  const Work work = operation.cost().work;
  const std::int64_t alignment = work == Work::gemm ? kProductAlignment : kAlignment;
  Key key;
  key << stream.id << operation.name() << operation.cost().sm_margin;
  for (const Use& use : operation.uses())
    key << use.view.tensor.dtype << use.view.rows << use.view.cols << use.view.leading_dimension
        << use.view.offset * size_of(use.view.tensor.dtype) % alignment;
  // For products and attention the parameters affect the choice of kernel. For other operations they differ every time.
  if (work == Work::gemm || work == Work::attention_forward || work == Work::attention_backward)
    key.append(operation.parameters(), Operation::kParameterBytes);
  return key.take();
}

}  // namespace

void DistinctLaunches::launch(Stream stream, const Tag&, const Operation& operation) {
  if (seen_.insert(key_of(stream, operation)).second) launches_.push_back({stream, operation});
}

}  // namespace underlap
