// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/example_job.hpp"

#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>

#include "platform/atomic_file.hpp"

// A macro with names of the global namespace.
static void make_example_available() { Q_INIT_RESOURCE(example); }

namespace underlap::viewer {
namespace {

// Empty if there is no such file.
QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

QString write_example_job() {
  make_example_available();
  const QString from = ":/example", to = QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + "/example";
  QDirIterator files(from, QDir::Files, QDirIterator::Subdirectories);
  while (files.hasNext()) {
    const QString file = files.next(), copy = to + file.mid(from.size());
    const QByteArray bytes = bytes_of(file);
    if (bytes_of(copy) == bytes) continue;  // it may be open
    make_folder(QFileInfo(copy).path().toStdString());
    write_file_atomically(copy.toStdString(), {bytes.data(), static_cast<std::size_t>(bytes.size())});
  }
  return to;
}

}  // namespace underlap::viewer
