// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/keys_overlay.hpp"

#include <QApplication>
#include <QFrame>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollArea>
#include <algorithm>
#include <array>

#include "viewer/app/labels.hpp"

namespace underlap::viewer {
namespace {

QWidget* make_group(const KeyGroup& group) {
  auto* widget = new QWidget;
  auto* rows = new QGridLayout(widget);
  rows->setContentsMargins(0, 0, 0, 8);
  rows->setHorizontalSpacing(12);
  rows->setVerticalSpacing(2);
  rows->setColumnStretch(1, 1);
  QLabel* title = plain_label(group.title);
  QFont font = title->font();
  font.setBold(true);
  title->setFont(font);
  rows->addWidget(title, 0, 0, 1, 2);
  for (int i = 0; i < group.lines.size(); ++i) {
    QLabel* what = plain_label(group.lines[i].what);
    what->setWordWrap(true);
    rows->addWidget(plain_label(group.lines[i].keys), i + 1, 0, Qt::AlignTop);
    rows->addWidget(what, i + 1, 1, Qt::AlignTop);
  }
  return widget;
}

// Each group goes into the column that is shortest so far.
QWidget* make_columns(const QList<KeyGroup>& groups) {
  constexpr std::size_t kColumns = 3;
  auto* all = new QWidget;
  auto* line = new QHBoxLayout(all);
  line->setContentsMargins(16, 12, 16, 12);
  line->setSpacing(24);
  std::array<QVBoxLayout*, kColumns> columns{};
  std::array<qsizetype, kColumns> heights{};
  for (QVBoxLayout*& column : columns) line->addLayout(column = new QVBoxLayout, 1);
  for (const KeyGroup& group : groups) {
    const auto shortest = static_cast<std::size_t>(std::ranges::min_element(heights) - heights.begin());
    columns[shortest]->addWidget(make_group(group));
    heights[shortest] += group.lines.size() + 2;
  }
  for (QVBoxLayout* column : columns) column->addStretch(1);
  return all;
}

}  // namespace

QList<KeyGroup> mouse_groups() {
  const auto tr = [](const char* words) { return KeysOverlay::tr(words); };
  return {{tr("Mouse on the timeline"),
           {{tr("wheel"), tr("Scroll lanes")},
            {tr("Ctrl+wheel"), tr("Zoom at the mouse position")},
            {tr("drag, Shift+wheel"), tr("Move in time")},
            {tr("Shift+drag, Ctrl+drag, drag on the ruler"), tr("Select a range")},
            {tr("click"), tr("Select a slice")},
            {tr("double-click, middle button"), tr("Zoom to a slice")},
            {tr("right button on a slice"), tr("Assign communication to a mode")},
            {tr("click on a rank's strip"), tr("Expand the rank into its lanes")},
            {tr("click on a lane's name"), tr("Collapse or expand the lane")},
            {tr("Ctrl+click on a lane's name"), tr("Pin or unpin the lane")},
            {tr("drag a lane's name"), tr("Move the lane")},
            {tr("click or drag in the overview"), tr("Go to that time")}}},
          {tr("Lists, tables and files"),
           {{tr("Esc"), tr("Return to the timeline")},
            {tr("Enter, click"), tr("Go to the slice or cell of a row")},
            {tr("click on a title"), tr("Sort")},
            {tr("Ctrl+C"), tr("Copy the selected rows, or the table")},
            {tr("right button"), tr("Copy a table or save it as CSV; copy or save a chart")},
            {tr("Space"), tr("Show or hide a lane in the list of lanes")},
            {tr("drop a file or folder"), tr("Open it")},
            {tr("drop two"), tr("Compare them")}}}};
}

KeysOverlay::KeysOverlay(const QList<KeyGroup>& groups, QWidget* window)
    : QWidget(window), groups_(groups), focused_(QApplication::focusWidget()) {
  setAttribute(Qt::WA_DeleteOnClose);
  setFocusPolicy(Qt::StrongFocus);
  auto* panel = new QScrollArea;
  panel->setFrameShape(QFrame::StyledPanel);
  panel->setWidgetResizable(true);
  panel->setWidget(make_columns(groups));
  panel->setFocusPolicy(Qt::NoFocus);
  column_of(this, 24)->addWidget(panel);
  window->installEventFilter(this);
  setGeometry(window->rect());
  show();
  raise();
  setFocus();
}

KeysOverlay::~KeysOverlay() {
  if (focused_ != nullptr) focused_->setFocus();
}

bool KeysOverlay::event(QEvent* event) {
  const bool is_key = event->type() == QEvent::KeyPress || event->type() == QEvent::ShortcutOverride;
  const int key = is_key ? static_cast<QKeyEvent*>(event)->key() : 0;
  const bool closes = key == Qt::Key_Escape || key == Qt::Key_Return || key == Qt::Key_Enter;
  if (event->type() == QEvent::ShortcutOverride && closes) {
    event->accept();
    return true;
  }
  if (event->type() == QEvent::MouseButtonPress || (event->type() == QEvent::KeyPress && closes)) return close();
  return QWidget::event(event);
}

bool KeysOverlay::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) setGeometry(static_cast<QWidget*>(watched)->rect());
  return false;
}

void KeysOverlay::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), QColor(0, 0, 0, 120)); }

}  // namespace underlap::viewer
