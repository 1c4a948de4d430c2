// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>
#include <QString>

namespace underlap::viewer {

/// A label that shows `text` as it is, also where a name from a file looks like HTML, which a QLabel would follow. It
/// belongs to the layout that it is put into.
inline QLabel* plain_label(const QString& text = {}) {
  auto* label = new QLabel(text);
  label->setTextFormat(Qt::PlainText);
  return label;
}

}  // namespace underlap::viewer
