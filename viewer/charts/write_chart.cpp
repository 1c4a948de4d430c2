// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/write_chart.hpp"

#include <fmt/format.h>

#include <QBuffer>
#include <QByteArray>
#include <QChart>
#include <QFontInfo>
#include <QGraphicsLayout>
#include <QGraphicsScene>
#include <QPainter>
#include <QSvgGenerator>
#include <cmath>

#include "platform/atomic_file.hpp"

namespace underlap::viewer {
namespace {

constexpr double kMostPixels = 100e6;

// Qt names one family, as this machine calls it. Verdana is as wide as DejaVu Sans, so that texts fit elsewhere too.
QByteArray with_fallback_fonts(QByteArray svg) {
  const QString resolved = QFontInfo(QFont()).family().toHtmlEscaped();
  const QString named = QFont().family().toHtmlEscaped();
  return svg.replace(QString("font-family=\"%1\"").arg(named).toUtf8(),
                     QString("font-family=\"%1, Verdana, sans-serif\"").arg(resolved).toUtf8());
}

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

}  // namespace

QSize fitting_size(const Chart& chart, const Theme& theme) {
  const std::unique_ptr<QChart> drawn = draw(chart, theme);
  drawn->resize(kChartSize);
  return {kChartSize.width(), std::max(kChartSize.height(), static_cast<int>(std::ceil(drawn->preferredHeight())))};
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
    write_file_atomically(
        path, svg_of(size, scale,
                     {QString::fromStdString(chart.figures.title), QString::fromStdString(chart.figures.subtitle)},
                     [&](QPainter& painter) { paint(chart, theme, size, painter); }));
  else
    throw std::invalid_argument(fmt::format("{}: the file of a chart must end in .svg, .png or .csv", path.string()));
}

void check_pixels(QSize size, double scale) {
  const double pixels = scale * size.width() * scale * size.height();
  if (size.width() < 1 || size.height() < 1 || !(scale > 0) || !(pixels <= kMostPixels))
    throw std::invalid_argument(
        fmt::format("a picture of {} x {} at scale {:g} is empty, or larger than {:.0f} million pixels", size.width(),
                    size.height(), scale, kMostPixels / 1e6));
}

std::string png_of(const QImage& image) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return bytes.toStdString();
}

std::string svg_of(QSize size, double scale, const SvgText& text, const std::function<void(QPainter&)>& paint) {
  check_pixels(size, scale);
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setSize(size * scale);
  svg.setResolution(96);  // CSS pixels to the inch: the file's size is in millimetres
  svg.setViewBox(QRect(QPoint(0, 0), size));
  svg.setTitle(text.title);
  svg.setDescription(text.description);
  QPainter painter(&svg);
  paint(painter);
  painter.end();
  return with_fallback_fonts(bytes).toStdString();
}

}  // namespace underlap::viewer
