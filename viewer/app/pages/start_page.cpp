// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/start_page.hpp"

#include <QAction>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>

#include "viewer/app/command_palette.hpp"
#include "viewer/app/example_job.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {
namespace {

constexpr int kWidth = 780;  // of all that the page shows

QLabel* title_label(const QString& text) {
  QLabel* label = plain_label(text);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  label->setContentsMargins(0, 12, 0, 0);
  return label;
}

// A shell's pattern names no file of its own.
bool is_missing(const QString& path) { return !path.contains('*') && !QFileInfo::exists(path); }

QWidget* make_keys(const QList<QAction*>& actions) {
  auto* keys = new QWidget;
  auto* layout = new QGridLayout(keys);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setHorizontalSpacing(16);
  const qsizetype rows = (actions.size() + 1) / 2;
  for (qsizetype i = 0; i < actions.size(); ++i) {
    const int row = static_cast<int>(i % rows), column = i < rows ? 0 : 2;
    layout->addWidget(plain_label(keys_text(*actions[i])), row, column);
    layout->addWidget(plain_label(plain_text(*actions[i])), row, column + 1);
  }
  layout->setColumnStretch(1, 1);
  layout->setColumnStretch(3, 1);
  return keys;
}

}  // namespace

StartPage::StartPage(const QList<QAction*>& buttons, const QList<QAction*>& keys)
    : recent_(new QWidget), recent_rows_(new QGridLayout) {
  auto* name = title_label(tr("Underlap"));
  QFont large = name->font();
  large.setPointSizeF(1.6 * large.pointSizeF());
  name->setFont(large);
  auto* all = new QWidget;
  all->setMaximumWidth(kWidth);
  auto* layout = column_of(all, 16, 8);
  layout->addStretch(1);
  layout->addWidget(name);
  layout->addWidget(sentence_label(
      tr("Open a trace (Underlap, PyTorch profiler, Nsight Systems and others), a folder with the traces of a job's "
         "ranks, or a run. You can also drop files and folders here: one opens, two are compared.")));
  layout->addWidget(make_buttons(buttons));
  layout->addWidget(make_example());
  layout->addWidget(make_recent());
  layout->addWidget(title_label(tr("Keys")));
  layout->addWidget(make_keys(keys));
  layout->addStretch(2);
  auto* centered = new QWidget;
  auto* row = new QHBoxLayout(centered);
  row->addStretch(1);
  row->addWidget(all, 1000);
  row->addStretch(1);
  auto* scrolled = new QScrollArea;
  scrolled->setFrameShape(QFrame::NoFrame);
  scrolled->setWidgetResizable(true);
  scrolled->setWidget(centered);
  column_of(this)->addWidget(scrolled);
}

QWidget* StartPage::make_buttons(const QList<QAction*>& actions) {
  auto* line = new QWidget;
  auto* layout = new QHBoxLayout(line);
  layout->setContentsMargins(0, 4, 0, 0);
  for (QAction* action : actions) {
    auto* button = new QPushButton(action->text());
    connect(button, &QPushButton::clicked, action, &QAction::trigger);
    layout->addWidget(button);
  }
  const auto num_open = kept_open().size();
  if (num_open > 0) {
    auto* again = new QPushButton(tr("Open last session &again (%1)").arg(num_open));
    connect(again, &QPushButton::clicked, this, &StartPage::open_again_wanted);
    layout->addWidget(again);
  }
  layout->addStretch(1);
  return line;
}

QWidget* StartPage::make_example() {
  auto* line = new QWidget;
  auto* layout = new QHBoxLayout(line);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* open = new QPushButton(tr("Open the &example"));
  open->setObjectName("example");
  connect(open, &QPushButton::clicked, this, &StartPage::example_wanted);
  layout->addWidget(open);
  layout->addWidget(sentence_label(kExampleJob), 1);
  return line;
}

QWidget* StartPage::make_recent() {
  auto* layout = column_of(recent_);
  layout->addWidget(title_label(tr("Recent")));
  recent_rows_->setColumnStretch(0, 1);
  layout->addLayout(recent_rows_);
  fill_recent();
  return recent_;
}

void StartPage::fill_recent() {
  while (QLayoutItem* item = recent_rows_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  const QStringList paths = recent_paths();
  recent_->setVisible(!paths.isEmpty());
  for (int row = 0; row < paths.size(); ++row) {
    const QString& path = paths[row];
    const QString shown = fontMetrics().elidedText(path, Qt::ElideMiddle, kWidth - 140);
    if (is_missing(path)) {
      auto* label = plain_label(tr("%1 (missing)").arg(shown));
      label->setEnabled(false);
      auto* remove = new QToolButton;
      remove->setText(tr("Remove"));
      remove->setAccessibleName(tr("Remove %1 from the list").arg(path));
      // Later: the button must outlive its own signal.
      connect(remove, &QToolButton::clicked, this, [this, path] {
        remove_recent(path);
        QMetaObject::invokeMethod(this, &StartPage::fill_recent, Qt::QueuedConnection);
      });
      recent_rows_->addWidget(label, row, 0);
      recent_rows_->addWidget(remove, row, 1);
      continue;
    }
    auto* link = new QLabel(QString("<a href=\"#\">%1</a>").arg(shown.toHtmlEscaped()));
    link->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    connect(link, &QLabel::linkActivated, this, [this, path] { emit open_wanted(path); });
    recent_rows_->addWidget(link, row, 0);
  }
}

void StartPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  fill_recent();
}

}  // namespace underlap::viewer
