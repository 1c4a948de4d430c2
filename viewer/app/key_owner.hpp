// SPDX-License-Identifier: Apache-2.0
#pragma once

class QKeyEvent;
class QWidget;

namespace underlap::viewer {

/// Whether a widget that has the focus takes a key itself, so that no shortcut of one key may have it: an arrow in a
/// table, any letter in a field. Keys with Ctrl or Alt, and function keys, are always shortcuts.
bool takes_key(const QWidget&, const QKeyEvent&);

}  // namespace underlap::viewer
