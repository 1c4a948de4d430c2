// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QSize>
#include <QString>
#include <filesystem>
#include <functional>

#include "viewer/charts/chart.hpp"

class QPainter;

namespace underlap::viewer {

inline constexpr QSize kChartSize{800, 500};

/// The size at which nothing is left out for want of room: kChartSize, or higher where there are many rows.
QSize fitting_size(const Chart&, const Theme&);

/// The chart on `size` units, each `scale` pixels wide and high. Needs a QApplication, no window. Throws
/// std::invalid_argument for a size without pixels, and for one of more than 100 million.
QImage chart_image(const Chart&, const Theme&, QSize size, double scale = 1);

/// ".png" of "picture.PNG".
std::string extension_of(const std::filesystem::path&);

/// Writes the chart in the format of the extension of `path`: .svg, .png, or .csv (analysis::csv of its figures, which
/// has neither theme nor size). Throws as chart_image() does, std::invalid_argument for another extension, and
/// MachineError if the file cannot be written.
void write_chart(const std::filesystem::path& path, const Chart&, const Theme&, QSize size = kChartSize,
                 double scale = 1);

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
