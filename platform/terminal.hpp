// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platform/table.hpp"

namespace underlap {

/// Columns of the terminal behind the file descriptor `file`; where it is none, or does not say, the environment
/// variable COLUMNS, else no limit: who reads a pipe wraps lines itself, or looks for words in them.
int terminal_width(int file);

/// Whether `file` is a terminal that can write a line anew: not one that calls itself dumb (TERM).
bool rewrites_lines(int file);

/// How tables are drawn on `file`: as wide as that, and in colour on a terminal that is not
/// dumb, unless the environment variable NO_COLOR says otherwise by being set and not empty.
TableFormat terminal_format(int file);

}  // namespace underlap
