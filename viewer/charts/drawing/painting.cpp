// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/drawing/painting.hpp"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

namespace underlap::viewer {
namespace {

constexpr double kStripeDistance = 5;

// As WCAG 2 has it, its curve simplified.
double luminance(const QColor& color) {
  return 0.2126 * std::pow(color.redF(), 2.2) + 0.7152 * std::pow(color.greenF(), 2.2) +
         0.0722 * std::pow(color.blueF(), 2.2);
}

int digits_of(double value) {
  const double size = std::abs(value);
  return size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
}

}  // namespace

QFont chart_font(int pixels, bool is_bold) {
  QFont font;
  font.setPixelSize(pixels);
  font.setBold(is_bold);
  return font;
}

double text_width(const QString& text, int pixels) { return QFontMetricsF(chart_font(pixels)).horizontalAdvance(text); }

void draw_sentence(QPainter& painter, const QRectF& box, const QString& text, const QColor& color, int pixels,
                   bool is_bold) {
  const QFontMetricsF metrics(chart_font(pixels, is_bold));
  draw_text(painter, box, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(text, Qt::ElideRight, box.width()),
            color, pixels, is_bold);
}

void draw_text(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text, const QColor& color,
               int pixels, bool is_bold) {
  const QFont font = chart_font(pixels, is_bold);
  // A hair wider than the text: rounding must not cut what fits.
  const QString shown = QFontMetricsF(font).elidedText(text, Qt::ElideMiddle, box.width() + 0.5);
  painter.setFont(font);
  painter.setPen(color);
  painter.drawText(box, static_cast<int>(alignment) | Qt::TextSingleLine | Qt::TextDontClip, shown);
}

// Lines from bottom left to top right, each cut at the bar's edges by itself: QSvgGenerator knows no clipping.
void draw_hatching(QPainter& painter, const QRectF& bar, const QColor& stripe) {
  painter.setPen(QPen(stripe, 1.2));
  // The pattern is aligned to the whole chart and not to each bar, so that it continues across adjacent bars.
  const double first = std::ceil((bar.left() + bar.top()) / kStripeDistance) * kStripeDistance;
  for (double sum = first; sum < bar.right() + bar.bottom(); sum += kStripeDistance) {
    const double left = std::max(bar.left(), sum - bar.bottom());
    const double right = std::min(bar.right(), sum - bar.top());
    if (left < right) painter.drawLine(QPointF(left, sum - left), QPointF(right, sum - right));
  }
}

void draw_dots(QPainter& painter, const QRectF& bar, const QColor& stripe) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(stripe);
  for (double y = bar.top() + 3; y < bar.bottom() - 1; y += kStripeDistance)
    for (double x = bar.left() + 3; x < bar.right() - 1; x += kStripeDistance) painter.drawEllipse({x, y}, 0.9, 0.9);
}

void draw_line(QPainter& painter, const QPointF& from, const QPointF& to, const QColor& color, double width) {
  // Upright and level lines are sharp, and all as wide.
  const bool is_slanted = from.x() != to.x() && from.y() != to.y();
  painter.setRenderHint(QPainter::Antialiasing, is_slanted);
  painter.setPen(QPen(color, is_slanted ? width : std::max(1.0, std::round(width)), Qt::SolidLine, Qt::FlatCap));
  painter.drawLine(from, to);
  painter.setRenderHint(QPainter::Antialiasing);
}

QColor readable_on(const QColor& background) {
  return luminance(background) > 0.179 ? QColor(0x10, 0x12, 0x15) : QColor(0xf6, 0xf7, 0xf8);
}

QString number_text(double value) { return QString::number(value, 'f', value == 0 ? 0 : digits_of(value)); }

QString signed_text(double value) { return (value > 0 ? "+" : "") + number_text(value); }

}  // namespace underlap::viewer
