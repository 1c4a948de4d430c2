// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace underlap::viewer {

/// Looks whether windows can be shown. Where they can on an X server, it stays connected to that while it lives: a
/// server resets when its last client leaves, and whoever comes next is then turned away. So it outlives the start of
/// the application.
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
