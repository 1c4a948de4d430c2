// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace underlap {

/// What `body` returns, or the exit code of what it throws, with that on stderr, as run_program() has it. What was
/// printed has been written.
int told_exit_code(const char* name, const std::function<int()>& body);

/// The main function of a program called `name`. Returns the exit code: that of `body`, kBadInput where it throws
/// std::invalid_argument, kRunFailed for any other exception and where standard output cannot be written; what was
/// thrown stands on stderr after the name. Standard streams that the program was started without are opened first.
int run_program(const char* name, const std::function<int()>& body);

}  // namespace underlap
