// SPDX-License-Identifier: Apache-2.0
#include "platform/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "platform/errors.hpp"
#include "platform/exit_code.hpp"

namespace underlap {
namespace {

// A program may be started without the standard streams. The first files it opened would take their numbers, and
// messages would be written into them.
void keep_standard_streams_open() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

void flush_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw MachineError("standard output cannot be written");
}

// fmt::print throws where stderr cannot be written, and nobody is left to catch that.
void complain(const char* name, const std::exception& error) { std::fprintf(stderr, "%s: %s\n", name, error.what()); }

}  // namespace

int run_program(const char* name, const std::function<int()>& body) {
  keep_standard_streams_open();
  try {
    const int exit_code = body();
    flush_output();
    return exit_code;
  } catch (const std::invalid_argument& error) {
    complain(name, error);
    return kBadInput;
  } catch (const std::exception& error) {
    complain(name, error);
    return kRunFailed;
  }
}

}  // namespace underlap
