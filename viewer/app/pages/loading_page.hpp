// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace underlap::viewer {

/// A tab whose document is still being read: what is done, how much of it, and a way to end it.
class LoadingPage : public QWidget {
  Q_OBJECT

 public:
  explicit LoadingPage(const QString& path);

  /// As at first: what is read, and nothing done of it.
  void show_start();
  void show_progress(const QString& doing, double fraction);
  /// Shows why it could not be opened. With `offers_to_go_on`, offers to continue anyway.
  void show_failure(const QString& why, bool offers_to_go_on);

 signals:
  void cancelled();
  void go_on_wanted();

 private:
  QString path_;
  QLabel* text_;
  QProgressBar* bar_;
  QPushButton* cancel_;
  QPushButton* go_on_;
};

}  // namespace underlap::viewer
