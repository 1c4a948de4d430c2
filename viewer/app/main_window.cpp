// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/main_window.hpp"

#include <QAction>
#include <QApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QTabWidget>
#include <algorithm>
#include <utility>

#include "viewer/app/compare_page.hpp"
#include "viewer/app/gate_page.hpp"
#include "viewer/app/loading_page.hpp"
#include "viewer/app/look.hpp"
#include "viewer/app/run_page.hpp"
#include "viewer/app/settings.hpp"
#include "viewer/app/start_page.hpp"
#include "viewer/app/trace_page.hpp"

namespace underlap::viewer {

MainWindow::MainWindow() : tabs_(new QTabWidget), theme_(&Theme::light()) {
  setWindowTitle("Underlap");
  setAcceptDrops(true);
  tabs_->setDocumentMode(true);
  tabs_->setTabsClosable(true);
  tabs_->setMovable(true);
  tabs_->setElideMode(Qt::ElideMiddle);
  connect(tabs_, &QTabWidget::tabCloseRequested, this, &MainWindow::close_tab);
  setCentralWidget(tabs_);
  make_file_menu();
  make_view_menu();
  make_go_menu();
  make_lanes_menu();
  make_help_menu();
  statusBar();
  auto* start = new StartPage;
  tabs_->addTab(start, tr("Start"));
  connect(start, &StartPage::open_wanted, this, &MainWindow::open);
  connect(start, &StartPage::trace_wanted, this, &MainWindow::ask_for_trace);
  connect(start, &StartPage::folder_wanted, this, &MainWindow::ask_for_folder);
  const QSettings settings = viewer_settings();
  resize(1280, 860);
  restoreGeometry(settings.value("window").toByteArray());
  set_dark(settings.value("dark", false).toBool());
}

// Jobs end before what they fill goes.
MainWindow::~MainWindow() { qDeleteAll(jobs_.keys()); }

Page* MainWindow::page() const { return qobject_cast<Page*>(tabs_->currentWidget()); }

int MainWindow::num_pages() const {
  int pages = 0;
  for (int i = 0; i < tabs_->count(); ++i) pages += qobject_cast<Page*>(tabs_->widget(i)) != nullptr;
  return pages;
}

void MainWindow::tell(const QString& message) { statusBar()->showMessage(message, 15'000); }

void MainWindow::open(const QString& path) { start(QFileInfo(path).fileName(), path, open_work(path), true); }

void MainWindow::compare(const QString& from, const QString& to, bool is_forced) {
  start(tr("compare"), from + "\n" + to, compare_work(from, to, is_forced), false);
  if (is_forced) return;
  auto* loading = qobject_cast<LoadingPage*>(tabs_->currentWidget());
  connect(loading, &LoadingPage::go_on_wanted, this, [this, loading, from, to] {
    close_tab(tabs_->indexOf(loading));
    compare(from, to, true);
  });
}

void MainWindow::start(const QString& title, const QString& path, LoadJob::Work work, bool is_recent) {
  auto* loading = new LoadingPage(path);
  tabs_->setCurrentIndex(tabs_->addTab(loading, title));
  auto* job = new LoadJob(path, std::move(work), this);
  jobs_[job] = loading;
  connect(loading, &LoadingPage::cancelled, this, [this, job, loading] {
    if (jobs_.contains(job))
      job->cancel();
    else
      close_tab(tabs_->indexOf(loading));
  });
  job->on_progress = [this, job](const QString& doing, double fraction) {
    if (auto* shown = qobject_cast<LoadingPage*>(jobs_[job])) return shown->show_progress(doing, fraction);
    statusBar()->showMessage(tr("%1: %2 %").arg(doing).arg(static_cast<int>(100 * fraction)));
  };
  if (is_recent) job->on_part = [this, job](std::shared_ptr<const TraceDocument> part) { show_part(job, part); };
  job->on_done = [this, job, path, is_recent](const std::shared_ptr<const Document>& document) {
    if (is_recent) note_recent(path);
    statusBar()->clearMessage();
    show_document(jobs_[job], document);
    end(job);
  };
  job->on_cancelled = [this, job] {
    QWidget* tab = jobs_[job];
    end(job);
    close_tab(tabs_->indexOf(tab));
  };
  job->on_failed = [this, job](const QString& why) { fail(job, why, Failure::unreadable); };
  job->on_not_comparable = [this, job](const QString& why) { fail(job, why, Failure::not_comparable); };
  job->start();
}

void MainWindow::end(LoadJob* job) {
  jobs_.remove(job);
  job->deleteLater();
}

void MainWindow::fail(LoadJob* job, const QString& why, Failure failure) {
  last_error_ = why;
  if (auto* loading = qobject_cast<LoadingPage*>(jobs_[job]))
    loading->show_failure(why, failure == Failure::not_comparable);
  else
    QMessageBox::warning(this, tr("Reading ended early"), why);
  end(job);
}

Page* MainWindow::make_page(const std::shared_ptr<const Document>& document) {
  if (const auto trace = std::dynamic_pointer_cast<const TraceDocument>(document)) return new TracePage(trace);
  if (const auto comparison = std::dynamic_pointer_cast<const CompareDocument>(document))
    return new ComparePage(comparison);
  if (const auto judged = std::dynamic_pointer_cast<const GateDocument>(document)) return new GatePage(judged);
  auto* run = new RunPage(std::dynamic_pointer_cast<const RunDocument>(document));
  connect(run, &RunPage::trace_wanted, this, &MainWindow::open);
  connect(run, &RunPage::comparison_wanted, this,
          [this](const QString& from, const QString& to) { compare(from, to); });
  connect(run, &RunPage::told, this, &MainWindow::tell);
  return run;
}

void MainWindow::replace(QWidget* before, Page* page, const QString& title) {
  const int index = tabs_->indexOf(before);
  const bool was_current = tabs_->currentIndex() == index;
  page->set_theme(*theme_);
  tabs_->insertTab(index, page, title);
  tabs_->removeTab(tabs_->indexOf(before));
  if (was_current) tabs_->setCurrentWidget(page);
  if (was_current) page->setFocus();
  before->deleteLater();
}

void MainWindow::show_document(QWidget* instead_of, const std::shared_ptr<const Document>& document) {
  Page* page = make_page(document);
  auto* before = qobject_cast<Page*>(instead_of);
  TimelineView* seen = before == nullptr ? nullptr : before->timeline();
  const bool was_moved = seen != nullptr && seen->is_moved();
  const SceneState state = seen == nullptr ? SceneState{} : seen->state();
  replace(instead_of, page, QString::fromStdString(document->title));
  tabs_->setTabToolTip(tabs_->indexOf(page), QString::fromStdString(document->path));
  restore_state(*page);
  // Whoever looked at something while it was still being read goes on looking at it.
  if (was_moved && page->timeline() != nullptr) page->timeline()->show_time(state.begin_ns, state.ns_per_pixel);
}

void MainWindow::show_part(LoadJob* job, const std::shared_ptr<const TraceDocument>& part) {
  show_document(jobs_[job], part);
  jobs_[job] = tabs_->currentWidget();
  for (int i = 0; i < tabs_->count(); ++i)
    if (const auto* shown = qobject_cast<TracePage*>(tabs_->widget(i));
        shown != nullptr && &shown->document() == part.get())
      jobs_[job] = tabs_->widget(i);
  tabs_->setTabText(tabs_->indexOf(jobs_[job]), tr("%1 ...").arg(QString::fromStdString(part->title)));
}

void MainWindow::close_tab(int index) {
  QWidget* tab = tabs_->widget(index);
  if (tab == nullptr) return;
  if (auto* shown = qobject_cast<Page*>(tab)) keep_state(*shown);
  for (LoadJob* job : jobs_.keys(tab)) {
    jobs_.remove(job);
    delete job;
  }
  tabs_->removeTab(index);
  tab->deleteLater();
}

void MainWindow::set_dark(bool is_dark) {
  theme_ = is_dark ? &Theme::dark() : &Theme::light();
  apply_look(*theme_);
  for (int i = 0; i < tabs_->count(); ++i)
    if (auto* shown = qobject_cast<Page*>(tabs_->widget(i))) shown->set_theme(*theme_);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) open(url.toLocalFile());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  viewer_settings().setValue("window", saveGeometry());
  for (int i = 0; i < tabs_->count(); ++i)
    if (auto* shown = qobject_cast<Page*>(tabs_->widget(i))) keep_state(*shown);
  QMainWindow::closeEvent(event);
}

void MainWindow::note_recent(const QString& path) {
  QSettings settings = viewer_settings();
  QStringList recent = settings.value("recent").toStringList();
  recent.removeAll(path);
  recent.prepend(QFileInfo(path).absoluteFilePath());
  recent.removeDuplicates();
  constexpr qsizetype kMost = 12;
  settings.setValue("recent", recent.mid(0, kMost));
}

// Lanes as they were arranged, by the path of the document.
void MainWindow::keep_state(Page& page) const {
  auto* trace = qobject_cast<TracePage*>(&page);
  if (trace == nullptr || trace->document().is_partial) return;
  keep_arrangement(QString::fromStdString(trace->document().path), trace->timeline()->arrangement().state());
}

void MainWindow::restore_state(Page& page) const {
  auto* trace = qobject_cast<TracePage*>(&page);
  if (trace == nullptr || trace->document().is_partial) return;
  const QJsonObject state = kept_arrangement(QString::fromStdString(trace->document().path));
  if (!state.isEmpty()) trace->timeline()->arrangement().restore(state);
}

}  // namespace underlap::viewer
