// SPDX-License-Identifier: Apache-2.0
#include "platform/file_descriptor.hpp"

#include <unistd.h>

namespace underlap {

void FileDescriptor::reset() noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

}  // namespace underlap
