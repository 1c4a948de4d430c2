// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::kernels {

/// Of attention_correction.
struct CorrectionParameters {
  bool is_first = false;
};

}  // namespace underlap::kernels
