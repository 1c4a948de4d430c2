// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/change_watch.hpp"

#include <QFileInfo>
#include <QWidget>

namespace underlap::viewer {

ChangeWatch::ChangeWatch(QObject* parent) : QObject(parent) {
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, &ChangeWatch::hear_of);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, &ChangeWatch::look_for_returned);
}

void ChangeWatch::watch(QWidget* tab, const QStringList& files, const QDateTime& began) {
  forget(tab);
  files_[tab] = files;
  for (const QString& file : files) {
    watcher_.addPath(file);
    watcher_.addPath(QFileInfo(file).absolutePath());
  }
  for (const QString& file : files)
    if (const QFileInfo now(file); !now.exists() || now.lastModified() > began) hear_of(file);
}

void ChangeWatch::forget(QWidget* tab) {
  const QStringList files = files_.take(tab);
  news_.remove(tab);
  QStringList needed;
  for (const QStringList& others : files_)
    for (const QString& file : others) needed << file << QFileInfo(file).absolutePath();
  for (const QString& file : files)
    for (const QString& path : {file, QFileInfo(file).absolutePath()})
      if (!needed.contains(path)) watcher_.removePath(path);
}

// A file that vanished is no longer watched; its folder reports when a file of its name appears again.
void ChangeWatch::look_for_returned(const QString& folder) {
  const QStringList watched = watcher_.files();
  QStringList returned;
  for (const QStringList& files : files_)
    for (const QString& file : files)
      if (!watched.contains(file) && !returned.contains(file) && QFileInfo(file).absolutePath() == folder &&
          QFileInfo::exists(file))
        returned << file;
  for (const QString& file : returned) hear_of(file);
}

// A file that was replaced is watched no longer: its name is, again.
void ChangeWatch::hear_of(const QString& file) {
  const QFileInfo now(file);
  if (now.exists()) watcher_.addPath(file);
  const QString news = now.exists() ? tr("%1 changed after it was read.").arg(now.fileName())
                                    : tr("%1 no longer exists; the data already read is kept.").arg(now.fileName());
  for (auto tab = files_.cbegin(); tab != files_.cend(); ++tab) {
    if (!tab.value().contains(file)) continue;
    news_[tab.key()] = news;
    emit changed(tab.key());
  }
}

}  // namespace underlap::viewer
