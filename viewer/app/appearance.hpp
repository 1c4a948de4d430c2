// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>

#include "viewer/theme/theme.hpp"

class QWidget;

namespace underlap::viewer {

/// Gives all widgets of the application the colours of a theme.
void apply_look(const Theme&);

/// As much of a size as a window, and its frame, have room for on the screen that `on` is on.
QSize within_screen(const QWidget& on, const QSize& wanted);

}  // namespace underlap::viewer
