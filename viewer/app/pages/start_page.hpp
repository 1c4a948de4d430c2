// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

namespace underlap::viewer {

/// What the window shows first: how to open something, and what was open before.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  StartPage();

 signals:
  void open_wanted(const QString& path);
  void trace_wanted();
  void folder_wanted();
  void open_again_wanted();
};

}  // namespace underlap::viewer
