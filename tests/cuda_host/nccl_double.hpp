// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "impl/device/cuda/nccl/nccl_api.hpp"
#include "tests/cuda_host/machine.hpp"

namespace underlap::cuda_host {

/// A call that reached NCCL.
struct NcclCall {
  std::string name;       ///< without the prefix: AllReduce, GroupStart, CommInitRankConfig, ...
  int communicator = -1;  ///< the how-manieth that was made with this id, counted over ids; -1: of none
  int rank = -1;          ///< in the communicator
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int peer = -1;                 ///< or root
  const void* buffer = nullptr;  ///< of a registration or of memory, with its bytes in `count`
  int flags = -1;                ///< of a window
  int depth = 0;                 ///< of groups around it
  int group = -1;                ///< the how-manieth outermost group of its thread it lies in
};

/// NCCL played in one process on the machine of queues. A group is one item of a stream, which runs only when the
/// matching groups of all members are first in their streams too; whoever runs first moves the bytes, for all. Sums are
/// added in rank order and rounded as the wire's type is. What does not match is written down and moves nothing.
/// Registrations are kept: one that outlives its memory, or its communicator's destruction, is written down too.
class NcclDouble {
 public:
  static NcclDouble& instance();

  /// Forgets everything. No communicator is in use.
  void reset();

  /// Functions that lead here, of a library that says it is of `version`; those that it did not have yet are null.
  static cuda::NcclApi api(int version = 22809);

  /// The calls so far, of all ranks, in the order in which they came.
  std::vector<NcclCall> calls();
  std::vector<NcclCall> calls(const std::string& name);
  /// The configuration of each communicator that was made, by (communicator, rank).
  std::map<std::pair<int, int>, ncclConfig_t> configs();
  /// What was done wrong: calls that do not match, and calls on what is aborted or destroyed.
  std::vector<std::string> errors();
  /// How many communicators were aborted and destroyed, counted by member.
  std::pair<int, int> num_aborted_and_destroyed();
  /// What ncclCommGetAsyncError says from now on of every member of `communicator`.
  void set_async_error(int communicator, ncclResult_t error);

  /// From now on NCCL makes no window, and says that all is well; and registers nothing at all.
  void make_no_windows();
  void register_nothing();

  /// The next call of that name is refused with ncclInvalidUsage.
  void refuse_next(const std::string& name);

  struct State;
  State& state() { return *state_; }

 private:
  NcclDouble();
  std::unique_ptr<State> state_;
};

}  // namespace underlap::cuda_host
