// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>
#include <QList>

class QAction;
class QLineEdit;
class QListWidget;

namespace underlap::viewer {

/// Finds an action by any part of its words, and does it.
class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(const QList<QAction*>& actions, QWidget* parent);

  QLineEdit* words() { return words_; }
  /// The texts of the actions that fit, in the order in which they are shown.
  QStringList shown() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void show_fitting(const QString& words);
  void do_current();

  QList<QAction*> actions_;
  QLineEdit* words_;
  QListWidget* list_;
};

/// "Zoom in" of "Zoom &in".
QString plain_text(const QAction& action);

/// All shortcuts of an action, as this desktop writes them.
QString keys_text(const QAction& action);

}  // namespace underlap::viewer
