// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <thread>

#include "impl/device/host/host_device.hpp"
#include "tests/impl/device/device_testing.hpp"
#include "tests/testing.hpp"

namespace underlap::host {

/// Runs the same program as every rank of one process, one thread and one HostDevice a rank.
class Ranks {
 public:
  explicit Ranks(std::int32_t world_size, HostOptions options = {},
                 std::chrono::milliseconds timeout = std::chrono::seconds(30))
      : fabric_(world_size, timeout), options_(options) {}

  /// `program(device, group)`: the group is all ranks. Throws the first failure of any rank.
  template <class Program>
  void run(Program program) {
    std::vector<std::thread> threads;
    for (std::int32_t rank = 0; rank < fabric_.world_size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          HostOptions options = options_;
          options.rank = rank;
          HostDevice device(fabric_, options);
          program(device, testing_support::group_of(fabric_.world_size(), rank));
        } catch (...) {
          fabric_.fail(rank, std::current_exception());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    fabric_.rethrow_failure();
  }

  /// The same, and returns the message of the failure; empty where there was none.
  template <class Program>
  std::string run_and_catch(Program program) {
    return thrown_by([&] { run(program); });
  }

  Fabric& fabric() { return fabric_; }

 private:
  Fabric fabric_;
  HostOptions options_;
};

}  // namespace underlap::host
