// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/trace/communication.hpp"

struct CUstream_st;

namespace underlap::cuda {

/// The resources that the kernel of a transfer takes from concurrent compute, as NCCL's does.
///
/// Source: NCCL 2.28. A ring with protocol Simple runs 512 threads that move data and one warp that synchronizes
/// (NCCL_SIMPLE_MAX_NTHREADS). Kernels are bound to NCCL_MAX_NTHREADS = 640, hence built for at most 96 registers a
/// thread. On sm_80 and later all are launched with ncclShmemDynamicSize = 640 / 32 warps * (8 * 32 + 1) * 16 bytes of
/// dynamic shared memory. A channel's buffer for Simple is 4 MiB.
struct LinkShape {
  unsigned threads = 544;
  std::size_t shared_bytes = 82240;
  std::int64_t staging_bytes = std::int64_t{4} << 20;  ///< of one block, in whole pieces
  /// Bytes that a block claims at once, a multiple of 16. A slice of NCCL's rings is 1 MiB (two of a buffer's eight
  /// steps). With shorter pieces, blocks reach the barrier more often, which costs a multiprocessor up to a third of
  /// its rate.
  std::int64_t piece_bytes = std::int64_t{512} << 10;
  /// How a block waits for its slot. Polling reads memory, as NCCL's threads do (prims_simple.h, waitPeer); sleeping
  /// leaves the L2 cache alone. underlap-calibrate --only link_validation measures both.
  bool polls = false;
};

/// How a transfer's kernel is launched. NCCL launches its kernels with these attributes from sm_90 on (enqueue.cc,
/// ncclLaunchKernel): clusters, spread over a GPC's multiprocessors, and the remote memory-synchronization domain.
struct LinkLaunchShape {
  int blocks = 1;
  int cluster = 0;  ///< blocks of a cluster; 0: no clusters. `blocks` is a multiple of it
  bool is_remote_domain = false;
};

/// Bytes of staging memory that a transfer of `blocks` blocks needs.
std::int64_t staging_bytes(const LinkShape& shape, int blocks);

/// The link, in device memory: the time until which each direction is taken, in picoseconds after `base_ns`. Each
/// sender adds the time of its bytes, so that concurrent transfers share the rate.
struct LinkState {
  unsigned long long base_ns = 0;  ///< of %globaltimer
  unsigned long long out_free_ps = 0;
  unsigned long long in_free_ps = 0;
};

/// The measured times and bytes of one group of transfers, in device memory.
struct LinkRecord {
  unsigned long long start_ns = ~0ULL;  ///< of %globaltimer, its first block's
  unsigned long long placed_ns = 0;     ///< when the last block of its first kernel found a multiprocessor
  unsigned long long end_ns = 0;        ///< its last block's
  unsigned long long bytes_out = 0;     ///< claimed on the link
  unsigned long long bytes_in = 0;
  unsigned long long bytes_read = 0;  ///< from device memory, as the ring does it
  unsigned long long bytes_written = 0;
};

/// One transfer as the kernel runs it. Every member of the ring is this rank: sent data arrives in its own staging
/// memory, as a neighbor's bytes would. So reads and writes are those of a member of a real ring.
///
/// With N members, shards of m bytes, message M = N m; each write to staging represents the neighbor's write.
///   all_gather      reads N m           writes (N-1) m staging, (N-1) m output, and m output unless in place
///   reduce_scatter  reads (2N-1) m      writes (N-1) m staging, m output
///   all_reduce      reads (3N-2) m      writes 2 (N-1) m staging, N m output
///   all_to_all      reads (2N-1) m      writes (N-1) m staging, N m output
///   broadcast       root: reads M, writes M unless in place; others: read M, write M staging, M output, and forward
///   send, receive   reads the sent; writes the received to staging, reads it, writes it to the output. A paired
///                   send also serves as the receive
///
/// Received data: all_gather: the rank's own shard everywhere. Reductions: the sum (or the mean, or the largest) of the
/// shards of its own input, in the wire's type. all_to_all: its own shards, in another order. Receives and broadcasts:
/// the sent bytes or a fixed pattern of small numbers that are finite in every type. All output is written, but its
/// values have no meaning.
struct LinkWork {
  Collective collective = Collective::all_gather;  ///< send covers sends and receives, which move as pairs
  DataType dtype = DataType::bf16;
  bool is_root = false;  ///< of a broadcast
  std::int32_t ranks = 1;
  std::int32_t index = 0;
  float scale = 1;             ///< of a sum
  bool takes_largest = false;  ///< a reduction to the largest value instead of the sum
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::int64_t input_bytes = 0;
  std::int64_t output_bytes = 0;
};

/// The largest number of transfers in one launch: a kernel's arguments hold 4 KiB.
inline constexpr int kMostLinkWorks = 40;

/// Works that run one after another in one kernel.
struct LinkLaunch {
  LinkWork works[kMostLinkWorks] = {};
  int num_works = 0;
  LinkState* link = nullptr;
  LinkRecord* record = nullptr;  ///< nullptr: not recorded
  bool is_first = true;          ///< whether it is the first kernel with this record
  std::byte* staging = nullptr;
  std::int64_t staging_bytes = 0;  ///< of LinkShape
  std::int64_t piece_bytes = 0;
  bool polls = false;                 ///< of LinkShape
  double ps_per_byte = 0;             ///< 0: unlimited
  unsigned long long latency_ps = 0;  ///< after the last byte
};

/// Enqueues the works on `stream`. Throws MachineError if the launch is refused.
void launch_transfers(const LinkLaunch& launch, const LinkShape& shape, const LinkLaunchShape& launched,
                      CUstream_st* stream);

/// Starts the time of a link, and fills a transfer's staging memory with its pattern.
void launch_link_start(LinkState* link, CUstream_st* stream);
void launch_staging_fill(std::byte* staging, std::int64_t bytes, CUstream_st* stream);

/// One thread that limits copies of a copy engine to the link's pace: it waits until the previous slot is nearly over,
/// and claims the next one. A copy engine cannot do this by itself.
struct LinkPace {
  LinkState* link = nullptr;
  LinkRecord* record = nullptr;
  unsigned long long* slot_end_ps = nullptr;  ///< of the transfer's last claim
  std::int64_t bytes_out = 0;                 ///< claimed; both 0 in the last one, which waits for the end
  std::int64_t bytes_in = 0;
  std::int64_t bytes_read = 0;  ///< by the copy that follows, for the record
  std::int64_t bytes_written = 0;
  double ps_per_byte = 0;
  unsigned long long ahead_ps = 0;  ///< how much earlier than the link copies may run
  unsigned long long latency_ps = 0;
  bool is_first = false;
  bool is_last = false;
};
void launch_pace(const LinkPace& pace, CUstream_st* stream);

}  // namespace underlap::cuda
