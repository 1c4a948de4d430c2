// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QWidget>

class QAction;
class QGridLayout;

namespace underlap::viewer {

/// What the window shows first: buttons that open something, an example, the recent files and the main keys.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  /// `buttons` do what these actions do, in their order; `keys` are listed with their shortcuts.
  StartPage(const QList<QAction*>& buttons, const QList<QAction*>& keys);

 signals:
  void open_wanted(const QString& path);
  void example_wanted();
  void open_again_wanted();

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_buttons(const QList<QAction*>& actions);
  QWidget* make_example();
  QWidget* make_recent();
  void fill_recent();

  QWidget* recent_;
  QGridLayout* recent_rows_;
};

}  // namespace underlap::viewer
