// SPDX-License-Identifier: Apache-2.0
// The menus of the window: every action that there is, with its keys. Palette and help list the same.
#include <QAction>
#include <QApplication>
#include <QFileDialog>
#include <QHeaderView>
#include <QInputDialog>
#include <QMenu>
#include <QMenuBar>
#include <QScreen>
#include <QTableWidget>
#include <QVBoxLayout>

#include "viewer/app/chart_panel.hpp"
#include "viewer/app/command_palette.hpp"
#include "viewer/app/main_window.hpp"
#include "viewer/app/pages/compare_page.hpp"
#include "viewer/app/pages/run_page.hpp"
#include "viewer/app/pages/trace_page.hpp"
#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {
namespace {

constexpr double kZoomStep = 1.35;
constexpr double kPanStep = 120;  // pixels

}  // namespace

QAction* MainWindow::add(QMenu* menu, const QString& text, const QString& keys, std::function<void()> what) {
  QAction* action = menu->addAction(text);
  action->setShortcuts(QKeySequence::listFromString(keys));
  connect(action, &QAction::triggered, this, [what = std::move(what)] { what(); });
  actions_ << action;
  return action;
}

QAction* MainWindow::add_to_timeline(QMenu* menu, const QString& text, const QString& keys,
                                     std::function<void(TimelineView&)> what) {
  return add(menu, text, keys, [this, what = std::move(what)] {
    Page* shown = page();
    if (shown != nullptr && shown->timeline() != nullptr) what(*shown->timeline());
  });
}

void MainWindow::make_file_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&File"));
  add(menu, tr("&Open a trace..."), QKeySequence(QKeySequence::Open).toString(), [this] { ask_for_trace(); });
  add(menu, tr("Open a &folder..."), "Ctrl+Shift+O", [this] { ask_for_folder(); });
  recent_ = menu->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::fill_recent);
  add(menu, tr("Open last session &again"), "Ctrl+Shift+T", [this] { open_again(); });
  add(menu, tr("&Read again"), "F5", [this] { read_again(); });
  add(menu, tr("&Compare with another trace or run..."), "Ctrl+D", [this] { compare_with_other(); });
  add(menu, tr("&Scaling of the open runs"), "Ctrl+Shift+S", [this] { show_scaling(); });
  add(menu, tr("C&harts..."), "Ctrl+H", [this] { show_charts(); });
  add(menu, tr("Save a &picture..."), "Ctrl+S", [this] { save_picture(); });
  menu->addSeparator();
  add(menu, tr("Close &tab"), QKeySequence(QKeySequence::Close).toString(),
      [this] { close_tab(tabs_->currentIndex()); });
  add(menu, tr("&Next tab"), "Ctrl+Tab", [this] { step_tab(1); });
  add(menu, tr("&Previous tab"), "Ctrl+Shift+Tab", [this] { step_tab(-1); });
  add(menu, tr("&Quit"), QKeySequence(QKeySequence::Quit).toString(), [this] { close(); });
}

void MainWindow::make_view_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&View"));
  add_to_timeline(menu, tr("Zoom &in"), "W; Ctrl++", [](TimelineView& view) { view.zoom(kZoomStep); });
  add_to_timeline(menu, tr("Zoom &out"), "S; Ctrl+-", [](TimelineView& view) { view.zoom(1 / kZoomStep); });
  add_to_timeline(menu, tr("Move &left"), "A", [](TimelineView& view) { view.pan(-kPanStep); });
  add_to_timeline(menu, tr("Move &right"), "D", [](TimelineView& view) { view.pan(kPanStep); });
  add_to_timeline(menu, tr("&Fit the selection, or everything"), "F", [](TimelineView& view) {
    if (const auto& range = view.state().range) return view.show_range(*range);
    view.fit();
  });
  add_to_timeline(menu, tr("Show &everything"), "Shift+F; Home", &TimelineView::fit);
  add_to_timeline(menu, tr("&Back to the previous view"), "Alt+Left; Backspace", &TimelineView::go_back);
  add_to_timeline(menu, tr("Forw&ard to the next view"), "Alt+Right", &TimelineView::go_forward);
  menu->addSeparator();
  add_to_timeline(menu, tr("&Mark"), "M", &TimelineView::toggle_mark);
  add_to_timeline(menu, tr("Select between the last two ma&rks"), "R", [this](TimelineView& view) {
    if (!view.select_between_marks()) show_message(tr("Set two marks first: M sets one."));
  });
  add_to_timeline(menu, tr("&Clear selection and marks"), "Esc", &TimelineView::clear);
  menu->addSeparator();
  QAction* legend = add(menu, tr("&Legend"), "L", [this] {
    viewer_settings().setValue("legend", !has_legend());
    for (int i = 0; i < tabs_->count(); ++i)
      if (auto* shown = qobject_cast<Page*>(tabs_->widget(i))) shown->set_legend(has_legend());
  });
  legend->setCheckable(true);
  legend->setChecked(has_legend());
  add(menu, tr("&Dark"), "Ctrl+Shift+D", [this] {
    set_dark(!theme_->is_dark);
    viewer_settings().setValue("dark", theme_->is_dark);
  });
}

void MainWindow::make_go_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&Go"));
  const auto on_page = [this](auto what) {
    return [this, what] {
      if (Page* shown = page()) std::invoke(what, *shown);
    };
  };
  add(menu, tr("&Find..."), "/; Ctrl+F", on_page(&Page::find));
  add(menu, tr("&Next match"), "N; F3", on_page([](Page& shown) { shown.go_to_found(Towards::later); }));
  add(menu, tr("&Previous match"), "Shift+N; Shift+F3",
      on_page([](Page& shown) { shown.go_to_found(Towards::earlier); }));
  add(menu, tr("Next slice of the same &kind"), "]; .",
      on_page([](Page& shown) { shown.go_to_alike(Towards::later); }));
  add(menu, tr("Previous slice of the same k&ind"), "[; ,",
      on_page([](Page& shown) { shown.go_to_alike(Towards::earlier); }));
  add(menu, tr("&Worst exposed slice, then the next worst"), "E", on_page(&Page::go_to_worst));
  add_to_timeline(
      menu, tr("&Last rank to arrive at the selected communication"), "Shift+L", [this](TimelineView& view) {
        if (view.late_member() == Timeline::kNoSlice)
          return show_message(tr("First select a communication at which ranks arrived at different times."));
        view.go_to(view.late_member());
      });
  menu->addSeparator();
  add(menu, tr("Next pan&el: timeline, tabs, tab contents"), "F6", [this] { step_panel(1); });
  add(menu, tr("Previous panel"), "Shift+F6", [this] { step_panel(-1); });
  menu->addSeparator();
  add_to_timeline(menu, tr("Slice to the &right"), "Right", [](TimelineView& view) { view.select_neighbor(1, 0); });
  add_to_timeline(menu, tr("Slice to the &left"), "Left", [](TimelineView& view) { view.select_neighbor(-1, 0); });
  add_to_timeline(menu, tr("Lane &above"), "Up", [](TimelineView& view) { view.select_neighbor(0, -1); });
  add_to_timeline(menu, tr("Lane &below"), "Down", [](TimelineView& view) { view.select_neighbor(0, 1); });
}

void MainWindow::make_lanes_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&Lanes"));
  const auto on_lane = [this](auto what) {
    return [this, what](TimelineView& view) {
      const int row = page()->lane_row();
      if (row >= 0) what(view.arrangement(), row, view.arrangement().lanes()[static_cast<std::size_t>(row)]);
    };
  };
  const auto flip = [&](void (LaneArrangement::*set)(int, bool), bool ArrangedLane::*what) {
    return on_lane([=](LaneArrangement& lanes, int row, ArrangedLane lane) { (lanes.*set)(row, !(lane.*what)); });
  };
  add_to_timeline(menu, tr("&Pin or unpin the selected lane, or the selected slice's"), "P",
                  flip(&LaneArrangement::set_pinned, &ArrangedLane::is_pinned));
  add_to_timeline(menu, tr("&Collapse or expand it"), "C",
                  flip(&LaneArrangement::set_collapsed, &ArrangedLane::is_collapsed));
  add_to_timeline(menu, tr("&Hide or show it"), "H", flip(&LaneArrangement::set_shown, &ArrangedLane::is_shown));
  add_to_timeline(menu, tr("Move it &up"), "Ctrl+Up",
                  on_lane([](LaneArrangement& lanes, int row, ArrangedLane) { lanes.move(row, -1); }));
  add_to_timeline(menu, tr("Move it &down"), "Ctrl+Down",
                  on_lane([](LaneArrangement& lanes, int row, ArrangedLane) { lanes.move(row, 1); }));
  menu->addSeparator();
  add_to_timeline(menu, tr("&Expand all lanes of threads and ranges"), "T",
                  [](TimelineView& view) { view.arrangement().set_host_lanes_collapsed(false); });
  add_to_timeline(menu, tr("Collapse all lanes of &threads and ranges"), "Shift+T",
                  [](TimelineView& view) { view.arrangement().set_host_lanes_collapsed(true); });
  add_to_timeline(menu, tr("E&xpand all ranks"), "X",
                  [](TimelineView& view) { view.arrangement().set_ranks_collapsed(false); });
  add_to_timeline(menu, tr("Collapse all ranks to their &strips"), "Shift+X",
                  [](TimelineView& view) { view.arrangement().set_ranks_collapsed(true); });
  add_to_timeline(menu, tr("&Reset all lanes"), "Ctrl+R", [](TimelineView& view) { view.arrangement().reset(); });
}

void MainWindow::make_help_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&Help"));
  add(menu, tr("Command &palette..."), "Ctrl+Shift+P; Ctrl+P", [this] { show_palette(); });
  add(menu, tr("&Keys"), "?; F1", [this] { show_keys(); });
}

void MainWindow::step_tab(int by) {
  const int count = tabs_->count();
  tabs_->setCurrentIndex((tabs_->currentIndex() + by + count) % count);
}

void MainWindow::step_panel(int by) {
  if (page() == nullptr) return;
  QList<QWidget*> stops = page()->stops();
  stops.removeIf([](const QWidget* stop) { return stop == nullptr || !stop->isVisible(); });
  if (stops.isEmpty()) return;
  const QWidget* focused = QApplication::focusWidget();
  const auto here =
      std::ranges::find_if(stops, [&](const QWidget* stop) { return stop == focused || stop->isAncestorOf(focused); });
  // From elsewhere to the first one.
  const qsizetype next = here == stops.end() ? 0 : (here - stops.begin() + by + stops.size()) % stops.size();
  stops[next]->setFocus(Qt::TabFocusReason);
}

void MainWindow::ask_for_trace() {
  for (const QString& path : QFileDialog::getOpenFileNames(this, tr("Open traces"))) open(path);
}

void MainWindow::ask_for_folder() {
  const QString path = QFileDialog::getExistingDirectory(this, tr("Open a run or the traces of a job"));
  if (!path.isEmpty()) open(path);
}

// With another that is open, with a file, or with a folder: a trace with traces, a run with runs or a saved baseline.
void MainWindow::compare_with_other() {
  const bool is_run = qobject_cast<const RunPage*>(page()) != nullptr;
  const auto* trace = qobject_cast<const TracePage*>(page());
  if (!is_run && (trace == nullptr || trace->document().is_partial))
    return show_message(tr("First open the trace or run to compare, and wait until it is read."));
  const QString candidate = shown_[page()].request.path;
  const QString file = is_run ? tr("A saved baseline...") : tr("Another file...");
  const QString folder =
      is_run ? tr("A folder with one or several runs...") : tr("A folder with the traces of a job...");
  QStringList choices;
  for (int i = 0; i < tabs_->count(); ++i) {
    const QWidget* other = tabs_->widget(i);
    if (other != page() && other->metaObject() == page()->metaObject())
      choices << shown_[tabs_->widget(i)].request.path;
  }
  choices << file << folder;
  QInputDialog dialog(this);
  dialog.setWindowTitle(tr("Compare"));
  dialog.setLabelText(tr("Baseline to compare %1 with:").arg(candidate));
  dialog.setOption(QInputDialog::UseListViewForComboBoxItems);
  dialog.setComboBoxItems(choices);
  if (dialog.exec() != QDialog::Accepted) return;
  QString baseline = dialog.textValue();
  if (baseline == file) baseline = QFileDialog::getOpenFileName(this, tr("Open the baseline"));
  if (baseline == folder) baseline = QFileDialog::getExistingDirectory(this, tr("Open the baseline"));
  if (!baseline.isEmpty()) compare(baseline, candidate);
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

void MainWindow::show_keys() {
  if (keys_ != nullptr) {
    keys_->raise();
    return keys_->activateWindow();
  }
  auto* table = new QTableWidget(0, 2);
  table->horizontalHeader()->hide();
  table->verticalHeader()->hide();
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setShowGrid(false);
  const auto add_line = [table](const QString& what, const QString& how) {
    const int row = table->rowCount();
    table->insertRow(row);
    table->setItem(row, 0, new QTableWidgetItem(how));
    table->setItem(row, 1, new QTableWidgetItem(what));
  };
  for (const QAction* action : actions_)
    add_line(plain_text(*action), QKeySequence::listToString(action->shortcuts(), QKeySequence::NativeText));
  add_line(tr("Return from a panel or field to the timeline"), tr("Esc"));
  add_line(tr("Zoom at the mouse position"), tr("Ctrl+wheel"));
  add_line(tr("Move in time"), tr("drag, Shift+wheel"));
  add_line(tr("Select a range"), tr("Shift+drag or Ctrl+drag, or drag over the ruler"));
  add_line(tr("Zoom to a slice"), tr("double-click or middle button"));
  add_line(tr("Expand or collapse a lane; pin it"), tr("click its name; Ctrl+click"));
  add_line(tr("Expand a rank into its lanes"), tr("click its strip or triangle"));
  add_line(tr("Assign communication to a mode"), tr("right-click a slice"));
  add_line(tr("Move a lane"), tr("drag its name"));
  table->resizeColumnsToContents();
  table->horizontalHeader()->setStretchLastSection(true);
  keys_ = show_dialog(tr("Keys"), table, {620, 640});
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

void MainWindow::fill_recent() {
  recent_->clear();
  for (const QString& path : viewer_settings().value("recent").toStringList())
    connect(recent_->addAction(path), &QAction::triggered, this, [this, path] { open(path); });
  if (recent_->isEmpty()) recent_->addAction(tr("nothing yet"))->setEnabled(false);
}

}  // namespace underlap::viewer
