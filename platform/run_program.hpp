// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace underlap {

/// What `body` returns, or the exit code of what it throws, with that on stderr, as run_program() has it. What was
/// printed has been written.
int reported_exit_code(const char* name, const std::function<int()>& body);

/// The main function of a program called `name`. Returns the exit code of `body`, kBadInput where it throws
/// std::invalid_argument, and kRunFailed for any other exception or if standard output cannot be written. Prints the
/// exception to stderr after the name. First opens standard streams that were closed when the program started.
int run_program(const char* name, const std::function<int()>& body);

}  // namespace underlap
