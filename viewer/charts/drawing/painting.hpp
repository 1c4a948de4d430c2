// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QRectF>
#include <QString>

namespace underlap::viewer {

/// The sizes of text on a chart, in units of the chart.
inline constexpr int kTitlePixels = 16;
inline constexpr int kTextPixels = 12;
inline constexpr int kSmallPixels = 11;

QFont chart_font(int pixels, bool is_bold = false);
double text_width(const QString&, int pixels);

/// One line of text in `box`, its end cut where it is longer.
void draw_sentence(QPainter&, const QRectF& box, const QString&, const QColor&, int pixels = kTextPixels,
                   bool is_bold = false);

/// One line of text in `box`, cut in its middle where it is longer: names differ at either end.
void draw_text(QPainter&, const QRectF& box, Qt::Alignment, const QString&, const QColor&, int pixels = kTextPixels,
               bool is_bold = false);

/// Patterns over a bar. They are drawn as lines and circles: files of SVG lose a brush with a texture, and those with a
/// pattern of Qt's are neither smooth nor read by every program.
void draw_hatching(QPainter&, const QRectF& bar, const QColor& stripe);
void draw_dots(QPainter&, const QRectF& bar, const QColor& stripe);

/// A line of `color` without caps.
void draw_line(QPainter&, const QPointF& from, const QPointF& to, const QColor&, double width = 1);

/// Black or white, whichever can be read on `background`.
QColor readable_on(const QColor& background);

/// "12.3", with about three significant digits; "-" for unknown values.
QString number_text(double value);

/// The same with its sign; a change of nothing has none.
QString signed_text(double value);

}  // namespace underlap::viewer
