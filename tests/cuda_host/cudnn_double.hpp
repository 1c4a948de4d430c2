// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/attention/cudnn_api.hpp"

namespace underlap::cuda_host {

/// A cuDNN that takes any graph of products, operations on elements, reductions and reshapes, and computes it literally
/// on the machine of queues: what a graph means is tested with it. Whether cuDNN has an engine for the graph is not.
/// A number for each row has to be dense in memory, as for releases before 9.26: its strides are ignored.
/// It refuses descriptors that lack an attribute, tensors without a pointer, and pointers that are not aligned as
/// promised.
class CudnnDouble {
 public:
  static CudnnDouble& instance();
  static cuda::CudnnApi api();

  /// As at the start: nothing counted, nothing refused.
  void reset();

  bool refuses_graphs = false;   ///< as a cuDNN that has no engine
  std::int64_t workspace = 512;  ///< that each plan asks for; it is overwritten when a plan runs
  int num_plans = 0;             ///< made
  int num_executions = 0;        ///< enqueued
  int num_alive = 0;             ///< handles and descriptors
};

}  // namespace underlap::cuda_host
