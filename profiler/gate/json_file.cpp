// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/json_file.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "platform/input_file.hpp"

namespace underlap::gate {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 28;

}  // namespace

nlohmann::ordered_json read_json_file(const std::filesystem::path& file) {
  try {
    return parse_json(read_input_file(file, kMostBytes));
  } catch (const nlohmann::ordered_json::exception& error) {
    const std::string what = error.what();  // "[json.exception...] parse error at line 3, ..."
    throw std::invalid_argument(fmt::format("{}: not valid JSON:{}", file.string(), what.substr(what.find(']') + 1)));
  }
}

}  // namespace underlap::gate
