// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/settings.hpp"

#include <QFileInfo>
#include <QJsonDocument>

namespace underlap::viewer {
namespace {

constexpr qsizetype kMostDocuments = 100;

}  // namespace

QSettings viewer_settings() { return QSettings(QSettings::IniFormat, QSettings::UserScope, "underlap", "viewer"); }

void keep_arrangement(const QString& path, const QJsonObject& state) {
  QSettings settings = viewer_settings();
  QJsonObject kept = QJsonDocument::fromJson(settings.value("lanes").toByteArray()).object();
  QStringList order = settings.value("lanes_of").toStringList();
  const QString key = QFileInfo(path).absoluteFilePath();
  order.removeAll(key);
  order.prepend(key);
  kept[key] = state;
  while (order.size() > kMostDocuments) kept.remove(order.takeLast());
  settings.setValue("lanes_of", order);
  settings.setValue("lanes", QJsonDocument(kept).toJson(QJsonDocument::Compact));
}

QJsonObject kept_arrangement(const QString& path) {
  const QByteArray kept = viewer_settings().value("lanes").toByteArray();
  return QJsonDocument::fromJson(kept).object()[QFileInfo(path).absoluteFilePath()].toObject();
}

}  // namespace underlap::viewer
