// SPDX-License-Identifier: Apache-2.0
//
// A mark in a stream: an empty kernel of one thread, which begins when everything before it in the stream has ended.
//
// A step's window runs from mark to mark. A kernel, because a capture of kernels is there in any case and gives its
// start and end on the same clock as those of all others. It costs one launch and moves no byte.
#include "kernels/cuda/marker.hpp"

#include "kernels/cuda/launch.cuh"

namespace underlap::cuda {
namespace {

__global__ void marker_kernel() {}

}  // namespace

void launch_marker(CUstream_st* stream) { launch(marker_kernel, {.blocks = 1, .threads = 1}, stream); }

}  // namespace underlap::cuda
