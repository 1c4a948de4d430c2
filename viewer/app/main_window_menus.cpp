// SPDX-License-Identifier: Apache-2.0
// The menus of the window: every action that there is, with its keys. Palette and help list the same.
#include <QAction>
#include <QApplication>
#include <QMenu>
#include <QMenuBar>

#include "viewer/app/command_palette.hpp"
#include "viewer/app/main_window.hpp"
#include "viewer/app/timeline_view.hpp"
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
  start_buttons_ << add(menu, tr("&Open file..."), QKeySequence(QKeySequence::Open).toString(),
                        [this] { ask_for_trace(); });
  start_buttons_ << add(menu, tr("Open &folder..."), "Ctrl+Shift+O", [this] { ask_for_folder(); });
  recent_ = menu->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::fill_recent);
  add(menu, tr("Open last session &again"), "Ctrl+Shift+T", [this] { open_again(); });
  add(menu, tr("&Read again"), "F5", [this] { read_again(); });
  start_buttons_ << add(menu, tr("&Compare..."), "Ctrl+D", [this] { ask_for_pair(false); });
  start_buttons_ << add(menu, tr("Check against &baseline..."), "Ctrl+G", [this] { ask_for_pair(true); });
  add(menu, tr("S&wap baseline and candidate"), "Ctrl+Shift+X", [this] { swap_sides(); });
  add(menu, tr("&Scaling of the open runs"), "Ctrl+Shift+S", [this] { show_scaling(); });
  add(menu, tr("C&harts..."), "Ctrl+H", [this] { show_charts(); });
  add(menu, tr("Save a &picture..."), "Ctrl+S", [this] { save_picture(); });
  menu->addSeparator();
  add(menu, tr("Close &tab"), QKeySequence(QKeySequence::Close).toString(),
      [this] { close_tab(tabs_->currentIndex()); });
  add(menu, tr("&Next tab"), "Ctrl+Tab", [this] { step_tab(1); });
  add(menu, tr("&Previous tab"), "Ctrl+Shift+Tab", [this] { step_tab(-1); });
  add(menu, tr("&Quit"), "Ctrl+Q", [this] { close(); });
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
  add(menu, tr("&Keys and mouse"), "?; F1", [this] { toggle_keys(); });
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

void MainWindow::fill_recent() {
  recent_->clear();
  for (const QString& path : recent_paths())
    connect(recent_->addAction(path), &QAction::triggered, this, [this, path] { open(path); });
  if (recent_->isEmpty()) recent_->addAction(tr("nothing yet"))->setEnabled(false);
}

}  // namespace underlap::viewer
