// SPDX-License-Identifier: Apache-2.0
#include "viewer/lanes/surface.hpp"

#include <QFontMetrics>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "viewer/lanes/palette.hpp"

namespace underlap::viewer {
namespace {

constexpr int kPeriod = 6;           // of textures, pixels of a plain screen
constexpr int kWidth = 2;            // of a line of them
constexpr int kLeastCharacters = 2;  // of a text that is cut

QRgb faint(QRgb exposed, QRgb base) { return mixed_rgb(exposed, base, 0.68F); }

int scaled(int pixels, double scale) { return std::max(1, static_cast<int>(std::lround(pixels * scale))); }

bool is_faint(Texture texture, int x, int y, int period, int width) {
  if (texture == Texture::hatched) return (x + y) % period < width;
  return texture == Texture::dotted && x % period < width && y % period < width;
}

}  // namespace

void Surface::draw_labels(QPainter& painter, const QFont& font) {
  painter.setFont(font);
  const QFontMetrics metrics(font);
  QRgb pen = 0;
  for (const Label& label : labels_) {
    if (label.color != pen || &label == labels_.data()) painter.setPen(QColor(pen = label.color));
    // Cutting costs more than drawing: only what may not fit is measured, and cut at a character of mean width.
    const int width = label.where.width();
    QString text = label.text;
    if (text.size() * metrics.averageCharWidth() > width / 2 && metrics.horizontalAdvance(text) > width) {
      const int fitting = std::max(width / std::max(metrics.averageCharWidth(), 1) - 1, 0);
      text.truncate(fitting);
      while (!text.isEmpty() && metrics.horizontalAdvance(text) > width) text.chop(1);
      if (text.size() < kLeastCharacters) continue;
      text.back() = QChar(0x2026);
    }
    if (label.alignment == (Qt::AlignLeft | Qt::AlignVCenter))
      painter.drawText(label.where.left(),
                       label.where.top() + (label.where.height() + metrics.ascent() - metrics.descent()) / 2, text);
    else
      painter.drawText(label.where, static_cast<int>(label.alignment), text);
  }
  labels_.clear();
}

void Surface::drop_labels_below(int y) {
  std::erase_if(labels_, [y](const Label& label) { return label.where.bottom() >= y; });
}

void Surface::take_labels(Surface& other) {
  std::ranges::move(other.labels_, std::back_inserter(labels_));
  other.labels_.clear();
}

ImageSurface::ImageSurface(QImage& image, double scale) : ImageSurface(image, image.bits(), scale) {}

ImageSurface::ImageSurface(QImage& image, uchar* bits, double scale)
    : image_(image),
      bits_(bits),
      stride_(image.bytesPerLine()),
      scale_(scale),
      period_(scaled(kPeriod, scale)),
      width_(scaled(kWidth, scale)) {}

void ImageSurface::fill(const QRect& rect, QRgb color) {
  const QRect inside = rect & image_.rect();
  if (inside.isEmpty()) return;
  for (int y = inside.top(); y <= inside.bottom(); ++y)
    std::fill(line(y) + inside.left(), line(y) + inside.right() + 1, color);
}

// Lines above everything that is exposed are all alike, and so are those of the other half.
void ImageSurface::draw_columns(const QRect& rect, const std::vector<Column>& columns) {
  const QRect inside = rect & image_.rect();
  if (inside.isEmpty()) return;
  const int highest = std::ranges::max_element(columns, {}, &Column::exposed_height)->exposed_height;
  std::array<const QRgb*, 2> plain{};  // a line of the lower half, and of the upper one
  for (int y = inside.top(); y <= inside.bottom(); ++y) {
    QRgb* pixels = line(y);
    const int from_below = rect.bottom() + 1 - y;
    const bool is_upper = 2 * from_below > rect.height();
    if (from_below > highest) {
      if (const QRgb* alike = std::exchange(plain[is_upper ? 1 : 0], pixels)) {
        std::copy_n(alike + inside.left(), inside.width(), pixels + inside.left());
        continue;
      }
    }
    for (int x = inside.left(); x <= inside.right(); ++x) {
      const Column& column = columns[static_cast<std::size_t>(x - rect.left())];
      if (column.exposed_height < from_below) {
        pixels[x] = is_upper ? column.upper_base : column.base;
        continue;
      }
      QRgb color = 2 * from_below > column.exposed_height ? column.upper : column.exposed;
      if (is_faint(column.texture, x, y, period_, width_)) color = faint(color, column.base);
      pixels[x] = color;
    }
  }
}

std::unique_ptr<Surface> ImageSurface::for_second_thread() const {
  return std::unique_ptr<Surface>(new ImageSurface(image_, bits_, scale_));
}

void ImageSurface::finish_text(const QFont& font) {
  QPainter painter(&image_);
  draw_labels(painter, font);
}

void PainterSurface::fill(const QRect& rect, QRgb color) { painter_.fillRect(rect, QColor(color)); }

// Columns that are alike become one rectangle.
void PainterSurface::draw_columns(const QRect& rect, const std::vector<Column>& columns) {
  for (std::size_t from = 0, to = 0; from < columns.size(); from = to) {
    while (to < columns.size() && columns[to] == columns[from]) ++to;
    const Column& column = columns[from];
    const QRect all(rect.left() + static_cast<int>(from), rect.top(), static_cast<int>(to - from), rect.height());
    painter_.fillRect(all, QColor(column.base));
    const QRect upper_half(all.left(), all.top(), all.width(), all.height() - all.height() / 2);
    if (column.upper_base != column.base) painter_.fillRect(upper_half, QColor(column.upper_base));
    if (column.exposed_height == 0) continue;
    const QRect exposed = all.adjusted(0, rect.height() - column.exposed_height, 0, 0);
    painter_.fillRect(exposed, QColor(column.exposed));
    const QRect upper(exposed.left(), exposed.top(), exposed.width(), exposed.height() - exposed.height() / 2);
    if (column.upper != column.exposed) painter_.fillRect(upper, QColor(column.upper));
    if (column.texture == Texture::hatched) hatch(exposed, faint(column.exposed, column.base));
    if (column.texture == Texture::dotted) dot(exposed, faint(column.exposed, column.base));
  }
}

void PainterSurface::hatch(const QRect& rect, QRgb color) {
  painter_.save();
  painter_.setClipRect(rect);
  painter_.setPen(QPen(QColor(color), kWidth));
  const int slant = rect.height();
  for (int x = rect.left() - rect.left() % kPeriod - kPeriod; x < rect.right() + slant; x += kPeriod)
    painter_.drawLine(x, rect.top(), x - slant, rect.bottom());
  painter_.restore();
}

// A line of dots for each row of them.
void PainterSurface::dot(const QRect& rect, QRgb color) {
  painter_.save();
  painter_.setClipRect(rect);
  QPen pen(QColor(color), kWidth, Qt::CustomDashLine, Qt::FlatCap);
  pen.setDashPattern({1, 1.0 * kPeriod / kWidth - 1});  // in widths
  painter_.setPen(pen);
  for (int y = rect.top() + kWidth; y <= rect.bottom(); y += kPeriod)
    painter_.drawLine(rect.left() - rect.left() % kPeriod, y, rect.right() + 1, y);
  painter_.restore();
}

void PainterSurface::finish_text(const QFont& font) { draw_labels(painter_, font); }

}  // namespace underlap::viewer
