// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "impl/device/scope.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap::tp {

/// The tensor-parallel group of one rank, and the streams and communicators that all of its slots share.
///
/// Made before Device::begin(), by all ranks in the same order: a communicator is declared when it is first asked for.
/// Source: the streams of Transformer Engine's userbuffers: up to three for GEMMs, communication at high priority.
class Communicators {
 public:
  static constexpr std::size_t kNumGemmStreams = 3;

  Communicators(Device& device, const Group& group, Stream compute, const plan::Config& config);

  Device& device() const { return device_; }
  const Group& group() const { return group_; }
  Stream compute() const { return compute_; }
  Scope scope() const { return {device_, compute_, Mode::tp}; }

  /// NCCL's, as Megatron's tensor-parallel group: for every collective that no technique takes over.
  Communicator collectives();
  /// For the hops of rings.
  Communicator ring();
  /// For collectives that run during a GEMM on `num_sm` multiprocessors, their blocks in clusters of `cga_size`.
  Communicator beside_gemm(int num_sm, int cga_size);
  /// The streams that the parts of a split GEMM alternate over.
  std::span<const Stream> gemm_streams();

 private:
  Communicator declare(std::string_view purpose, const CommunicatorHints& hints);

  Device& device_;
  Group group_;
  Stream compute_;
  Priority nccl_priority_;
  bool copy_engine_;
  std::map<std::string, Communicator, std::less<>> declared_;  // by purpose
  std::array<Stream, kNumGemmStreams> gemm_streams_{};
  bool has_gemm_streams_ = false;
};

/// One collective of the group, with everything on the compute stream before and after it.
class Collectives {
 public:
  /// `communicators` outlives this.
  explicit Collectives(Communicators& communicators);

  const Group& group() const { return communicators_.group(); }

  /// Enqueues `transfer` after what the compute stream holds. `tag` gives all but kind and mode. Returns the event of
  /// its completion.
  Event start(const Tag& tag, NameId purpose, const Transfer& transfer) const;
  /// The same, and the compute stream waits: exposed whole.
  void run(const Tag& tag, NameId purpose, const Transfer& transfer) const;

  /// full [T, F] from every rank's shard [T/n, F].
  void all_gather(const Tag& tag, NameId purpose, const View& shard, const View& full) const;
  /// shard [T/n, F]: this rank's rows of the sum of every rank's full [T, F].
  void reduce_scatter(const Tag& tag, NameId purpose, const View& full, const View& shard) const;
  /// x, any dense shape, in place.
  void all_reduce(const Tag& tag, NameId purpose, const View& x, ReduceOp op = ReduceOp::sum) const;

 private:
  Communicators& communicators_;
  Scope scope_;
  Communicator communicator_;
};

}  // namespace underlap::tp
