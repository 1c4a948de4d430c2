// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platform/table.hpp"

namespace underlap {

/// Columns of the terminal behind the file descriptor `file`; where it is none, or does not say, the environment
/// variable COLUMNS, else no limit: who reads a pipe wraps lines itself, or looks for words in them.
int terminal_width(int file);

/// How tables are drawn on `file`: as wide as that, and in colour on a terminal.
TableFormat terminal_format(int file);

}  // namespace underlap
