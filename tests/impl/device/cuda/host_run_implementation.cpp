// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/device/cuda/host_run_implementation.hpp"

#include "kernels/cuda/implementations.hpp"
#include "tests/cuda_host/machine.hpp"

namespace underlap::cuda {

void run_cpu_implementation_on_host(const Operation& operation, const Arguments& views, LaunchContext& context) {
  std::vector<BoundView> bound;
  for (std::size_t i = 0; i < views.size(); ++i) bound.push_back(views[i]);
  cuda_host::Machine::instance().enqueue(context.stream, {.ready = {}, .run = [operation, bound] {
                                                            operation.cpu()(Arguments(bound, operation.parameters()));
                                                          }});
}

void run_implementation_on_host(const Operation& operation, const Arguments& views, LaunchContext& context) {
  const auto forms = registered_cuda_implementations();
  const bool has_implementation = std::ranges::any_of(
      forms, [&](const CudaImplementationInfo& form) { return form.operation == name_of(operation.name()); });
  has_implementation ? run_cuda_implementation(operation, views, context)
                     : run_cpu_implementation_on_host(operation, views, context);
}

}  // namespace underlap::cuda
