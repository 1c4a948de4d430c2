// SPDX-License-Identifier: Apache-2.0
// What the window asks a user, and the dialogs that it shows.
#include <QDateTime>
#include <QDropEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QScreen>
#include <QTabWidget>
#include <QVBoxLayout>

#include "viewer/app/chart_panel.hpp"
#include "viewer/app/command_palette.hpp"
#include "viewer/app/example_job.hpp"
#include "viewer/app/keys_overlay.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/main_window.hpp"
#include "viewer/app/pages/run_page.hpp"
#include "viewer/app/pages/trace_page.hpp"
#include "viewer/app/pair_dialog.hpp"
#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {

void MainWindow::ask_for_trace() {
  for (const QString& path : QFileDialog::getOpenFileNames(this, tr("Open traces"))) open(path);
}

void MainWindow::ask_for_folder() {
  const QString path = QFileDialog::getExistingDirectory(this, tr("Open a run or the traces of a job"));
  if (!path.isEmpty()) open(path);
}

void MainWindow::open_example() {
  try {
    open(write_example_job());
  } catch (const std::exception& error) {
    show_message(text(error.what()));
  }
}

void MainWindow::judge(const QString& baseline, const QString& candidate) {
  Request request = request_for(candidate, baseline);
  request.is_gate = true;
  show_tab(request);
}

// Offers what is open of the same kind, and before a document is open what was opened last.
void MainWindow::ask_for_pair(bool is_gate) {
  const auto* trace = qobject_cast<const TracePage*>(page());
  const bool has_candidate =
      qobject_cast<const RunPage*>(page()) != nullptr || (trace != nullptr && !trace->document().is_partial);
  QStringList offered;
  for (int i = 0; i < tabs_->count(); ++i)
    if (const QWidget* other = tabs_->widget(i);
        has_candidate && other != page() && other->metaObject() == page()->metaObject())
      offered << shown_[tabs_->widget(i)].request.path;
  if (!has_candidate)
    for (const QString& path : recent_paths())
      if (QFileInfo::exists(path)) offered << path;
  const QString about =
      is_gate ? tr("Runs, folders with several runs, or a saved baseline. The verdict is pass, regression or "
                   "inconclusive.")
              : tr("Two traces, two folders with the traces of a job, or two runs.");
  auto* dialog = new PairDialog(about, offered, has_candidate ? shown_[page()].request.path : QString(), this);
  dialog->setWindowTitle(is_gate ? tr("Check against a baseline") : tr("Compare"));
  connect(dialog, &PairDialog::chosen, this, [this, is_gate](const QString& baseline, const QString& candidate) {
    is_gate ? judge(baseline, candidate) : compare(baseline, candidate);
  });
  dialog->open();
}

void MainWindow::swap_sides() {
  Request request = shown_.value(tabs_->currentWidget()).request;
  if (!request.compares()) return show_message(tr("Only a comparison has two sides to swap."));
  std::swap(request.path, request.baseline);
  show_tab(request);
}

bool MainWindow::take_files(QEvent* event) {
  if (event->type() != QEvent::DragEnter && event->type() != QEvent::DragMove && event->type() != QEvent::Drop)
    return false;
  auto* drag = static_cast<QDropEvent*>(event);
  QStringList paths;
  for (const QUrl& url : drag->mimeData()->urls())
    if (url.isLocalFile()) paths << url.toLocalFile();
  if (paths.isEmpty()) return false;
  drag->acceptProposedAction();
  if (event->type() == QEvent::Drop) open_dropped(paths);
  return true;
}

void MainWindow::open_dropped(const QStringList& paths) {
  if (paths.size() != 2) {
    for (const QString& path : paths) open(path);
    return;
  }
  const bool is_later = QFileInfo(paths[0]).lastModified() > QFileInfo(paths[1]).lastModified();
  compare(paths[is_later ? 1 : 0], paths[is_later ? 0 : 1]);
  show_message(tr("The older one is the baseline; File > Swap baseline and candidate exchanges them."));
}

void MainWindow::show_scaling() {
  QStringList runs;
  for (int i = 0; i < tabs_->count(); ++i)
    if (qobject_cast<const RunPage*>(tabs_->widget(i)) != nullptr) runs << shown_[tabs_->widget(i)].request.path;
  if (runs.isEmpty()) return show_message(tr("First open runs of one matrix at several sizes."));
  scale(runs);
}

void MainWindow::show_charts() {
  if (page() == nullptr) return;
  if (const auto* trace = qobject_cast<const TracePage*>(page()); trace != nullptr && trace->document().is_partial)
    return show_message(tr("Charts need the whole trace, which is still being read."));
  auto* charts = new ChartPanel;
  charts->set_theme(*theme_);
  charts->set_input(page()->chart_input());
  const QString title = tr("Charts of %1").arg(tabs_->tabText(tabs_->currentIndex()));
  // The figures that it draws are destroyed with the page.
  connect(page(), &QObject::destroyed, show_dialog(title, charts, {900, 600}), &QDialog::close);
}

void MainWindow::save_picture() {
  Page* shown = page();
  if (shown != nullptr && shown->charts() != nullptr) return shown->charts()->save();
  if (shown == nullptr || shown->timeline() == nullptr) return show_message(tr("There is no picture to save here."));
  const QString path = QFileDialog::getSaveFileName(this, tr("Save a picture"), "timeline.png", tr("Pictures (*.png)"));
  if (!path.isEmpty() && !shown->timeline()->grab().save(path)) show_message(tr("%1 could not be written").arg(path));
}

void MainWindow::show_palette() {
  auto* palette = new CommandPalette(actions_, this);
  palette->setAttribute(Qt::WA_DeleteOnClose);
  const QRect room = screen()->availableGeometry();
  const QPoint wanted = mapToGlobal(QPoint((width() - palette->width()) / 2, 80));
  palette->move(std::clamp(wanted.x(), room.left(), std::max(room.left(), room.right() - palette->width())),
                std::clamp(wanted.y(), room.top(), std::max(room.top(), room.bottom() - palette->height())));
  palette->show();
  palette->words()->setFocus();
}

void MainWindow::toggle_keys() {
  if (keys_ != nullptr && keys_->isVisible()) {
    keys_->close();
    return;
  }
  QList<KeyGroup> groups;
  for (const QAction* in_bar : menuBar()->actions()) {
    KeyGroup group{plain_text(*in_bar), {}};
    for (QAction* action : in_bar->menu()->actions())
      if (actions_.contains(action)) group.lines << KeyLine{keys_text(*action), plain_text(*action)};
    groups << group;
  }
  keys_ = new KeysOverlay(groups + mouse_groups(), this);
}

QDialog* MainWindow::show_dialog(const QString& title, QWidget* content, const QSize& size) {
  auto* dialog = new QDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
  (new QVBoxLayout(dialog))->addWidget(content);
  dialog->resize(within_screen(size));
  dialog->show();
  return dialog;
}

}  // namespace underlap::viewer
