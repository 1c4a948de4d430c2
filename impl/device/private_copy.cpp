// SPDX-License-Identifier: Apache-2.0
#include "impl/device/private_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace underlap {
namespace {

constexpr std::size_t kZoneBytes = 256;
// All ones: a NaN in every floating-point type, -1 in an index.
constexpr std::byte kPattern{0xFF};

std::size_t bytes_of(const BoundView& view, std::int64_t elements) {
  return static_cast<std::size_t>(elements * size_of(view.dtype));
}

}  // namespace

template <class Function>
void PrivateCopy::each_row(Function function) {
  for (std::int64_t r = 0; r < source_.rows; ++r) {
    const std::size_t offset = static_cast<std::size_t>(r) * stride_;
    function(bytes_.data() + kZoneBytes + offset, source_.data + offset);
  }
}

PrivateCopy::PrivateCopy(const BoundView& source, Access access)
    : source_(source),
      access_(access),
      row_bytes_(bytes_of(source, source.cols)),
      stride_(bytes_of(source, source.leading_dimension)) {
  const std::size_t body = source.rows == 0 ? 0 : static_cast<std::size_t>(source.rows - 1) * stride_ + row_bytes_;
  bytes_.assign(body + 2 * kZoneBytes, kPattern);
  if (access != Access::out)
    each_row([this](std::byte* mine, const std::byte* theirs) { std::memcpy(mine, theirs, row_bytes_); });
  before_ = bytes_;
}

BoundView PrivateCopy::view() {
  BoundView copy = source_;
  copy.data = bytes_.data() + kZoneBytes;
  return copy;
}

// Makes what may change equal on both sides, so that any difference left is a write that was not declared.
bool PrivateCopy::wrote_elsewhere() {
  if (access_ != Access::in) {
    for (std::int64_t r = 0; r < source_.rows; ++r) {
      const std::size_t at = kZoneBytes + static_cast<std::size_t>(r) * stride_;
      std::memcpy(before_.data() + at, bytes_.data() + at, row_bytes_);
    }
  }
  return before_ != bytes_;
}

void PrivateCopy::write_back() {
  if (access_ == Access::in) return;
  each_row([this](const std::byte* mine, std::byte* theirs) { std::memcpy(theirs, mine, row_bytes_); });
}

void PrivateCopy::poison() { std::fill(bytes_.begin(), bytes_.end(), kPattern); }

std::vector<PrivateCopy> private_copies(const Operation& operation, std::span<const BoundView> views) {
  std::vector<PrivateCopy> copies;
  copies.reserve(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) copies.emplace_back(views[i], operation.uses()[i].access);
  return copies;
}

void run_on_copies(const Operation& operation, std::span<PrivateCopy> copies) {
  std::vector<BoundView> bound;
  for (PrivateCopy& copy : copies) bound.push_back(copy.view());
  operation.cpu()(Arguments(bound, operation.parameters()));
  for (std::size_t i = 0; i < copies.size(); ++i)
    if (copies[i].wrote_elsewhere())
      throw std::logic_error(fmt::format("{} wrote outside what it declared, at use {}", name_of(operation.name()), i));
}

void run_guarded(const Operation& operation, std::span<const BoundView> views) {
  std::vector<PrivateCopy> copies = private_copies(operation, views);
  run_on_copies(operation, copies);
  for (PrivateCopy& copy : copies) copy.write_back();
}

}  // namespace underlap
