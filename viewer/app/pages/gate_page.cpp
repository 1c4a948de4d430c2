// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/gate_page.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>

#include "profiler/gate/reports.hpp"
#include "viewer/app/chart_panel.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/tables.hpp"
#include "viewer/model/text_table_model.hpp"
#include "viewer/model/window_text.hpp"

namespace underlap::viewer {
namespace {

QColor color_of(gate::Verdict verdict, const Theme& theme) {
  if (verdict == gate::Verdict::pass) return theme.better;
  return verdict == gate::Verdict::regression ? theme.worse : theme.dim_text;
}

}  // namespace

GatePage::GatePage(std::shared_ptr<const GateDocument> document)
    : document_(std::move(document)),
      verdict_(plain_label()),
      explanation_(sentence_label()),
      rows_(new TextTableModel(
          gate::rows_table(document_->report, gate::Rows::all, document_->report.baseline.sources.empty()), this)),
      differences_(new TextTableModel(compare::differences_table(document_->report.differences), this)),
      charts_(new ChartPanel) {
  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(make_rows());
  splitter->addWidget(make_details());
  splitter->setSizes({280, 420});
  auto* layout = column_of(this, 0, 4);
  layout->addWidget(make_heading());
  layout->addWidget(splitter, 1);
  charts_->set_input(chart_input());
}

QWidget* GatePage::make_heading() {
  verdict_->setText(text(to_string(document_->report.verdict)).toUpper());
  QFont font = verdict_->font();
  font.setBold(true);
  font.setPointSizeF(1.4 * font.pointSizeF());
  verdict_->setFont(font);
  verdict_->setMargin(8);
  verdict_->setAutoFillBackground(true);
  auto* line = new QWidget;
  auto* layout = new QHBoxLayout(line);
  layout->setContentsMargins(8, 6, 8, 2);
  layout->addWidget(verdict_, 0, Qt::AlignTop);
  layout->addWidget(sentence_label(heading()), 1);
  return line;
}

QString GatePage::heading() const {
  const gate::GateReport& report = document_->report;
  QStringList lines;
  if (!report.forced.empty()) lines << tr("NOT COMPARABLE, judged anyway: %1").arg(text(report.forced));
  lines << text(gate::verdict_sentence(report));
  for (const std::string& warning : report.warnings) lines << text(window_text(warning));
  if (const std::string schedules = gate::schedules_text(report); !schedules.empty()) lines << text(schedules);
  if (!report.baseline.sources.empty()) lines << tr("baseline: %1").arg(text(gate::side_text(report.baseline)));
  lines << tr("candidate: %1").arg(text(gate::side_text(report.candidate))) << text(gate::method_text(report));
  return lines.join('\n');
}

QWidget* GatePage::make_rows() {
  auto* table = make_table(rows_, tr("Metrics of the gate"), TextTableModel::kSort);
  connect(table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& row) { explain(source_row(row)); });
  explanation_->setContentsMargins(8, 0, 8, 0);
  explain(0);
  setFocusProxy(table);
  auto* panel = new QWidget;
  auto* layout = column_of(panel, 0, 4);
  layout->addWidget(table, 1);
  layout->addWidget(explanation_);
  return panel;
}

QWidget* GatePage::make_details() {
  details_ = new QTabWidget;
  details_->setDocumentMode(true);
  details_->addTab(charts_, tr("Chart"));
  const std::size_t num_differences = document_->report.differences.size();
  if (num_differences > 0)
    details_->addTab(make_table(differences_, tr("Settings that differ between the sides")),
                     tr("Different settings: %1").arg(num_differences));
  return details_;
}

// The rows of the table are those of the report, in the same order.
void GatePage::explain(int row) {
  const auto& rows = document_->report.rows;
  if (row < 0 || row >= static_cast<int>(rows.size())) return explanation_->clear();
  const gate::GateRow& chosen = rows[static_cast<std::size_t>(row)];
  QString all = tr("%1: %2").arg(text(chosen.cell), text(gate::row_sentence(chosen)));
  if (chosen.verdict == gate::Verdict::inconclusive)
    all += "; " + text(gate::what_would_decide(chosen));
  else if (!chosen.moved.empty())
    all += tr("; what moved: %1").arg(text(gate::moved_text(chosen.moved)));
  explanation_->setText(all);
}

ChartInput GatePage::chart_input() const { return {.name = document_->path, .gate = &document_->report}; }

void GatePage::set_theme(const Theme& theme) {
  charts_->set_theme(theme);
  for (TextTableModel* model : {rows_, differences_}) model->set_colors({theme.better, theme.worse, theme.dim_text});
  QPalette palette = verdict_->palette();
  palette.setColor(QPalette::Window, color_of(document_->report.verdict, theme));
  palette.setColor(QPalette::WindowText, theme.is_dark ? theme.background : QColor(Qt::white));
  verdict_->setPalette(palette);
}

QList<QWidget*> GatePage::stops() { return {focusProxy(), details_->tabBar(), charts_->focusProxy()}; }

}  // namespace underlap::viewer
