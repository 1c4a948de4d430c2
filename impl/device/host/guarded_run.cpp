// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/guarded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace underlap::host {
namespace {

constexpr std::size_t kZoneBytes = 256;
// All ones: a NaN in every floating-point type, -1 in an index.
constexpr std::byte kPattern{0xFF};

class PrivateCopy {
 public:
  PrivateCopy(const BoundView& source, Access access)
      : source_(source), access_(access), row_bytes_(bytes(source.cols)), stride_(bytes(source.leading_dimension)) {
    const std::size_t body = source.rows == 0 ? 0 : bytes((source.rows - 1) * source.leading_dimension + source.cols);
    bytes_.assign(body + 2 * kZoneBytes, kPattern);
    if (access != Access::out)
      each_row([](std::byte* mine, std::byte* theirs, std::size_t n) { std::memcpy(mine, theirs, n); });
    before_ = bytes_;
  }

  BoundView view() {
    BoundView copy = source_;
    copy.data = bytes_.data() + kZoneBytes;
    return copy;
  }

  // Makes what may change equal on both sides, so that any difference left is a write that was not declared.
  bool wrote_elsewhere() {
    if (access_ != Access::in) {
      for (std::int64_t r = 0; r < source_.rows; ++r) {
        const std::size_t at = kZoneBytes + static_cast<std::size_t>(r) * stride_;
        std::memcpy(before_.data() + at, bytes_.data() + at, row_bytes_);
      }
    }
    return before_ != bytes_;
  }

  void write_back() {
    if (access_ != Access::in)
      each_row([](std::byte* mine, std::byte* theirs, std::size_t n) { std::memcpy(theirs, mine, n); });
  }

 private:
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements * size_of(source_.dtype)); }

  template <class Function>
  void each_row(Function function) {
    for (std::int64_t r = 0; r < source_.rows; ++r) {
      const std::size_t offset = static_cast<std::size_t>(r) * stride_;
      function(bytes_.data() + kZoneBytes + offset, source_.data + offset, row_bytes_);
    }
  }

  BoundView source_;
  Access access_;
  std::size_t row_bytes_;
  std::size_t stride_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> before_;
};

}  // namespace

void run_guarded(const Operation& operation, std::span<const BoundView> views) {
  std::vector<PrivateCopy> copies;
  std::vector<BoundView> bound;
  copies.reserve(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    copies.emplace_back(views[i], operation.uses()[i].access);
    bound.push_back(copies.back().view());
  }
  operation.cpu()(Arguments(bound, operation.parameters()));
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (copies[i].wrote_elsewhere())
      throw std::logic_error(fmt::format("{} wrote outside what it declared, at use {}", name_of(operation.name()), i));
    copies[i].write_back();
  }
}

}  // namespace underlap::host
