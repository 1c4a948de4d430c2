// SPDX-License-Identifier: Apache-2.0
#include "impl/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "profiler/trace/wire_bytes.hpp"

namespace underlap {

std::string_view to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::average: return "average";
    case ReduceOp::max: return "max";
  }
  return "";
}

DataType dtype_of(const Transfer& transfer) {
  return transfer.input.elements() > 0 ? transfer.input.tensor.dtype : transfer.output.tensor.dtype;
}

std::int64_t message_bytes(const Transfer& transfer) {
  return std::max(transfer.input.bytes(), transfer.output.bytes());
}

std::int64_t bytes_on_wire(const Transfer& transfer, std::int32_t group_size) {
  const std::int64_t message = message_bytes(transfer);
  if (transfer.collective == Collective::broadcast) return message * (group_size - 1);
  return bytes_sent(transfer.collective, message, group_size);
}

namespace {

[[noreturn]] void refuse(const Transfer& t, std::string_view why) {
  throw std::invalid_argument(fmt::format("{} of {} elements to {}: {}", to_string(t.collective), t.input.elements(),
                                          t.output.elements(), why));
}

bool sizes_fit(const Transfer& t, std::int64_t n) {
  const std::int64_t in = t.input.elements();
  const std::int64_t out = t.output.elements();
  switch (t.collective) {
    case Collective::all_gather: return out == in * n;
    case Collective::reduce_scatter: return in == out * n;
    case Collective::all_to_all: return in == out && in % n == 0;
    case Collective::all_reduce:
    case Collective::broadcast: return in == out;
    case Collective::send: return out == 0;
    case Collective::receive: return in == 0;
  }
  return false;
}

// Where input and output share memory, NCCL wants them to be the same place of the larger buffer.
bool in_place_is_legal(const Transfer& t, std::int32_t my_index) {
  if (!overlap(t.input, t.output)) return true;
  switch (t.collective) {
    case Collective::all_gather: return t.input.offset == t.output.offset + my_index * t.input.elements();
    case Collective::reduce_scatter: return t.output.offset == t.input.offset + my_index * t.output.elements();
    case Collective::all_reduce:
    case Collective::broadcast: return t.input.offset == t.output.offset;
    default: return false;
  }
}

}  // namespace

void check_transfer(const Transfer& t, const Group& group) {
  if (!t.input.is_dense() || !t.output.is_dense()) refuse(t, "the views of a transfer must be dense");
  if (!sizes_fit(t, group.size())) refuse(t, fmt::format("the sizes do not fit a group of {}", group.size()));
  if (!is_message(t.collective) && t.input.tensor.dtype != t.output.tensor.dtype)
    refuse(t, "input and output have different data types");
  if (is_reduction(t.collective) && is_fp8(dtype_of(t)))
    refuse(t, fmt::format("{} is not summed: reduce bf16 or f32", to_string(dtype_of(t))));
  if (!in_place_is_legal(t, group.my_index)) refuse(t, "input and output overlap, but not in place");
  const bool wants_peer = is_message(t.collective) || t.collective == Collective::broadcast;
  if (wants_peer && (t.peer < 0 || t.peer >= group.size()))
    refuse(t, fmt::format("no peer {} in a group of {}", t.peer, group.size()));
  if (is_message(t.collective) && t.peer == group.my_index) refuse(t, "a rank cannot send to itself");
}

}  // namespace underlap
