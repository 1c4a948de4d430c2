// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>

class QLabel;
class QPushButton;

namespace underlap::viewer {

/// A line above a tab that says what a person should know of it, and offers to read it again.
class NoteBar : public QFrame {
  Q_OBJECT

 public:
  explicit NoteBar(QWidget* parent = nullptr);

  /// Shows a note; hides itself where that is empty.
  void show_note(const QString& note);
  QString note() const;

 signals:
  void read_again_wanted();

 private:
  QLabel* text_;
};

}  // namespace underlap::viewer
