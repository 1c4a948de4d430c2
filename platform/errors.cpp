// SPDX-License-Identifier: Apache-2.0
#include "platform/errors.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace underlap {

std::string system_reason(int code) {
  rlimit limit{};
  if (code != EFBIG || ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::strerror(code);
  return fmt::format("{}: this process may write at most {} bytes to a file (ulimit -f)", std::strerror(code),
                     limit.rlim_cur);
}

}  // namespace underlap
