// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/load_job.hpp"

#include <fmt/format.h>

#include <QFileInfo>
#include <new>

#include "profiler/gate/named_runs.hpp"
#include "viewer/app/viewer_settings.hpp"
#include "viewer/model/window_text.hpp"

namespace underlap::viewer {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPart{250};
constexpr int kLaterParts = 4;  // times as long until the next: what a part takes grows with what was read
constexpr std::size_t kLargePart = 1'000'000;  // slices: its copy takes memory that the whole trace needs soon

}  // namespace

// Receives the progress of reading, on the job's thread.
class LoadJob::Watch : public ReadingWatch {
 public:
  explicit Watch(LoadJob& job) : job_(job) {}

  void say(const std::string& what) override {
    doing_ = QString::fromStdString(what);
    report();
  }

  void on_progress(double fraction) override {
    fraction_ = fraction;
    const auto now = steady_clock::now();
    if (fraction < 1 && now - reported_at_ < milliseconds(50)) return;
    reported_at_ = now;
    report();
  }

  bool is_cancelled() const override { return job_.is_cancelled_; }

  std::optional<milliseconds> pause_between_parts() const override {
    if (!job_.on_part || has_large_part_ || steady_clock::now() - began_ < next_part_) return std::nullopt;
    return milliseconds(0);
  }

  void on_part(const Trace& so_far) override {
    if (so_far.size() == 0) return;
    next_part_ = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_) * kLaterParts;
    has_large_part_ = so_far.size() >= kLargePart;
    std::shared_ptr<const TraceDocument> part = part_of(job_.path_.toStdString(), so_far);
    job_.post([job = &job_, part] { job->on_part(part); });
  }

 private:
  void report() {
    job_.post([job = &job_, doing = doing_, fraction = fraction_] {
      if (job->on_progress) job->on_progress(doing, fraction);
    });
  }

  LoadJob& job_;
  QString doing_;
  double fraction_ = 0;
  steady_clock::time_point reported_at_{};
  steady_clock::time_point began_ = steady_clock::now();
  milliseconds next_part_ = kFirstPart;
  bool has_large_part_ = false;
};

LoadJob::LoadJob(QString path, Work work, QObject* parent)
    : QObject(parent), path_(std::move(path)), work_(std::move(work)) {}

LoadJob::~LoadJob() {
  cancel();
  if (thread_.joinable()) thread_.join();
}

void LoadJob::start() {
  thread_ = std::thread([this] { run(); });
}

void LoadJob::post(std::function<void()> what) {
  QMetaObject::invokeMethod(this, std::move(what), Qt::QueuedConnection);
}

void LoadJob::run() {
  try {
    Watch watch(*this);
    std::shared_ptr<const Document> document = work_(watch);
    post([this, document] { on_done(document); });
  } catch (const Cancelled&) {
    post([this] { on_cancelled(); });
  } catch (const analysis::NotComparable& error) {
    post([this, why = QString::fromStdString(error.reason)] {
      (on_not_comparable ? on_not_comparable : on_failed)(why);
    });
  } catch (const std::bad_alloc&) {
    post([this] { on_failed(tr("%1: not enough memory").arg(path_)); });
  } catch (const std::exception& error) {
    post([this, what = QString::fromStdString(window_text(error.what()))] { on_failed(what); });
  }
}

namespace {

// With the mode map that is kept for the trace. One that cannot be read leaves the trace without it.
std::shared_ptr<const TraceDocument> open_mapped_trace(const std::string& path, ReadingWatch& watch) {
  const std::string file = kept_mode_map(QString::fromStdString(path)).toStdString();
  attribution::ModeMap mode_map;
  std::string fault;
  try {
    if (!file.empty()) mode_map = attribution::read_mode_map(file);
  } catch (const std::exception& error) {
    fault = error.what();
  }
  std::shared_ptr<TraceDocument> document = open_trace(path, watch, std::move(mode_map));
  document->mode_map_fault = std::move(fault);
  if (!file.empty()) document->files.push_back(file);
  return document;
}

std::shared_ptr<const Document> open_document(const std::string& path, ReadingWatch& watch) {
  if (kind_of(path) == DocumentKind::run) return open_run(path);
  if (kind_of(path) == DocumentKind::gate) return open_gate(path);
  return open_mapped_trace(path, watch);
}

std::shared_ptr<const Document> compare(const std::string& from, const std::string& to, bool is_forced,
                                        ReadingWatch& watch) {
  const bool has_runs = gate::holds_runs(from) || gate::holds_runs(to);
  if (has_runs && gate::holds_runs(from) == gate::holds_runs(to)) return judge_runs(from, to, is_forced, watch);
  for (const std::string& path : {from, to})
    if (has_runs || kind_of(path) != DocumentKind::trace)
      throw std::invalid_argument(fmt::format(
          "{} and {} are of different kinds: compare traces with traces, and runs or a saved baseline with runs", from,
          to));
  const std::shared_ptr<const TraceDocument> before = open_mapped_trace(from, watch),
                                             now = open_mapped_trace(to, watch);
  watch.say("comparing");
  return compare_documents(before, now, is_forced);
}

// Patterns, and what is not there, stay as they are named.
QString canonical(const QString& path) {
  const QString found = path.isEmpty() ? QString() : QFileInfo(path).canonicalFilePath();
  return found.isEmpty() ? path : found;
}

}  // namespace

Request scaling_request_for(const QStringList& runs, bool is_forced) {
  Request request;
  request.is_forced = is_forced;
  for (const QString& run : runs) request.runs << canonical(run);
  request.path = request.runs.front();
  return request;
}

Request request_for(const QString& path, const QString& baseline, bool is_forced) {
  return {.path = canonical(path), .baseline = canonical(baseline), .is_forced = is_forced};
}

LoadJob::Work work_for(const Request& request) {
  std::vector<std::string> runs;
  for (const QString& run : request.runs) runs.push_back(run.toStdString());
  return [path = request.path.toStdString(), baseline = request.baseline.toStdString(), runs,
          is_forced = request.is_forced,
          is_gate = request.is_gate](ReadingWatch& watch) -> std::shared_ptr<const Document> {
    if (!runs.empty()) return scale_runs(runs, is_forced, watch);
    if (is_gate) return judge_runs(baseline, path, is_forced, watch);
    return baseline.empty() ? open_document(path, watch) : compare(baseline, path, is_forced, watch);
  };
}

}  // namespace underlap::viewer
