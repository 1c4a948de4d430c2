// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/selection_panel.hpp"

#include <QComboBox>
#include <QSplitter>
#include <QTableView>
#include <QtConcurrent>
#include <utility>

#include "viewer/app/labels.hpp"
#include "viewer/app/tables.hpp"

namespace underlap::viewer {

SelectionPanel::SelectionPanel()
    : ranks_(new QComboBox),
      text_(plain_label()),
      parts_(new FigureTableModel(this)),
      names_(new FigureTableModel(this)) {
  auto* split = new QSplitter(Qt::Horizontal);
  for (FigureTableModel* model : {parts_, names_}) {
    auto* table = make_table(model, model == parts_ ? tr("Parts of the selection") : tr("Names in the selection"),
                             model == parts_ ? -1 : FigureTableModel::kSort);
    split->addWidget(table);
    if (model == parts_) continue;
    table->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(table, &QWidget::customContextMenuRequested, this, [this, table](const QPoint& at) {
      const QModelIndex index = table->indexAt(at);
      if (!index.isValid()) return;
      const std::string& name = names_->table().rows[static_cast<std::size_t>(source_row(index))].names.front();
      emit menu_wanted(viewer::text(name), table->viewport()->mapToGlobal(at), table->actions());
    });
  }
  ranks_->setAccessibleName(tr("Ranks"));
  ranks_->addItem(tr("all ranks"));
  ranks_->hide();
  connect(ranks_, &QComboBox::currentIndexChanged, this, &SelectionPanel::rank_chosen);
  auto* heading = new QHBoxLayout;
  heading->addWidget(ranks_);
  heading->addWidget(text_, 1);
  auto* layout = column_of(this, 4, 4);
  layout->addLayout(heading);
  layout->addWidget(split, 1);
  after_dragging_.setSingleShot(true);
  connect(&after_dragging_, &QTimer::timeout, this, [this] { working_.setFuture(QtConcurrent::run(work_)); });
  connect(&working_, &QFutureWatcherBase::finished, this, [this] {
    if (work_ && !working_.isCanceled()) show_figures(working_.result());
  });
  ask({});
}

void SelectionPanel::offer_ranks(const std::vector<std::int32_t>& ranks) {
  for (const std::int32_t rank : ranks) ranks_->addItem(tr("rank %1").arg(rank), rank);
  ranks_->setVisible(ranks.size() > 1);
}

std::optional<std::int32_t> SelectionPanel::rank() const {
  const QVariant chosen = ranks_->currentData();
  return chosen.isValid() ? std::optional(chosen.toInt()) : std::nullopt;
}

void SelectionPanel::ask(Work work) {
  work_ = std::move(work);
  constexpr int kAfterDragging = 60;  // milliseconds
  if (work_) return after_dragging_.start(kAfterDragging);
  after_dragging_.stop();
  show_figures({tr("Shift+drag over the timeline, or drag over its ruler, to select a range."), {}, {}});
}

void SelectionPanel::show_figures(const RangeFigures& figures) {
  text_->setText(figures.text);
  parts_->set_table(figures.parts);
  names_->set_table(figures.names);
}

}  // namespace underlap::viewer
