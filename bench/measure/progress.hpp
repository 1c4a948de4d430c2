// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/status_line.hpp"

namespace underlap::bench {

/// Progress of a run through its blocks, with the time left as estimated from the blocks finished by this process: on
/// the status line of a terminal, else a line a block.
class Progress {
 public:
  /// `blocks_done` of `blocks_planned` were finished earlier, by the run that --resume continues. `line` outlives this.
  Progress(std::int32_t blocks_done, std::int32_t blocks_planned, StatusLine& line);

  /// Cell `index` of `count` begins in the block after the last finished one. Returns where the run is, in words:
  /// "block 2 of 5, cell 1 of 4: off".
  std::string start_cell(const std::string& name, std::size_t index, std::size_t count);

  void finish_block();

  /// nullopt before a block was finished.
  std::optional<std::chrono::nanoseconds> time_left() const;

 private:
  std::string left_text() const;

  StatusLine& line_;
  std::int32_t first_block_;
  std::int32_t done_;
  std::int32_t planned_;
  std::chrono::nanoseconds begin_;
  std::chrono::nanoseconds last_finished_;
};

/// "cell 2 of 8: NAME", for a status line.
std::string cell_text(const std::string& name, std::size_t index, std::size_t count);

}  // namespace underlap::bench
