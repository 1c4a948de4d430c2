// SPDX-License-Identifier: Apache-2.0
#include "platform/run_program.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "platform/errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/memory_room.hpp"
#include "platform/text/output.hpp"

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

// A thread's own heap takes 64 MiB of address space, used or not. Where that is limited, threads and tensors need it.
void share_one_heap() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) ::mallopt(M_ARENA_MAX, 1);
}

constexpr const char* kNoOutput = "standard output cannot be written";

void flush_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw MachineError(kNoOutput);
}

void complain(const char* name, const std::exception& error) { print_error("{}: {}\n", name, error.what()); }

// Words take memory too, and there may be none.
void complain_of_memory(const char* name) {
  try {
    complain(name, MachineError(out_of_memory("it worked")));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", name);
  }
}

}  // namespace

int run_program(const char* name, const std::function<int()>& body) {
  keep_standard_streams_open();
  share_one_heap();
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow any more is then an error of the write, which names it
  return reported_exit_code(name, body);
}

int reported_exit_code(const char* name, const std::function<int()>& body) {
  try {
    const int exit_code = body();
    flush_output();
    return exit_code;
  } catch (const std::invalid_argument& error) {
    complain(name, error);
    return kBadInput;
  } catch (const std::bad_alloc&) {
    complain_of_memory(name);
    return kRunFailed;
  } catch (const std::system_error& error) {
    // An exception from printing does not name the file that cannot be written.
    if (std::ferror(stdout) == 0)
      complain(name, error);
    else
      complain(name, MachineError(std::string(kNoOutput) + ": " + error.code().message()));
    return kRunFailed;
  } catch (const std::exception& error) {
    complain(name, error);
    return kRunFailed;
  }
}

}  // namespace underlap
