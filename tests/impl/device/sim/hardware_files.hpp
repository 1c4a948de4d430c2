// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "impl/device/sim/hardware.hpp"
#include "tests/testing.hpp"

namespace underlap::sim::test {

inline std::string read_text_file(const std::string& path_from_root) {
  std::ifstream file(UNDERLAP_SOURCE_DIR "/" + path_from_root);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The machine of round figures, tests/data/hardware/round.yaml.
inline std::string round_yaml() { return read_text_file("tests/data/hardware/round.yaml"); }
inline Hardware round_hardware() { return load_hardware(UNDERLAP_SOURCE_DIR "/tests/data/hardware/round.yaml"); }

/// `text` with `from` replaced once by `to`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no " + from + " to replace");
  return text.replace(at, from.size(), to);
}

/// What is said of a description that is refused.
inline std::string complaint(const std::string& yaml) {
  return thrown_by<std::invalid_argument>([&] { parse_hardware(yaml, "a.yaml"); });
}

/// A change to a description, and a part of what is said of it then.
struct WrongFigure {
  std::string from, to, what;
};
inline void expect_complaints(const std::string& yaml, const std::vector<WrongFigure>& cases) {
  for (const auto& [from, to, what] : cases)
    EXPECT_THAT(complaint(replaced(yaml, from, to)), HasSubstr(what)) << from << " -> " << to;
}

}  // namespace underlap::sim::test
