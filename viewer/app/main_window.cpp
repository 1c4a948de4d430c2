// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/main_window.hpp"

#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>
#include <QPalette>
#include <QPlainTextEdit>
#include <QProxyStyle>
#include <QPushButton>
#include <QScreen>
#include <QStatusBar>
#include <QStyleOption>
#include <QTabBar>
#include <QTabWidget>

#include "viewer/app/change_watch.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/pages/compare_page.hpp"
#include "viewer/app/pages/gate_page.hpp"
#include "viewer/app/pages/loading_page.hpp"
#include "viewer/app/pages/run_page.hpp"
#include "viewer/app/pages/scaling_page.hpp"
#include "viewer/app/pages/start_page.hpp"
#include "viewer/app/pages/trace_page.hpp"
#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {
namespace {

template <class... Kinds>
bool is_any_of(const QWidget& widget) {
  return ((qobject_cast<const Kinds*>(&widget) != nullptr) || ...);
}

bool goes_somewhere(int key) {
  return (key >= Qt::Key_Home && key <= Qt::Key_PageDown) || key == Qt::Key_Return || key == Qt::Key_Enter;
}

// Whether a widget that has the focus takes a key itself, so that no shortcut of one key may have it: an arrow in a
// table, any letter in a field. Keys with Ctrl or Alt, and function keys, are always shortcuts.
bool takes_key(const QWidget& widget, const QKeyEvent& event) {
  const Qt::KeyboardModifiers held = event.modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier);
  const int key = event.key();
  if (held != Qt::NoModifier || key == Qt::Key_Escape || (key >= Qt::Key_F1 && key <= Qt::Key_F35)) return false;
  if (is_any_of<QLineEdit, QAbstractSpinBox, QComboBox>(widget)) return true;
  return goes_somewhere(key) && is_any_of<QAbstractItemView, QPlainTextEdit, QTabBar>(widget);
}

// Fusion outlines a box to check with a darker window color, which no one sees in dark windows.
class OutlinedFusion : public QProxyStyle {
 public:
  OutlinedFusion() : QProxyStyle("Fusion") {}

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    if (element != PE_IndicatorCheckBox) return;
    painter->setPen(option->palette.color(QPalette::Dark));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
  }
};

// Gives all widgets of the application the colors of a theme.
void apply_look(const Theme& theme) {
  QPalette palette;
  palette.setColor(QPalette::Window, theme.surface);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.background);
  palette.setColor(QPalette::AlternateBase, theme.surface);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.dim_text);
  palette.setColor(QPalette::Button, mixed(theme.grid, theme.surface, 0.5));
  palette.setColor(QPalette::ButtonText, theme.text);
  // Edges, such as the line below tabs: of a palette without them they are white and black.
  palette.setColor(QPalette::Light, theme.is_dark ? theme.grid : theme.background);
  palette.setColor(QPalette::Midlight, mixed(theme.surface, theme.grid, 0.5));
  palette.setColor(QPalette::Mid, theme.grid);
  palette.setColor(QPalette::Dark, mixed(theme.dim_text, theme.grid, 0.3));
  palette.setColor(QPalette::Highlight, theme.accent);
  palette.setColor(QPalette::HighlightedText, theme.is_dark ? theme.background : QColor(Qt::white));
  palette.setColor(QPalette::ToolTipBase, theme.surface);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Link, theme.accent);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, theme.dim_text);
  QApplication::setStyle(new OutlinedFusion);
  QApplication::setPalette(palette);
}

// Under which the state of a tab is kept.
QString key_of(const Request& request) {
  QStringList paths;
  for (const QString& path : request.paths()) paths << QFileInfo(path).absoluteFilePath();
  return paths.join('\n');
}

// Whether a tab shows a part of what is still being read.
bool is_partial(const QWidget* tab) {
  const auto* trace = qobject_cast<const TracePage*>(tab);
  return trace != nullptr && trace->document().is_partial;
}

}  // namespace

// A line above a tab with a message for the user and a button for the offered action.
class MainWindow::NoteBar : public QFrame {
 public:
  NoteBar() {
    setFrameShape(QFrame::StyledPanel);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(8, 2, 8, 2);
    layout->addWidget(text, 1);
    layout->addWidget(offer);
    offer->setObjectName("offer");
    hide();
  }

  void show_note(const QString& note, const QString& offered, std::function<void()> what) {
    text->setText(note);
    offer->setText(offered);
    offer->disconnect();
    connect(offer, &QPushButton::clicked, this, std::move(what));
    show();
  }

  QLabel* text = sentence_label();
  QPushButton* offer = new QPushButton;
};

MainWindow::MainWindow()
    : note_(new NoteBar), tabs_(new QTabWidget), changes_(new ChangeWatch(this)), theme_(&Theme::light()) {
  setAcceptDrops(true);
  tabs_->setDocumentMode(true);
  tabs_->setTabsClosable(true);
  tabs_->setMovable(true);
  tabs_->setElideMode(Qt::ElideMiddle);
  connect(tabs_, &QTabWidget::tabCloseRequested, this, &MainWindow::close_tab);
  connect(tabs_, &QTabWidget::currentChanged, this, &MainWindow::show_note);
  connect(tabs_, &QTabWidget::currentChanged, this, &MainWindow::show_title);
  connect(changes_, &ChangeWatch::changed, this, &MainWindow::show_note);
  auto* all = new QWidget;
  auto* layout = column_of(all, 0, 0);
  layout->addWidget(note_);
  layout->addWidget(tabs_, 1);
  setCentralWidget(all);
  make_file_menu();
  make_view_menu();
  make_go_menu();
  make_lanes_menu();
  make_help_menu();
  statusBar();
  show_start();
  qApp->installEventFilter(this);
  const QSettings settings = viewer_settings();
  resize(within_screen({1280, 860}));
  restoreGeometry(settings.value("window").toByteArray());
  set_dark(settings.value("dark", false).toBool());
}

// Jobs must end before the members that they fill are destroyed.
MainWindow::~MainWindow() {
  qDeleteAll(jobs_.keys());
  tabs_->disconnect(this);
}

void MainWindow::show_start() {
  constexpr const char* kMainKeys = "W; S; A; D; F; E; /; N; M; Ctrl+Shift+P; ?";
  QList<QAction*> main_keys;
  for (const QKeySequence& key : QKeySequence::listFromString(kMainKeys))
    for (QAction* action : actions_)
      if (action->shortcuts().contains(key)) main_keys << action;
  auto* start = new StartPage(start_buttons_, main_keys);
  tabs_->addTab(start, tr("Start"));
  connect(start, &StartPage::open_wanted, this, &MainWindow::open);
  connect(start, &StartPage::example_wanted, this, &MainWindow::open_example);
  connect(start, &StartPage::open_again_wanted, this, &MainWindow::open_again);
}

QSize MainWindow::within_screen(const QSize& wanted) const {
  constexpr QSize kFrame(16, 40);
  return wanted.boundedTo(screen()->availableGeometry().size() - kFrame);
}

Page* MainWindow::page() const { return qobject_cast<Page*>(tabs_->currentWidget()); }

int MainWindow::num_pages() const {
  int pages = 0;
  for (int i = 0; i < tabs_->count(); ++i) pages += qobject_cast<Page*>(tabs_->widget(i)) != nullptr;
  return pages;
}

void MainWindow::show_message(const QString& message) { statusBar()->showMessage(message, 15'000); }

QString MainWindow::note() const { return note_->isHidden() ? QString() : note_->text->text(); }

void MainWindow::show_note() {
  QWidget* tab = tabs_->currentWidget();
  const Tab shown = shown_.value(tab);
  if (is_partial(tab))
    return note_->show_note(tr("Still reading; %1").arg(shown.progress), tr("&Cancel"), [this, tab] {
      for (LoadJob* job : jobs_.keys(tab)) job->cancel();
    });
  if (const QString news = shown.failure.isEmpty() ? changes_->news_of(tab) : shown.failure; !news.isEmpty())
    return note_->show_note(news, tr("&Read again"), [this] { read_again(); });
  const QString run = shown.request.opens() ? text(run_of_traces(shown.request.path.toStdString())) : QString();
  if (run.isEmpty()) return note_->hide();
  note_->show_note(tr("These are traces of a run. The run also has its results, intervals and charts."),
                   tr("&Open the run"), [this, run] { open(run); });
}

void MainWindow::show_title() {
  const QString title = tabs_->tabText(tabs_->currentIndex());
  setWindowTitle(shown_.contains(tabs_->currentWidget()) ? tr("%1 - Underlap").arg(title) : tr("Underlap"));
}

void MainWindow::show_tab(const Request& request) {
  for (auto tab = shown_.cbegin(); tab != shown_.cend(); ++tab)
    if (tab.value().request == request) {
      tabs_->setCurrentWidget(tab.key());
      return tab.value().is_failed ? read_again() : void();
    }
  auto* loading = new LoadingPage(request.paths().join('\n'));
  const QString title = request.compares() ? tr("compare")
                        : request.scales() ? tr("scaling")
                                           : QFileInfo(request.path).fileName();
  tabs_->setCurrentIndex(tabs_->addTab(loading, title));
  connect(loading, &LoadingPage::cancelled, this, [this, loading] {
    const QList<LoadJob*> jobs = jobs_.keys(loading);
    if (jobs.isEmpty()) return close_tab(tabs_->indexOf(loading));
    for (LoadJob* job : jobs) job->cancel();
  });
  connect(loading, &LoadingPage::go_on_wanted, this, [this, loading, request] {
    Request forced = request;
    forced.is_forced = true;
    show_tab(forced);
    close_tab(tabs_->indexOf(loading));
  });
  start(loading, request);
}

void MainWindow::open_again() {
  for (const Request& request : kept_open()) show_tab(request);
}

void MainWindow::read_again() {
  QWidget* tab = tabs_->currentWidget();
  if (!shown_.contains(tab) || std::ranges::find(jobs_, tab) != jobs_.end()) return;
  keep_state_of(tab);
  start(tab, shown_[tab].request);
}

void MainWindow::start(QWidget* tab, const Request& request) {
  auto* job = new LoadJob(request.path, work_for(request), this);
  jobs_[job] = tab;
  shown_[tab] = {request};
  show_note();
  show_title();
  if (auto* loading = qobject_cast<LoadingPage*>(tab)) {
    loading->show_start();
    // What is read again is shown when it is whole.
    if (request.opens())
      job->on_part = [this, job](const std::shared_ptr<const TraceDocument>& part) { show_part(job, part); };
  }
  job->on_progress = [this, job](const QString& doing, double fraction) {
    if (auto* loading = qobject_cast<LoadingPage*>(jobs_[job])) return loading->show_progress(doing, fraction);
    const QString progress = tr("%1: %2 %").arg(doing).arg(static_cast<int>(100 * fraction));
    shown_[jobs_[job]].progress = progress;
    if (is_partial(jobs_[job])) return show_note();
    statusBar()->showMessage(progress);
  };
  job->on_done = [this, job, request,
                  began = QDateTime::currentDateTime()](const std::shared_ptr<const Document>& document) {
    if (request.opens()) add_recent(request.path);
    statusBar()->clearMessage();
    show_document(job, document);
    QStringList files;
    for (const std::string& file : document->files) files << text(file);
    changes_->watch(jobs_[job], files, began);
    end(job);
    show_note();
  };
  job->on_cancelled = [this, job] {
    QWidget* cancelled = jobs_[job];
    end(job);
    close_tab(tabs_->indexOf(cancelled));
  };
  job->on_failed = [this, job](const QString& why) { fail(job, why, Failure::unreadable); };
  job->on_not_comparable = [this, job, request](const QString& why) {
    fail(job,
         tr("These are not comparable: %1\n\n%2")
             .arg(why, request.scales() ? request.runs.join('\n')
                                        : tr("baseline: %1\ncandidate: %2").arg(request.baseline, request.path)),
         Failure::not_comparable);
  };
  job->start();
}

void MainWindow::end(LoadJob* job) {
  jobs_.remove(job);
  job->deleteLater();
}

// A tab that already shows content keeps it, and a note shows the failure.
void MainWindow::fail(LoadJob* job, const QString& why, Failure failure) {
  last_error_ = why;
  QWidget* tab = jobs_[job];
  end(job);
  statusBar()->clearMessage();
  if (auto* loading = qobject_cast<LoadingPage*>(tab)) {
    shown_[tab].is_failed = true;
    return loading->show_failure(why, failure == Failure::not_comparable);
  }
  shown_[tab].failure = why;
  show_note();
}

Page* MainWindow::make_page(const std::shared_ptr<const Document>& document) {
  if (const auto trace = std::dynamic_pointer_cast<const TraceDocument>(document)) {
    auto* shown = new TracePage(trace);
    connect(shown, &TracePage::read_again_wanted, this, &MainWindow::read_again);
    return shown;
  }
  if (const auto comparison = std::dynamic_pointer_cast<const CompareDocument>(document))
    return new ComparePage(comparison);
  if (const auto judged = std::dynamic_pointer_cast<const GateDocument>(document)) return new GatePage(judged);
  if (const auto scaled = std::dynamic_pointer_cast<const ScalingDocument>(document)) return new ScalingPage(scaled);
  auto* run = new RunPage(std::dynamic_pointer_cast<const RunDocument>(document));
  connect(run, &RunPage::trace_wanted, this, &MainWindow::open);
  connect(run, &RunPage::comparison_wanted, this,
          [this](const QString& from, const QString& to) { compare(from, to); });
  connect(run, &RunPage::other_run_wanted, this, [this] { ask_for_pair(true); });
  connect(run, &RunPage::message_shown, this, &MainWindow::show_message);
  return run;
}

void MainWindow::replace(QWidget* before, Page* page, const QString& title) {
  const int index = tabs_->indexOf(before);
  const bool was_current = tabs_->currentIndex() == index;
  page->set_theme(*theme_);
  page->set_legend(has_legend());
  tabs_->insertTab(index, page, title);
  shown_[page] = shown_.take(before);
  changes_->forget(before);
  tabs_->removeTab(tabs_->indexOf(before));
  if (was_current) tabs_->setCurrentWidget(page);
  if (was_current) page->setFocus();
  before->deleteLater();
}

// Two copies of a trace have the same cell: then the titles contain their file names.
QString MainWindow::title_among_others(const Document& document, const QWidget* own) const {
  const QString title = text(document.title);
  for (int tab = 0; tab < tabs_->count(); ++tab)
    if (tabs_->widget(tab) != own && tabs_->tabText(tab) == title)
      return tr("%1 (%2)").arg(title, QFileInfo(text(document.path)).fileName());
  return title;
}

void MainWindow::show_document(LoadJob* job, const std::shared_ptr<const Document>& document) {
  Page* page = make_page(document);
  // A user who already looks at the partial trace keeps the same view.
  const auto* part = is_partial(jobs_[job]) ? qobject_cast<const TracePage*>(jobs_[job]) : nullptr;
  auto* whole = qobject_cast<TracePage*>(page);
  const std::function<void()> go_on = part == nullptr || whole == nullptr ? [] {} : whole->going_on_from(*part);
  replace(jobs_[job], page, title_among_others(*document, jobs_[job]));
  jobs_[job] = page;
  tabs_->setTabToolTip(tabs_->indexOf(page), tooltip_text(text(document->path)));
  show_title();
  restore_state_of(page);
  go_on();
}

bool MainWindow::has_legend() { return viewer_settings().value("legend", true).toBool(); }

void MainWindow::show_part(LoadJob* job, const std::shared_ptr<const TraceDocument>& part) {
  show_document(job, part);
  tabs_->setTabText(tabs_->indexOf(jobs_[job]), tr("%1 ...").arg(text(part->title)));
  show_title();
}

void MainWindow::close_tab(int index) {
  QWidget* tab = tabs_->widget(index);
  if (tab == nullptr) return;
  keep_state_of(tab);
  for (LoadJob* job : jobs_.keys(tab)) {
    jobs_.remove(job);
    delete job;
  }
  shown_.remove(tab);
  changes_->forget(tab);
  tabs_->removeTab(index);
  tab->deleteLater();
  if (tabs_->count() == 0) show_start();
}

void MainWindow::set_dark(bool is_dark) {
  theme_ = is_dark ? &Theme::dark() : &Theme::light();
  apply_look(*theme_);
  for (int i = 0; i < tabs_->count(); ++i)
    if (auto* shown = qobject_cast<Page*>(tabs_->widget(i))) shown->set_theme(*theme_);
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
  auto* widget = qobject_cast<QWidget*>(watched);
  if (widget == nullptr || widget->window() != this) return false;
  if (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress)
    return widget == QApplication::focusWidget() && handle_keys(widget, static_cast<QKeyEvent*>(event));
  return take_files(event);
}

bool MainWindow::handle_keys(QWidget* widget, QKeyEvent* pressed) {
  const bool leads_back = pressed->key() == Qt::Key_Escape && page() != nullptr && page()->timeline() != nullptr &&
                          page()->isAncestorOf(widget) && qobject_cast<const TimelineView*>(widget) == nullptr;
  if (pressed->type() == QEvent::KeyPress) {
    if (leads_back) page()->timeline()->setFocus();
    return leads_back;
  }
  if (!leads_back && !takes_key(*widget, *pressed)) return false;
  pressed->accept();
  return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  keep_all();
  QMainWindow::closeEvent(event);
}

// A window in which nothing was opened leaves what is kept of the one before.
void MainWindow::keep_all() const {
  viewer_settings().setValue("window", saveGeometry());
  std::vector<Request> open;
  for (int i = 0; i < tabs_->count(); ++i) {
    keep_state_of(tabs_->widget(i));
    const auto shown = shown_.constFind(tabs_->widget(i));
    if (shown != shown_.cend() && !shown->is_failed) open.push_back(shown->request);
  }
  if (!open.empty()) keep_open(open);
}

void MainWindow::keep_state_of(QWidget* tab) const {
  const auto* shown = qobject_cast<const Page*>(tab);
  if (shown == nullptr || is_partial(tab)) return;
  const QJsonObject state = shown->kept_state();
  if (!state.isEmpty()) keep_state(key_of(shown_[tab].request), state);
}

void MainWindow::restore_state_of(QWidget* tab) const {
  auto* shown = qobject_cast<Page*>(tab);
  if (shown == nullptr || is_partial(tab)) return;
  const QJsonObject state = kept_state(key_of(shown_[tab].request));
  if (!state.isEmpty()) shown->restore(state);
}

}  // namespace underlap::viewer
