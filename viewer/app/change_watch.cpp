// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/change_watch.hpp"

#include <QFileInfo>
#include <QWidget>

namespace underlap::viewer {

ChangeWatch::ChangeWatch(QObject* parent) : QObject(parent) {
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, &ChangeWatch::hear_of);
}

void ChangeWatch::watch(QWidget* tab, const QStringList& files, const QDateTime& began) {
  forget(tab);
  files_[tab] = files;
  if (!files.isEmpty()) watcher_.addPaths(files);
  for (const QString& file : files)
    if (const QFileInfo now(file); !now.exists() || now.lastModified() > began) hear_of(file);
}

void ChangeWatch::forget(QWidget* tab) {
  const QStringList files = files_.take(tab);
  news_.remove(tab);
  for (const QString& file : files) {
    bool is_watched = false;
    for (const QStringList& others : files_) is_watched |= others.contains(file);
    if (!is_watched) watcher_.removePath(file);
  }
}

// A file that was replaced is watched no longer: its name is, again.
void ChangeWatch::hear_of(const QString& file) {
  const QFileInfo now(file);
  if (now.exists()) watcher_.addPath(file);
  const QString news = now.exists() ? tr("%1 has changed since it was read.").arg(now.fileName())
                                    : tr("%1 is no longer there; what was read of it stays.").arg(now.fileName());
  for (auto tab = files_.cbegin(); tab != files_.cend(); ++tab) {
    if (!tab.value().contains(file)) continue;
    news_[tab.key()] = news;
    emit changed(tab.key());
  }
}

}  // namespace underlap::viewer
