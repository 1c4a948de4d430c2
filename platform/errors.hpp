// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace underlap {

/// The machine failed: a socket, a file, a peer that did not answer, a device call. The caller did nothing wrong.
class MachineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A peer did not answer or went away. Where a rank failed, this is what the others see of it, and not the cause.
class PeerError : public MachineError {
 public:
  using MachineError::MachineError;
};

}  // namespace underlap
