// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QFontMetrics>
#include <QImage>
#include <QPainter>
#include <cmath>
#include <set>
#include <stdexcept>

#include "viewer/scene/scene.hpp"

namespace underlap::viewer::testing_support {

inline constexpr QSize kSize{1400, 300};

/// A trace and its picture.
struct Drawn {
  explicit Drawn(Trace of, analysis::Summary summary_of = {})
      : trace(std::move(of)),
        summary(std::move(summary_of)),
        timeline(trace, summary, 1),
        arrangement(timeline),
        scene(timeline, summary, arrangement) {
    state.ns_per_pixel = static_cast<double>(timeline.length_ns()) / (kSize.width() - Scene::kNames);
  }

  QImage image(double scale = 1, const Theme& theme = Theme::light()) const {
    QImage picture(kSize * scale, QImage::Format_RGB32);
    ImageSurface surface(picture, scale);
    scene.draw(surface, kSize, scale, state, Palette(theme), QApplication::font());
    return picture;
  }
  // What is drawn over the lanes, on a ground of one color.
  QImage over(QRgb ground = qRgb(255, 255, 255)) const {
    QImage picture(kSize, QImage::Format_RGB32);
    picture.fill(ground);
    QPainter painter(&picture);
    scene.draw_over(painter, kSize, state, Theme::light());
    painter.end();
    return picture;
  }
  // The column of that time in an image.
  int x_of(double ns, double scale = 1) const {
    return static_cast<int>(Scene::kNames * scale) +
           static_cast<int>(std::floor(scene.view_of(kSize, state, scale).x_of(ns)));
  }
  PlacedLane lane(const std::string& name) const {
    for (const PlacedLane& placed : scene.place(kSize, state))
      if (timeline.lanes()[placed.lane].name == name) return placed;
    throw std::logic_error(name);
  }

  Trace trace;
  analysis::Summary summary;
  Timeline timeline;
  LaneArrangement arrangement;
  Scene scene;
  SceneState state;
};

/// From top to bottom of a column.
inline std::set<QRgb> colors_at(const QImage& image, int x, int top, int bottom) {
  std::set<QRgb> colors;
  for (int y = top; y <= bottom; ++y) colors.insert(image.pixel(x, y));
  return colors;
}

/// Keeps what is written instead of writing it.
class Words : public ImageSurface {
 public:
  using ImageSurface::ImageSurface;
  void finish_text(const QFont&) override {}
  const std::vector<Label>& words() const { return labels_; }
};

inline std::vector<Label> words_of(const Drawn& drawn, const QFont& font = QApplication::font()) {
  QImage picture(kSize, QImage::Format_RGB32);
  Words surface(picture, 1);
  drawn.scene.draw(surface, kSize, 1, drawn.state, Palette(Theme::light()), font);
  return surface.words();
}

inline int width_of(const QString& text) { return QFontMetrics(QApplication::font()).horizontalAdvance(text); }

}  // namespace underlap::viewer::testing_support
