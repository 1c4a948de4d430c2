// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/scatter_gather.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace underlap::pp {

ScatterGather::ScatterGather(const Context& context)
    : scope_(*context.device, context.compute, Mode::pp),
      size_(context.tensor.size()),
      index_(context.tensor.my_index),
      purposes_{intern("recv_forward_all_gather"), intern("recv_backward_all_gather")} {
  if (size_ < 2 || context.rows * context.cols % size_ != 0)
    throw std::invalid_argument(fmt::format("an activation of {} x {} elements for {} tensor-parallel ranks",
                                            context.rows, context.cols, size_));
  group_ = context.device->declare("pp_gather", context.tensor, {.priority = nccl_priority(*context.config)});
}

View ScatterGather::part(const View& whole) const {
  const std::int64_t elements = whole.rows * whole.cols / size_;
  return flat(whole.tensor, whole.offset + index_ * elements, elements);
}

Event ScatterGather::gather(const Message& message, const View& whole, std::int32_t step) const {
  const Transfer all{.collective = Collective::all_gather,
                     .input = part(whole),
                     .output = flat(whole.tensor, whole.offset, whole.rows * whole.cols)};
  return scope_.communicate(group_,
                            {.direction = message.pass.direction,
                             .microbatch = static_cast<std::int32_t>(message.pass.microbatch),
                             .chunk = message.pass.chunk,
                             .step = step},
                            purposes_.at(message.is_forward() ? 0 : 1), {all});
}

}  // namespace underlap::pp
