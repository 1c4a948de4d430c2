// SPDX-License-Identifier: Apache-2.0
#include "platform/temporary_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "platform/errors.hpp"

namespace underlap {

TemporaryFolder::TemporaryFolder() {
  std::error_code none;
  std::filesystem::path root = std::filesystem::temp_directory_path(none);
  if (none) root = "/tmp";
  std::string name = (root / "underlap-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw MachineError(fmt::format("cannot make a folder in {}: {}", root.string(), std::strerror(errno)));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what another process is writing at this moment stays
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace underlap
