// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>
#include <regex>
#include <utility>

#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim::test {

/// Seeded, and the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(end));
  }
  std::int64_t from(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  double share() { return static_cast<double>(below(1'000'001)) / 1e6; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }

 private:
  std::mt19937 engine_;
};

/// A rate or a latency in the text of a description, found by the unit in its name: what is added later is found too.
struct Figure {
  std::string name;
  bool is_rate = false;  ///< more is faster; of a latency less is
  std::size_t at = 0;    ///< of its number in the text
  std::size_t length = 0;
  double value = 0;
};

inline std::string shipped_yaml(const std::string& name) {
  return read_text_file("results/hardware/" + name + ".yaml");
}

inline std::vector<Figure> rates_and_latencies(const std::string& yaml) {
  static const std::regex figure(R"((\w+_us|\w+_gb_per_s|\w+_tflops|sustained_clock): (?:\{value: )?([0-9.]+))");
  const std::size_t taken_on = yaml.find("\ncollectives_taken_on:");
  const std::size_t collectives = yaml.find("\ncollectives:");
  std::vector<Figure> figures;
  for (std::sregex_iterator match(yaml.begin(), yaml.end(), figure), end; match != end; ++match) {
    const auto at = static_cast<std::size_t>(match->position(2));
    if (at > taken_on && at < collectives) continue;  // no figure of this machine
    const std::string name = match->str(1);
    figures.push_back({.name = at < collectives ? name : fmt::format("{} at {} of collectives", name, at),
                       .is_rate = !name.ends_with("_us"),
                       .at = at,
                       .length = static_cast<std::size_t>(match->length(2)),
                       .value = std::stod(match->str(2))});
  }
  return figures;
}

/// The description with `value` in that place.
inline Hardware with(std::string yaml, const Figure& figure, double value) {
  return parse_hardware(yaml.replace(figure.at, figure.length, fmt::format("{:.9g}", value)), figure.name);
}

/// Two machines that differ in one figure, the slower one first.
inline std::array<Hardware, 2> slower_and_faster(const std::string& yaml, const Figure& figure, Draw& draw) {
  const double far = std::pow(4.0, draw.below(4));
  double slow = figure.value / (1 + far * draw.share()), fast = figure.value * (1 + far * draw.share());
  if (!figure.is_rate) fast += 10 * draw.share(), std::swap(slow, fast);
  if (figure.name == "sustained_clock") fast = std::min(fast, 1.0);
  return {with(yaml, figure, slow), with(yaml, figure, fast)};
}

}  // namespace underlap::sim::test
