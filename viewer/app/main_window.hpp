// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QHash>
#include <QMainWindow>
#include <QPointer>
#include <QStringList>

#include "viewer/app/load_job.hpp"
#include "viewer/app/pages/page.hpp"
#include "viewer/theme/theme.hpp"

class QAction;
class QDialog;
class QKeyEvent;
class QMenu;
class QTabWidget;

namespace underlap::viewer {

class ChangeWatch;
class KeysOverlay;

/// The window: documents in tabs, menus with every action, and what is kept from one time to the next.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  MainWindow();
  ~MainWindow() override;

  /// Opens a trace, a folder of traces or a run in a new tab; switches to its tab if it is already open.
  void open(const QString& path) { show_tab(request_for(path)); }
  /// Compares two traces, or judges one run by another.
  void compare(const QString& from, const QString& to, bool is_forced = false) {
    show_tab(request_for(to, from, is_forced));
  }
  /// Judges a candidate by a baseline as `underlap gate` does: runs, traces, or folders of several.
  void judge(const QString& baseline, const QString& candidate);
  /// Compares runs at several sizes.
  void scale(const QStringList& runs, bool is_forced = false) { show_tab(scaling_request_for(runs, is_forced)); }
  /// Opens what was open when the last window closed.
  void open_again();
  /// Reads what the tab that is shown was read from anew. What it shows stays until that is done.
  void read_again();
  /// Says something below the tabs, for a while.
  void show_message(const QString& message);

  Page* page() const;
  int num_pages() const;
  const QList<QAction*>& all_actions() const { return actions_; }
  void set_dark(bool is_dark);
  bool is_loading() const { return !jobs_.isEmpty(); }
  /// What could not be opened last, and why; empty where nothing failed.
  const QString& last_error() const { return last_error_; }
  /// The note above the shown tab; empty if there is no note.
  QString note() const;

 protected:
  void closeEvent(QCloseEvent*) override;
  /// Leaves keys to a focused widget that uses them; Esc returns the focus from there to the timeline. Opens files that
  /// are dropped on any widget of the window.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  class NoteBar;

  enum class Failure { unreadable, not_comparable };

  /// What the window knows of a tab that shows a document, or will.
  struct Tab {
    Request request;
    QString failure = {};    ///< why it could not be read again
    QString progress = {};   ///< of what is still being read
    bool is_failed = false;  ///< it could not be read at all: asked for again, it is tried again
  };

  /// An action in a menu. `keys`: each of its shortcuts, as in "W; Ctrl++".
  QAction* add(QMenu* menu, const QString& text, const QString& keys, std::function<void()> what);
  /// The same for what acts on the timeline of the page that is shown, if it has one.
  QAction* add_to_timeline(QMenu* menu, const QString& text, const QString& keys,
                           std::function<void(TimelineView&)> what);
  void make_file_menu();
  void make_view_menu();
  void make_go_menu();
  void make_lanes_menu();
  void make_help_menu();
  void show_start();
  void open_example();
  void show_tab(const Request& request);
  void start(QWidget* tab, const Request& request);
  QString title_among_others(const Document&, const QWidget* own) const;
  void show_document(LoadJob* job, const std::shared_ptr<const Document>& document);
  Page* make_page(const std::shared_ptr<const Document>& document);
  void show_part(LoadJob* job, const std::shared_ptr<const TraceDocument>& part);
  void fail(LoadJob* job, const QString& why, Failure);
  void end(LoadJob* job);
  void replace(QWidget* before, Page* page, const QString& title);
  void close_tab(int index);
  /// The tab that is so many to the right, or to the left, of the one that is shown; round and round.
  void step_tab(int by);
  void step_panel(int by);
  void ask_for_trace();
  void ask_for_folder();
  /// Asks for a baseline and a candidate, by default the document that is shown.
  void ask_for_pair(bool is_gate);
  void swap_sides();
  bool handle_keys(QWidget*, QKeyEvent*);
  /// Whether an event drags or drops files, which then open: two files are compared, the older one is the baseline.
  bool take_files(QEvent*);
  void open_dropped(const QStringList& paths);
  void show_charts();
  void show_scaling();
  void save_picture();
  /// As much of a size as a window, and its frame, have room for on the screen that this one is on.
  QSize within_screen(const QSize& wanted) const;
  /// A dialog with one widget in it.
  QDialog* show_dialog(const QString& title, QWidget* content, const QSize& size);
  void show_palette();
  /// Shows the overlay of keys, or hides it.
  void toggle_keys();
  void fill_recent();
  void keep_state_of(QWidget* tab) const;
  void restore_state_of(QWidget* tab) const;
  void keep_all() const;
  static bool has_legend();
  void show_note();
  /// Names the window by what it shows.
  void show_title();

  NoteBar* note_;
  QTabWidget* tabs_;
  ChangeWatch* changes_;
  QHash<QWidget*, Tab> shown_;
  QMenu* recent_ = nullptr;
  QList<QAction*> actions_;
  QList<QAction*> start_buttons_;   ///< those that the start page offers
  QHash<LoadJob*, QWidget*> jobs_;  ///< each with the tab that it fills
  const Theme* theme_;
  QString last_error_;
  QPointer<KeysOverlay> keys_;  ///< while it is shown
};

}  // namespace underlap::viewer
