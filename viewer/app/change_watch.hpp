// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDateTime>
#include <QFileSystemWatcher>
#include <QHash>
#include <QObject>
#include <QStringList>

class QWidget;

namespace underlap::viewer {

/// Reports files that changed, grew, vanished or reappeared after they were read for a tab.
class ChangeWatch : public QObject {
  Q_OBJECT

 public:
  explicit ChangeWatch(QObject* parent = nullptr);

  /// Watches what a tab was read from; `began` is when reading it began.
  void watch(QWidget* tab, const QStringList& files, const QDateTime& began);
  void forget(QWidget* tab);
  /// What became of a tab's files since, in a sentence; empty where nothing did.
  QString news_of(QWidget* tab) const { return news_.value(tab); }

 signals:
  void changed(QWidget* tab);

 private:
  void hear_of(const QString& file);
  void look_for_returned(const QString& folder);

  QFileSystemWatcher watcher_;
  QHash<QWidget*, QStringList> files_;
  QHash<QWidget*, QString> news_;
};

}  // namespace underlap::viewer
