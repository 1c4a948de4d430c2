// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>

class QLabel;
class QPushButton;

namespace underlap::viewer {

/// A line above a tab with a message for the user and a button for the offered action.
class NoteBar : public QFrame {
  Q_OBJECT

 public:
  explicit NoteBar(QWidget* parent = nullptr);

  /// Shows a note, and a button with what is offered; hides itself where the note is empty.
  void show_note(const QString& note, const QString& offer = {});
  QString note() const;

 signals:
  void taken_up();  ///< what was offered

 private:
  QLabel* text_;
  QPushButton* offer_;
};

}  // namespace underlap::viewer
