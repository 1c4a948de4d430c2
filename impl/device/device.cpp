// SPDX-License-Identifier: Apache-2.0
#include "impl/device/device.hpp"

#include <algorithm>

namespace underlap {

std::int64_t message_bytes(const Transfer& transfer) {
  return std::max(transfer.input.bytes(), transfer.output.bytes());
}

std::int64_t bytes_on_wire(const Transfer& transfer, std::int32_t group_size) {
  const std::int64_t message = message_bytes(transfer);
  const std::int64_t n = group_size;
  switch (transfer.collective) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return message / n * (n - 1);
    case Collective::all_reduce: return 2 * (message / n * (n - 1));
    case Collective::broadcast: return message / n * (n - 1);
    case Collective::send: return message;
    case Collective::receive: return 0;
  }
  return 0;
}

}  // namespace underlap
