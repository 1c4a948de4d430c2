// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/viewer_settings.hpp"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>

namespace underlap::viewer {
namespace {

constexpr qsizetype kMostDocuments = 100;

}  // namespace

QSettings viewer_settings() { return QSettings(QSettings::IniFormat, QSettings::UserScope, "underlap", "viewer"); }

void keep_state(const QString& key, const QJsonObject& state) {
  QSettings settings = viewer_settings();
  QJsonObject kept = QJsonDocument::fromJson(settings.value("lanes").toByteArray()).object();
  QStringList order = settings.value("lanes_of").toStringList();
  order.removeAll(key);
  order.prepend(key);
  kept[key] = state;
  while (order.size() > kMostDocuments) kept.remove(order.takeLast());
  settings.setValue("lanes_of", order);
  settings.setValue("lanes", QJsonDocument(kept).toJson(QJsonDocument::Compact));
}

QJsonObject kept_state(const QString& key) {
  const QByteArray kept = viewer_settings().value("lanes").toByteArray();
  return QJsonDocument::fromJson(kept).object()[key].toObject();
}

void keep_open(const std::vector<Request>& requests) {
  QJsonArray open;
  for (const Request& request : requests)
    open.append(QJsonObject{{"path", QFileInfo(request.path).absoluteFilePath()},
                            {"baseline", request.compares() ? QFileInfo(request.baseline).absoluteFilePath() : ""},
                            {"forced", request.is_forced},
                            {"runs", QJsonArray::fromStringList(request.runs)}});
  viewer_settings().setValue("open", QJsonDocument(open).toJson(QJsonDocument::Compact));
}

std::vector<Request> kept_open() {
  std::vector<Request> requests;
  for (const QJsonValue& value : QJsonDocument::fromJson(viewer_settings().value("open").toByteArray()).array())
    requests.push_back({value["path"].toString(), value["baseline"].toString(), value["forced"].toBool(),
                        value["runs"].toVariant().toStringList()});
  return requests;
}

}  // namespace underlap::viewer
