// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/run_operation.hpp"

namespace underlap::test {

void run_implementation(const Operation& operation, std::span<const BoundView> views) {
  operation.cpu()(Arguments(views, operation.parameters()));
}

}  // namespace underlap::test
