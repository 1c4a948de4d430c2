// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace underlap::viewer {

/// Checks whether windows can be shown. If they can on an X server, the probe stays connected while it lives: a server
/// resets when its last client leaves, and refuses the next client meanwhile. So it outlives the start of the
/// application.
class DisplayProbe {
 public:
  DisplayProbe();

  /// Why no window can be shown; empty where one can. Qt ends a program without a word that helps.
  const std::string& why_not() const { return why_not_; }

 private:
  std::shared_ptr<void> connection_;  ///< its deleter holds the library that closes it
  std::string why_not_;
};

}  // namespace underlap::viewer
