// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::kernels {

struct CrossEntropyParameters {
  double scale = 1;
};

}  // namespace underlap::kernels
