// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QPointer>
#include <QString>
#include <QWidget>

namespace underlap::viewer {

struct KeyLine {
  QString keys;
  QString what;
};

/// Keys or mouse actions that belong together.
struct KeyGroup {
  QString title;
  QList<KeyLine> lines;
};

/// What the mouse does, and keys that only lists and tables take. Keys of the window are shortcuts of its actions.
QList<KeyGroup> mouse_groups();

/// Covers a window with a list of keys and mouse actions, until Esc, Enter or a click.
class KeysOverlay : public QWidget {
  Q_OBJECT

 public:
  KeysOverlay(const QList<KeyGroup>& groups, QWidget* window);
  ~KeysOverlay() override;

  const QList<KeyGroup>& groups() const { return groups_; }

 protected:
  bool event(QEvent*) override;
  bool eventFilter(QObject* watched, QEvent*) override;
  void paintEvent(QPaintEvent*) override;

 private:
  QList<KeyGroup> groups_;
  QPointer<QWidget> focused_;  ///< before, and again afterwards
};

}  // namespace underlap::viewer
