// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QJsonObject>
#include <QSettings>
#include <QString>
#include <QStringList>

#include "viewer/app/load_job.hpp"

namespace underlap::viewer {

/// What the viewer keeps from one time to the next: window, theme, recent files, what was open, and how.
QSettings viewer_settings();

/// How a person left what a tab showed: its lanes, and the part of it that was seen. Kept for the last hundred keys.
void keep_state(const QString& key, const QJsonObject& state);
QJsonObject kept_state(const QString& key);

/// The file with the mode map of a trace; empty: it has none. Kept for the last hundred traces.
void keep_mode_map(const QString& trace, const QString& file);
QString kept_mode_map(const QString& trace);

/// The files and folders that were opened last, the newest first; also those that no longer exist.
QStringList recent_paths();
void add_recent(const QString& path);
void remove_recent(const QString& path);

/// What was open when the last window closed.
void keep_open(const std::vector<Request>& requests);
std::vector<Request> kept_open();

}  // namespace underlap::viewer
