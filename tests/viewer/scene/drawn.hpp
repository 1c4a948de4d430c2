// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QFontMetrics>
#include <QImage>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "viewer/scene/scene.hpp"

namespace underlap::viewer::testing_support {

inline constexpr QSize kSize{1400, 300};

/// A trace and its picture.
struct Drawn {
  explicit Drawn(const Trace& trace, analysis::Summary of = {})
      : summary(std::move(of)),
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
  PlacedLane lane(const std::string& name) const {
    for (const PlacedLane& placed : scene.place(kSize, state))
      if (timeline.lanes()[placed.lane].name == name) return placed;
    throw std::logic_error(name);
  }

  analysis::Summary summary;
  Timeline timeline;
  LaneArrangement arrangement;
  Scene scene;
  SceneState state;
};

/// Keeps what is written instead of writing it.
class Words : public ImageSurface {
 public:
  using ImageSurface::ImageSurface;
  void finish_text(const QFont&) override {}
  const std::vector<Label>& words() const { return labels_; }
};

inline std::vector<Label> words_of(const Drawn& drawn, const SceneState& state) {
  QImage picture(kSize, QImage::Format_RGB32);
  Words surface(picture, 1);
  drawn.scene.draw(surface, kSize, 1, state, Palette(Theme::light()), QApplication::font());
  return surface.words();
}

inline int width_of(const QString& text) { return QFontMetrics(QApplication::font()).horizontalAdvance(text); }

}  // namespace underlap::viewer::testing_support
