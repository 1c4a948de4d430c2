// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <vector>

namespace underlap::sim {

/// A function by its points: straight lines between them, constant outside. Arithmetic alone, so that it has the same
/// value on every machine. Fails where the measured function jumps between two points.
class Curve {
 public:
  struct Point {
    double x = 0;
    double y = 0;
  };

  Curve() = default;
  /// `points`: at least one, x ascending.
  explicit Curve(std::vector<Point> points) : points_(std::move(points)) { assert(!points_.empty()); }

  double operator()(double x) const {
    const auto right = std::find_if(points_.begin(), points_.end(), [x](const Point& point) { return point.x >= x; });
    if (right == points_.end()) return points_.back().y;
    if (right == points_.begin()) return right->y;
    const Point& left = *(right - 1);
    return left.y + (right->y - left.y) * ((x - left.x) / (right->x - left.x));
  }

  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

}  // namespace underlap::sim
