// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/drawing/tick_labels.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace underlap::viewer {
namespace {

constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
constexpr double kFewDecades = 2.5;

QString size_text(double bytes) {
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return QString("%1 %2").arg(bytes, 0, 'g', 3).arg(kUnits.at(unit));
}

template <class Text>
std::vector<Tick> ticks(double low, double high, Text text) {
  std::vector<Tick> found;
  const bool has_few = std::log10(high / low) < kFewDecades;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * power;
      if ((factor == 1 || has_few) && value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9))
        found.push_back({value, text(value)});
    }
  return found;
}

int digits_of(double value) {
  const double size = std::abs(value);
  return size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
}

}  // namespace

std::vector<Tick> size_ticks(double low, double high) { return ticks(low, high, size_text); }

std::vector<Tick> number_ticks(double low, double high) {
  return ticks(low, high, [](double value) { return QString::number(value, 'g', 6); });
}

QString number_text(double value) { return QString::number(value, 'f', value == 0 ? 0 : digits_of(value)); }

QString signed_text(double value) { return (value > 0 ? "+" : "") + number_text(value); }

}  // namespace underlap::viewer
