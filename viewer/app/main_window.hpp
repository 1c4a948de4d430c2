// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QHash>
#include <QMainWindow>
#include <QStringList>
#include <functional>
#include <memory>

#include "viewer/app/load_job.hpp"
#include "viewer/app/page.hpp"
#include "viewer/theme/theme.hpp"

class QAction;
class QMenu;
class QTabWidget;

namespace underlap::viewer {

/// The window: documents in tabs, menus with every action, and what is kept from one time to the next.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  MainWindow();
  ~MainWindow() override;

  /// Opens a trace, a folder of traces or a run, in a tab of its own.
  void open(const QString& path);
  void compare(const QString& from, const QString& to, bool is_forced = false);
  /// Says something below the tabs, for a while.
  void tell(const QString& message);

  Page* page() const;
  int num_pages() const;
  const QList<QAction*>& all_actions() const { return actions_; }
  void set_dark(bool is_dark);
  bool is_loading() const { return !jobs_.isEmpty(); }
  /// What could not be opened last, and why; empty where nothing failed.
  const QString& last_error() const { return last_error_; }

 protected:
  void dragEnterEvent(QDragEnterEvent*) override;
  void dropEvent(QDropEvent*) override;
  void closeEvent(QCloseEvent*) override;

 private:
  enum class Failure { unreadable, not_comparable };

  QAction* add(QMenu* menu, const QString& text, const QList<QKeySequence>& keys, std::function<void()> what);
  /// The same for what acts on the timeline of the page that is shown, if it has one.
  QAction* add_to_timeline(QMenu* menu, const QString& text, const QList<QKeySequence>& keys,
                           std::function<void(TimelineView&)> what);
  void make_file_menu();
  void make_view_menu();
  void make_go_menu();
  void make_lanes_menu();
  void make_help_menu();
  void start(const QString& title, const QString& path, LoadJob::Work work, bool is_recent);
  void show_document(QWidget* instead_of, const std::shared_ptr<const Document>& document);
  Page* make_page(const std::shared_ptr<const Document>& document);
  void show_part(LoadJob* job, const std::shared_ptr<const TraceDocument>& part);
  void fail(LoadJob* job, const QString& why, Failure);
  void end(LoadJob* job);
  void replace(QWidget* before, Page* page, const QString& title);
  void close_tab(int index);
  void ask_for_trace();
  void ask_for_folder();
  void compare_with_other();
  void show_charts();
  void save_picture();
  void show_palette();
  void show_keys();
  void note_recent(const QString& path);
  void fill_recent();
  void keep_state(Page& page) const;
  void restore_state(Page& page) const;

  QTabWidget* tabs_;
  QMenu* recent_ = nullptr;
  QList<QAction*> actions_;
  QHash<LoadJob*, QWidget*> jobs_;  ///< each with the tab that it fills
  const Theme* theme_;
  QString last_error_;
};

}  // namespace underlap::viewer
