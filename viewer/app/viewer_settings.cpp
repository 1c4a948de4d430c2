// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/viewer_settings.hpp"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>

namespace underlap::viewer {
namespace {

constexpr qsizetype kMostDocuments = 100;
constexpr qsizetype kMostRecent = 12;

// Keeps a value of a document. `what` is the name of the setting with the values of all documents.
void keep(const QString& what, const QString& key, const QJsonValue& value) {
  QSettings settings = viewer_settings();
  QJsonObject kept = QJsonDocument::fromJson(settings.value(what).toByteArray()).object();
  QStringList order = settings.value(what + "_of").toStringList();
  order.removeAll(key);
  order.prepend(key);
  kept[key] = value;
  while (order.size() > kMostDocuments) kept.remove(order.takeLast());
  settings.setValue(what + "_of", order);
  settings.setValue(what, QJsonDocument(kept).toJson(QJsonDocument::Compact));
}

QJsonValue kept(const QString& what, const QString& key) {
  return QJsonDocument::fromJson(viewer_settings().value(what).toByteArray()).object()[key];
}

}  // namespace

QSettings viewer_settings() { return QSettings(QSettings::IniFormat, QSettings::UserScope, "underlap", "viewer"); }

void keep_state(const QString& key, const QJsonObject& state) { keep("lanes", key, state); }

QJsonObject kept_state(const QString& key) { return kept("lanes", key).toObject(); }

void keep_mode_map(const QString& trace, const QString& file) {
  keep("mode_maps", QFileInfo(trace).absoluteFilePath(), file);
}

QString kept_mode_map(const QString& trace) {
  return kept("mode_maps", QFileInfo(trace).absoluteFilePath()).toString();
}

QStringList recent_paths() { return viewer_settings().value("recent").toStringList(); }

void add_recent(const QString& path) {
  QStringList recent = recent_paths();
  recent.prepend(QFileInfo(path).absoluteFilePath());
  recent.removeDuplicates();
  viewer_settings().setValue("recent", recent.mid(0, kMostRecent));
}

void remove_recent(const QString& path) {
  QStringList recent = recent_paths();
  recent.removeAll(path);
  viewer_settings().setValue("recent", recent);
}

void keep_open(const std::vector<Request>& requests) {
  QJsonArray open;
  for (const Request& request : requests)
    open.append(QJsonObject{{"path", QFileInfo(request.path).absoluteFilePath()},
                            {"baseline", request.compares() ? QFileInfo(request.baseline).absoluteFilePath() : ""},
                            {"forced", request.is_forced},
                            {"runs", QJsonArray::fromStringList(request.runs)},
                            {"gate", request.is_gate}});
  viewer_settings().setValue("open", QJsonDocument(open).toJson(QJsonDocument::Compact));
}

std::vector<Request> kept_open() {
  std::vector<Request> requests;
  for (const QJsonValue& value : QJsonDocument::fromJson(viewer_settings().value("open").toByteArray()).array())
    requests.push_back({value["path"].toString(), value["baseline"].toString(), value["forced"].toBool(),
                        value["runs"].toVariant().toStringList(), value["gate"].toBool()});
  return requests;
}

}  // namespace underlap::viewer
