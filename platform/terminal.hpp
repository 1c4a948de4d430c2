// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap {

/// Columns of the terminal behind the file descriptor `file`; where it is none, or does not say, the environment
/// variable COLUMNS, else 160.
int terminal_width(int file);

}  // namespace underlap
