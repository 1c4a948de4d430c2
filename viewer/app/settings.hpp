// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QJsonObject>
#include <QSettings>
#include <QString>

namespace underlap::viewer {

/// What the viewer keeps from one time to the next: window, theme, recent files, lanes.
QSettings viewer_settings();

/// How a person arranged the lanes of a document: kept for the last hundred.
void keep_arrangement(const QString& path, const QJsonObject& state);
QJsonObject kept_arrangement(const QString& path);

}  // namespace underlap::viewer
