// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/appearance.hpp"

#include <QApplication>
#include <QPalette>
#include <QScreen>
#include <QStyleFactory>
#include <QWidget>

namespace underlap::viewer {

void apply_look(const Theme& theme) {
  QPalette palette;
  palette.setColor(QPalette::Window, theme.surface);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.background);
  palette.setColor(QPalette::AlternateBase, theme.surface);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.dim_text);
  palette.setColor(QPalette::Button, mixed(theme.grid, theme.surface, 0.5));
  palette.setColor(QPalette::ButtonText, theme.text);
  // Edges, such as the line below tabs: of a palette without them they are white and black.
  palette.setColor(QPalette::Light, theme.is_dark ? theme.grid : theme.background);
  palette.setColor(QPalette::Midlight, mixed(theme.surface, theme.grid, 0.5));
  palette.setColor(QPalette::Mid, theme.grid);
  palette.setColor(QPalette::Dark, mixed(theme.dim_text, theme.grid, 0.3));
  palette.setColor(QPalette::Highlight, theme.accent);
  palette.setColor(QPalette::HighlightedText, theme.is_dark ? theme.background : QColor(Qt::white));
  palette.setColor(QPalette::ToolTipBase, theme.surface);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Link, theme.accent);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, theme.dim_text);
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  QApplication::setPalette(palette);
}

QSize within_screen(const QWidget& on, const QSize& wanted) {
  constexpr QSize kFrame(16, 40);
  return wanted.boundedTo(on.screen()->availableGeometry().size() - kFrame);
}

}  // namespace underlap::viewer
