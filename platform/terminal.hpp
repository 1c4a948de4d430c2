// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platform/table.hpp"

namespace underlap {

/// The width in columns of the terminal of the file descriptor `file`. If it is no terminal, or has no known width: the
/// environment variable COLUMNS, else no limit. Readers of a pipe wrap lines themselves, or search for words in them.
int terminal_width(int file);

/// Whether `file` is a terminal that can write a line anew: not one that calls itself dumb (TERM).
bool rewrites_lines(int file);

/// How tables are drawn on `file`: with that width, and in color on a terminal that is not dumb, unless the
/// environment variable NO_COLOR is set and not empty.
TableFormat terminal_format(int file);

}  // namespace underlap
