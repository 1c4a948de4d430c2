// SPDX-License-Identifier: Apache-2.0
#pragma once

struct CUstream_st;

namespace underlap::cuda {

/// Enqueues a kernel of one thread that does nothing: in a trace it is the moment at which `stream` got that far.
/// Throws MachineError where the launch is refused.
void launch_marker(CUstream_st* stream);

}  // namespace underlap::cuda
