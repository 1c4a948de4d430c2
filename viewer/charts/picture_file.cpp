// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/picture_file.hpp"

#include <fmt/format.h>

#include <QBuffer>
#include <QByteArray>
#include <QFontInfo>
#include <QImage>
#include <QPainter>
#include <QSvgGenerator>
#include <stdexcept>

namespace underlap::viewer {
namespace {

constexpr double kMostPixels = 100e6;

std::string text_of(const QByteArray& bytes) { return {bytes.constData(), static_cast<std::size_t>(bytes.size())}; }

// Qt names one family, as this machine calls it. Verdana is as wide as DejaVu Sans, so that texts fit elsewhere too.
QByteArray with_fallback_fonts(QByteArray svg) {
  const QString resolved = QFontInfo(QFont()).family().toHtmlEscaped();
  const QString named = QFont().family().toHtmlEscaped();
  return svg.replace(QString("font-family=\"%1\"").arg(named).toUtf8(),
                     QString("font-family=\"%1, Verdana, sans-serif\"").arg(resolved).toUtf8());
}

}  // namespace

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
  return text_of(bytes);
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
  return text_of(with_fallback_fonts(bytes));
}

}  // namespace underlap::viewer
