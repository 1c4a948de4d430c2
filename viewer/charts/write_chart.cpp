// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/write_chart.hpp"

#include <fmt/format.h>

#include <QChart>
#include <QGraphicsScene>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "platform/atomic_file.hpp"
#include "viewer/charts/picture_file.hpp"

namespace underlap::viewer {
namespace {

// In a scene of its own: what is shown elsewhere keeps its size.
void paint(const Chart& chart, const Theme& theme, QSize size, QPainter& painter) {
  QGraphicsScene scene;
  const std::unique_ptr<QChart> drawn = draw(chart, theme);
  scene.addItem(drawn.get());
  drawn->resize(size);
  drawn->layout()->activate();
  painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
  scene.render(&painter, QRectF(QPointF(0, 0), size), QRectF(QPointF(0, 0), size));
  scene.removeItem(drawn.get());
}

std::string svg_of(const Chart& chart, const Theme& theme, QSize size, double scale) {
  const SvgText text{QString::fromStdString(chart.figures.title), QString::fromStdString(chart.figures.subtitle)};
  return svg_of(size, scale, text, [&](QPainter& painter) { paint(chart, theme, size, painter); });
}

}  // namespace

QSize fitting_size(const Chart& chart, const Theme& theme, QSize least) {
  const std::unique_ptr<QChart> drawn = draw(chart, theme);
  drawn->resize(least);
  return {least.width(), std::max(least.height(), static_cast<int>(std::ceil(drawn->preferredHeight())))};
}

QImage chart_image(const Chart& chart, const Theme& theme, QSize size, double scale) {
  check_pixels(size, scale);
  QImage image((QSizeF(size) * scale).toSize(), QImage::Format_RGB32);
  image.setDevicePixelRatio(scale);
  image.fill(theme.background);
  QPainter painter(&image);
  paint(chart, theme, size, painter);
  return image;
}

std::string extension_of(const std::filesystem::path& path) {
  return QString::fromStdString(path.extension().string()).toLower().toStdString();
}

void write_chart(const std::filesystem::path& path, const Chart& chart, const Theme& theme, QSize size, double scale) {
  const std::string extension = extension_of(path);
  if (extension == ".csv")
    write_file_atomically(path, analysis::csv(chart.figures.table));
  else if (extension == ".png")
    write_file_atomically(path, png_of(chart_image(chart, theme, size, scale)));
  else if (extension == ".svg")
    write_file_atomically(path, svg_of(chart, theme, size, scale));
  else
    throw std::invalid_argument(fmt::format("{}: the file of a chart must end in .svg, .png or .csv", path.string()));
}

}  // namespace underlap::viewer
