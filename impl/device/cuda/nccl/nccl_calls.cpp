// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/nccl/nccl_calls.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace underlap::cuda {
namespace {

ncclDataType_t type_of(const Transfer& transfer) {
  switch (dtype_of(transfer)) {
    case DataType::f32: return ncclFloat32;
    case DataType::bf16: return ncclBfloat16;
    case DataType::i32: return ncclInt32;
    case DataType::u8:
    // Only moved: check_transfer refuses their sums. As bytes they travel on every release; NCCL's own types are
    // of 2.24.
    case DataType::f8e4m3:
    case DataType::f8e5m2: return ncclUint8;
    case DataType::f64: return ncclFloat64;
  }
  throw std::invalid_argument("NCCL does not support the data type of this transfer");
}

ncclRedOp_t op_of(const Transfer& transfer) {
  switch (transfer.op) {
    case ReduceOp::sum: return ncclSum;
    case ReduceOp::average: return ncclAvg;
    case ReduceOp::max: return ncclMax;
  }
  throw std::invalid_argument("NCCL does not support this reduction");
}

/// Calls between NCCL's group start and end.
class NcclGroup {
 public:
  explicit NcclGroup(const NcclApi& api) : api_(api) { check(api_, api_.GroupStart()); }
  ~NcclGroup() {
    if (is_open_) (void)api_.GroupEnd();  // a call was refused: without this the next group would lie inside this one
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  void end() {
    is_open_ = false;
    check(api_, api_.GroupEnd());
  }

 private:
  const NcclApi& api_;
  bool is_open_ = true;
};

// Grouped sends and receives on every release; ncclAlltoAll (2.28) is the same for buffers that are no windows.
void all_to_all(const NcclApi& api, ncclComm_t communicator, std::int32_t n, const BoundTransfer& t,
                cudaStream_t stream) {
  const ncclDataType_t type = type_of(t.transfer);
  const std::int64_t count = t.transfer.input.elements() / n;
  const std::int64_t bytes = t.transfer.input.bytes() / n;
  for (std::int32_t peer = 0; peer < n; ++peer) {
    const auto elements = static_cast<std::size_t>(count);
    check(api, api.Send(t.input + peer * bytes, elements, type, peer, communicator, stream));
    check(api, api.Recv(t.output + peer * bytes, elements, type, peer, communicator, stream));
  }
}

void call(const NcclApi& api, ncclComm_t communicator, const Group& group, const BoundTransfer& bound,
          cudaStream_t stream) {
  const Transfer& t = bound.transfer;
  const ncclDataType_t type = type_of(t);
  const auto in = static_cast<std::size_t>(t.input.elements());
  const auto out = static_cast<std::size_t>(t.output.elements());
  switch (t.collective) {
    case Collective::all_gather:
      return check(api, api.AllGather(bound.input, bound.output, in, type, communicator, stream));
    case Collective::reduce_scatter:
      return check(api, api.ReduceScatter(bound.input, bound.output, out, type, op_of(t), communicator, stream));
    case Collective::all_reduce:
      return check(api, api.AllReduce(bound.input, bound.output, in, type, op_of(t), communicator, stream));
    case Collective::broadcast:
      return check(api, api.Broadcast(bound.input, bound.output, in, type, t.peer, communicator, stream));
    case Collective::send: return check(api, api.Send(bound.input, in, type, t.peer, communicator, stream));
    case Collective::receive: return check(api, api.Recv(bound.output, out, type, t.peer, communicator, stream));
    case Collective::all_to_all: return all_to_all(api, communicator, group.size(), bound, stream);
  }
}

}  // namespace

void check_nccl_can(const Transfer& t, const Group& group, std::string_view purpose) {
  if (!is_reduction(t.collective) || group.size() == 1 || t.accumulator == Accumulator::wire ||
      dtype_of(t) != DataType::bf16)
    return;
  throw std::invalid_argument(fmt::format(
      "{} of communicator {}: NCCL rounds partial sums of bf16 to bf16 (extensions.reduce_accumulator: fp32 is for the "
      "host backend; use ddp.reduce_scatter_with_fp32_accumulation or ddp.grad_reduce_in_fp32 here)",
      to_string(t.collective), purpose));
}

void call_nccl(const NcclApi& api, ncclComm_t communicator, const Group& group,
               std::span<const BoundTransfer> transfers, cudaStream_t stream) {
  NcclGroup calls(api);
  for (const BoundTransfer& transfer : transfers) call(api, communicator, group, transfer, stream);
  calls.end();
}

}  // namespace underlap::cuda
