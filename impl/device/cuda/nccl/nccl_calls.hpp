// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "impl/device/cuda/nccl/nccl_api.hpp"
#include "impl/device/cuda/transport.hpp"

namespace underlap::cuda {

/// Throws std::invalid_argument naming `purpose` where NCCL cannot do what a transfer asks for: partial sums in fp32
/// where the wire is bf16. (Its rings round to the wire's type at every hop.)
void check_nccl_can(const Transfer& transfer, const Group& group, std::string_view purpose);

/// Enqueues `transfers` as one group. Throws MachineError where NCCL refuses; the group is closed then as well.
void call_nccl(const NcclApi& api, ncclComm_t communicator, const Group& group,
               std::span<const BoundTransfer> transfers, cudaStream_t stream);

}  // namespace underlap::cuda
