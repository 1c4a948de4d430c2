// SPDX-License-Identifier: Apache-2.0
#include "impl/device/tensor_table.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace underlap {

Tensor TensorTable::add(std::string_view name, DataType dtype, std::int64_t elements, std::byte* data) {
  if (elements < 0) throw std::invalid_argument(fmt::format("tensor {}: {} elements", name, elements));
  const Tensor tensor{static_cast<std::uint32_t>(entries_.size() + 1), dtype, elements};
  entries_.push_back({tensor, std::string(name), data});
  return tensor;
}

void TensorTable::check(const View& view) const {
  const std::uint32_t id = view.tensor.id;
  if (id == 0 || id > entries_.size()) throw std::invalid_argument(fmt::format("no tensor has the id {}", id));
  const Entry& entry = entries_[id - 1];
  if (view.rows < 0 || view.cols < 0 || view.offset < 0 || view.end() > entry.tensor.elements ||
      (view.rows > 1 && view.leading_dimension < view.cols))
    throw std::invalid_argument(
        fmt::format("tensor {} has {} elements; the view [{}, {}] at {} with leading dimension {} does not fit",
                    entry.name, entry.tensor.elements, view.rows, view.cols, view.offset, view.leading_dimension));
}

void TensorTable::check_uses(const Operation& operation) const {
  const auto uses = operation.uses();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    check(uses[i].view);
    for (std::size_t j = 0; j < i; ++j)
      if ((uses[i].access != Access::in || uses[j].access != Access::in) && overlap(uses[i].view, uses[j].view))
        throw std::invalid_argument(
            fmt::format("{}: uses {} and {} overlap and one of them is written", name_of(operation.name()), j, i));
  }
}

void TensorTable::check_copy(std::string_view what, const View& view, std::size_t bytes) const {
  check(view);
  if (!view.is_dense() || std::cmp_not_equal(view.bytes(), bytes))
    throw std::invalid_argument(fmt::format("{} of {} bytes: the view has {}", what, bytes, view.bytes()));
}

BoundView TensorTable::bind(const View& view) const {
  return {.data = entries_[view.tensor.id - 1].data + view.offset * size_of(view.tensor.dtype),
          .dtype = view.tensor.dtype,
          .rows = view.rows,
          .cols = view.cols,
          .leading_dimension = view.leading_dimension};
}

BoundTransfer TensorTable::bind(const Transfer& transfer) const {
  const auto place_of = [this](const View& view) -> std::byte* {
    if (view.elements() == 0) return nullptr;
    check(view);
    return bind(view).data;
  };
  return {transfer, place_of(transfer.input), place_of(transfer.output)};
}

}  // namespace underlap
