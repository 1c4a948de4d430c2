// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "platform/status_line.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::bench {

/// Says on standard error's status line what is done, as long as something is.
class StatusWatch : public ReadingWatch {
 public:
  void say(const std::string& what) override {
    if (what.empty()) return line_.reset();
    if (!line_) line_.emplace(status_on_stderr());
    line_->say(what);
  }

 private:
  std::optional<StatusLine> line_;
};

}  // namespace underlap::bench
