// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/file_descriptor.hpp"

namespace underlap {

/// How long a TCP peer may be out of reach before its connection counts as lost. Nothing else reports a machine that
/// vanishes.
inline constexpr std::chrono::seconds kTcpPatience{20};

/// Who can connect to a listener.
enum class TcpReach : std::uint8_t {
  this_machine,  ///< processes of this machine, at 127.0.0.1
  network,       ///< any machine that reaches one of its addresses
};

/// A TCP port of this machine, chosen by the system.
class TcpListener {
 public:
  /// Throws MachineError.
  explicit TcpListener(TcpReach reach);

  std::uint16_t port() const { return port_; }
  /// To poll for who connects.
  int descriptor() const { return socket_.get(); }
  /// The next connection, or an empty descriptor without one. It fails after kTcpPatience without a sign of the peer.
  FileDescriptor accept();

 private:
  FileDescriptor socket_;
  std::uint16_t port_ = 0;
};

/// Connects to a host, by address or name. `timeout` applies to each address of the host. The connection fails after
/// kTcpPatience without a sign of the peer.
/// On failure returns an empty descriptor and sets `why` to the reason.
FileDescriptor connect_tcp(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout,
                           std::string& why);

/// The numerical address of this side of a connection; empty where it has none.
std::string own_address(const FileDescriptor& connection);

/// The numerical addresses of this machine's interfaces that are up, but for the loopback.
std::vector<std::string> interface_addresses();

}  // namespace underlap
