// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "profiler/formats/format.hpp"
#include "profiler/formats/nsys/database.hpp"
#include "profiler/formats/nsys/reader.hpp"
#include "profiler/formats/unreadable.hpp"

namespace underlap::formats {
namespace {

Trace read_export(const std::filesystem::path& path, Reading& reading) {
  try {
    return nsys::read(path, reading);
  } catch (const nsys::ForeignDatabase& database) {
    const std::string what = unreadable_database(database.tables);
    if (what.empty()) throw;
    throw std::invalid_argument(path.string() + ": " + what);
  }
}

}  // namespace

Format nsys_format() {
  return {.name = "nsys",
          .extension = ".sqlite",
          .description = "Nsight Systems, written by `nsys export --type=sqlite --include-blobs=true`",
          .sniff = nsys::is_sqlite,
          .read = read_export,
          .write = nullptr};
}

}  // namespace underlap::formats
