// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>
#include <QString>
#include <QVBoxLayout>
#include <string_view>

namespace underlap::viewer {

inline QString text(std::string_view string) { return QString::fromUtf8(string); }

/// A label that shows `text` as it is, also where a name from a file looks like HTML, which a QLabel would follow. It
/// belongs to the layout that it is put into.
inline QLabel* plain_label(const QString& text = {}) {
  auto* label = new QLabel(text);
  label->setTextFormat(Qt::PlainText);
  return label;
}

/// The same for sentences, which wrap and can be copied.
inline QLabel* sentence_label(const QString& text = {}) {
  QLabel* label = plain_label(text);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

/// `text` as a tooltip: only lines of more than 90 characters are broken, between words where there are any. Names from
/// files do not act as HTML.
QString tooltip_text(const QString& text);

/// A layout from top to bottom; -1: spacing as the style has it.
inline QVBoxLayout* column_of(QWidget* parent, int margin = 0, int spacing = -1) {
  auto* layout = new QVBoxLayout(parent);
  layout->setContentsMargins(margin, margin, margin, margin);
  layout->setSpacing(spacing);
  return layout;
}

}  // namespace underlap::viewer
