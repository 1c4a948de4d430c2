// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/attention/cudnn_attention.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "platform/errors.hpp"
#include "platform/text/output.hpp"
#include "research/calibrate/cuda_gpu.hpp"

namespace underlap::bench {

/// cuBLASLt and cuDNN. Where one is missing, this prints the reason, and what needs the library is skipped.
class OpenedLibraries {
 public:
  CudaLibraries borrowed() const { return {.products = products_.get(), .attention = attention_.get()}; }

 private:
  template <class Library, class Api>
  static std::unique_ptr<Library> open() {
    try {
      return std::make_unique<Library>(Api::load());
    } catch (const MachineError& error) {
      print_error("underlap-calibrate: {}\n", error.what());
      return nullptr;
    }
  }

  std::unique_ptr<cuda::MatrixProducts> products_ = open<cuda::MatrixProducts, cuda::CublasLtApi>();
  std::unique_ptr<cuda::Attention> attention_ = open<cuda::Attention, cuda::CudnnApi>();
};

}  // namespace underlap::bench
