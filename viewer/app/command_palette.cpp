// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/command_palette.hpp"

#include <QAction>
#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <algorithm>

#include "viewer/app/labels.hpp"

namespace underlap::viewer {
namespace {

// Every word in any place, in any case.
bool fits(const QString& text, const QStringList& words) {
  return std::ranges::all_of(words, [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

}  // namespace

QString plain_text(const QAction& action) { return action.text().remove('&'); }

QString keys_text(const QAction& action) {
  return QKeySequence::listToString(action.shortcuts(), QKeySequence::NativeText);
}

CommandPalette::CommandPalette(const QList<QAction*>& actions, QWidget* parent)
    : QDialog(parent, Qt::Popup), actions_(actions), words_(new QLineEdit), list_(new QListWidget) {
  words_->setPlaceholderText(tr("search for a command"));
  words_->setAccessibleName(tr("Search for a command"));
  words_->installEventFilter(this);
  auto* layout = column_of(this, 6);
  layout->addWidget(words_);
  layout->addWidget(list_);
  resize(460, 360);
  connect(words_, &QLineEdit::textChanged, this, &CommandPalette::show_fitting);
  connect(words_, &QLineEdit::returnPressed, this, &CommandPalette::do_current);
  connect(list_, &QListWidget::itemActivated, this, &CommandPalette::do_current);
  show_fitting({});
}

QStringList CommandPalette::shown() const {
  QStringList texts;
  for (int row = 0; row < list_->count(); ++row) texts << list_->item(row)->text();
  return texts;
}

void CommandPalette::show_fitting(const QString& words) {
  list_->clear();
  const QStringList parts = words.split(' ', Qt::SkipEmptyParts);
  for (qsizetype i = 0; i < actions_.size(); ++i) {
    const QAction& action = *actions_[i];
    if (!action.isEnabled() || !fits(plain_text(action), parts)) continue;
    const QString keys = action.shortcut().toString(QKeySequence::NativeText);
    auto* item = new QListWidgetItem(plain_text(action) + (keys.isEmpty() ? "" : "    " + keys), list_);
    item->setData(Qt::UserRole, i);
  }
  list_->setCurrentRow(0);
}

void CommandPalette::do_current() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) return;
  QAction* action = actions_[item->data(Qt::UserRole).toLongLong()];
  accept();
  action->trigger();
}

// Up and down go through the list while words are typed.
bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QDialog::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (key != Qt::Key_Up && key != Qt::Key_Down) return QDialog::eventFilter(watched, event);
  QApplication::sendEvent(list_, event);
  return true;
}

}  // namespace underlap::viewer
