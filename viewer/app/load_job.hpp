// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <atomic>
#include <functional>
#include <thread>

#include "viewer/model/document.hpp"

namespace underlap::viewer {

/// What a tab is to show: a trace, a folder of traces, a run or a gate's report; a trace or runs against a baseline; or
/// how runs scale.
struct Request {
  QString path;
  QString baseline = {};   ///< empty: no comparison
  bool is_forced = false;  ///< compare even if the two sides did different work
  QStringList runs = {};   ///< of one matrix at several sizes; `path` is the first of them
  bool is_gate = false;    ///< judges `path` by the baseline; without it, only runs are judged, and traces compared

  bool compares() const { return !baseline.isEmpty(); }
  bool scales() const { return !runs.isEmpty(); }
  /// Whether it opens one thing, and sets nothing against another.
  bool opens() const { return !compares() && !scales(); }
  /// All that it names.
  QStringList paths() const { return scales() ? runs : compares() ? QStringList{baseline, path} : QStringList{path}; }
  friend bool operator==(const Request&, const Request&) = default;
};

/// File names in it have their links resolved, so that a file is opened only once under all of its names.
Request request_for(const QString& path, const QString& baseline = {}, bool is_forced = false);
Request scaling_request_for(const QStringList& runs, bool is_forced = false);

/// Opens something on its own thread, and reports progress to the window's thread. Deleting it cancels the reading and
/// waits for its end, which takes at most a fifth of a second.
class LoadJob : public QObject {
  Q_OBJECT

 public:
  /// What a job does, on its thread. Errors are exceptions.
  using Work = std::function<std::shared_ptr<const Document>(ReadingWatch&)>;

  LoadJob(QString path, Work work, QObject* parent = nullptr);
  ~LoadJob() override;

  void start();
  void cancel() { is_cancelled_ = true; }

  std::function<void(const QString&, double)> on_progress;  ///< what is done, and how much of it, 0 to 1
  std::function<void(std::shared_ptr<const TraceDocument>)> on_part;
  std::function<void(std::shared_ptr<const Document>)> on_done;
  std::function<void(const QString&)> on_failed;
  std::function<void(const QString&)> on_not_comparable;  ///< why; without it, that is a failure
  std::function<void()> on_cancelled;

 private:
  class Watch;

  void run();
  /// Calls `what` on the thread of the window, unless the job is gone by then.
  void post(std::function<void()> what);

  QString path_;
  Work work_;
  std::atomic<bool> is_cancelled_{false};
  std::thread thread_;
};

/// The work of doing what is asked.
LoadJob::Work work_for(const Request&);

}  // namespace underlap::viewer
