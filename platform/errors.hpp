// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace underlap {

/// The machine failed: a socket, a file, a peer that did not answer, a device call. The caller did nothing wrong.
class MachineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device's memory does not hold what is asked of it.
class OutOfDeviceMemory : public MachineError {
 public:
  /// `rank_bytes`: what this rank has and could still have.
  OutOfDeviceMemory(const std::string& what, std::int64_t rank_bytes) : MachineError(what), rank_bytes_(rank_bytes) {}
  std::int64_t rank_bytes() const { return rank_bytes_; }

 private:
  std::int64_t rank_bytes_;
};

/// A peer did not answer or went away. Where a rank failed, this is what the others see of it, and not the cause.
class PeerError : public MachineError {
 public:
  using MachineError::MachineError;
};

/// The system's message for an error number. If a file may not grow any more, it includes the limit.
std::string system_reason(int code);

}  // namespace underlap
