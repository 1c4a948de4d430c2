// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/drawing/tick_labels.hpp"

#include <cmath>

namespace underlap::viewer {
namespace {

int digits_of(double value) {
  const double size = std::abs(value);
  return size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
}

}  // namespace

QString number_text(double value) { return QString::number(value, 'f', value == 0 ? 0 : digits_of(value)); }

QString signed_text(double value) { return (value > 0 ? "+" : "") + number_text(value); }

}  // namespace underlap::viewer
