// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QImage>
#include <QRect>
#include <QRgb>
#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

class QPainter;

namespace underlap::viewer {

/// A line of text in a picture: cut where it does not fit.
struct Label {
  QRect where;
  QString text;
  QRgb color = 0;
  Qt::Alignment alignment = Qt::AlignLeft | Qt::AlignVCenter;
};

/// The texture of a color, for users who cannot distinguish the color from others.
enum class Texture : std::uint8_t {
  plain,
  hatched,  ///< of what is exposed: it waits
  dotted    ///< of what is exposed: whether it waits is not known
};

/// One column of pixels of a row: its base, and over its lower part what is exposed. Where two modes communicate at
/// once the upper half of either is the second one's.
struct Column {
  QRgb base = 0;
  QRgb upper_base = 0;
  QRgb exposed = 0;
  QRgb upper = 0;                    ///< of what is exposed
  std::uint16_t exposed_height = 0;  ///< pixels
  Texture texture = Texture::plain;  ///< of what is exposed

  friend bool operator==(const Column&, const Column&) = default;
};

/// Where lanes are drawn: pixels of an image, or shapes of a vector file. Coordinates are its pixels. One thread each.
class Surface {
 public:
  virtual ~Surface() = default;
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  virtual void fill(const QRect&, QRgb) = 0;
  /// Draws a row: a column for each pixel of its width.
  virtual void draw_columns(const QRect&, const std::vector<Column>&) = 0;
  void write(Label label) { labels_.push_back(std::move(label)); }
  /// Writes no label that reaches below there.
  void drop_labels_below(int y);
  /// Writes all labels. Call once, when everything else is drawn. Labels that overlap are not moved.
  virtual void finish_text(const QFont&) = 0;

  /// Another surface of the same picture, for a second thread that draws other parts of it meanwhile; null where one
  /// thread has to draw all.
  virtual std::unique_ptr<Surface> for_second_thread() const { return nullptr; }
  /// Takes over the labels that `other` was to write.
  void take_labels(Surface& other);

 protected:
  Surface() = default;
  void draw_labels(QPainter&, const QFont&);

  std::vector<Label> labels_;
};

/// Draws into an image of format RGB32, line by line and without a painter: a frame has a hundred thousand rectangles.
class ImageSurface : public Surface {
 public:
  /// `scale` of its pixels are one of a plain screen.
  ImageSurface(QImage& image, double scale);

  void fill(const QRect&, QRgb) override;
  void draw_columns(const QRect&, const std::vector<Column>&) override;
  void finish_text(const QFont&) override;
  std::unique_ptr<Surface> for_second_thread() const override;

 private:
  ImageSurface(QImage& image, uchar* bits, double scale);
  QRgb* line(int y) { return reinterpret_cast<QRgb*>(bits_ + y * stride_); }

  QImage& image_;
  uchar* bits_;
  qsizetype stride_;
  double scale_;
  int period_;  ///< of textures, pixels
  int width_;   ///< of a line of theirs
};

/// Draws with a painter, as into SVG.
class PainterSurface : public Surface {
 public:
  explicit PainterSurface(QPainter& painter) : painter_(painter) {}

  void fill(const QRect&, QRgb) override;
  void draw_columns(const QRect&, const std::vector<Column>&) override;
  void finish_text(const QFont&) override;

 private:
  void hatch(const QRect&, QRgb);
  void dot(const QRect&, QRgb);

  QPainter& painter_;
};

}  // namespace underlap::viewer
