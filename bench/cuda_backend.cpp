// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda_backend.hpp"

#include <stdexcept>

#include "bench/launch_environment.hpp"
#include "bench/process_session.hpp"
#include "impl/device/cuda/requirements.hpp"
#include "platform/errors.hpp"

namespace underlap::bench {

std::unique_ptr<Session> make_cuda_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                           const plan::Source& source) {
  check_caller_environment(cells);
  cuda::check_cuda_machine(world_size(cells));
  return std::make_unique<ProcessSession>(cells, first_step, source, ProcessOptions{.environment = launch_environment});
}

std::unique_ptr<RankRunner> make_cuda_rank(const RankContext&) {
  throw MachineError("the ranks of backend cuda are not in this version");
}

}  // namespace underlap::bench
