// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/format.hpp"
#include "profiler/formats/nsys/database.hpp"
#include "profiler/formats/nsys/reader.hpp"

namespace underlap::formats {

Format nsys_format() {
  return {.name = "nsys",
          .extension = ".sqlite",
          .description = "Nsight Systems, written by `nsys export --type=sqlite --include-blobs=true`",
          .sniff = nsys::is_sqlite,
          .read = nsys::read,
          .write = nullptr};
}

}  // namespace underlap::formats
