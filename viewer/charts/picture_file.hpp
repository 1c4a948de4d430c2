// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>
#include <QString>
#include <functional>
#include <string>

class QImage;
class QPainter;

namespace underlap::viewer {

/// Throws std::invalid_argument where a picture of `size` units, each `scale` pixels wide and high, has no pixels, or
/// more than 100 million.
void check_pixels(QSize size, double scale);

/// A PNG file.
std::string png_of(const QImage&);

/// An SVG file of `size` units, `scale` CSS pixels each, of what `paint` paints.
struct SvgText {
  QString title;
  QString description = {};
};
std::string svg_of(QSize size, double scale, const SvgText&, const std::function<void(QPainter&)>& paint);

}  // namespace underlap::viewer
