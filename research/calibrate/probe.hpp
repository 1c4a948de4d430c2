// SPDX-License-Identifier: Apache-2.0
#pragma once

struct CUstream_st;

namespace underlap::bench {

/// Enqueues a kernel of one thread that runs for `nanoseconds` and writes when it began and ended (%globaltimer) to
/// `stamps`, device memory of two words. 0 ns: a kernel that only stamps. nullptr: one that does nothing.
void launch_probe(unsigned long long* stamps, unsigned long long nanoseconds, CUstream_st* stream);

}  // namespace underlap::bench
