// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/report_page.hpp"

#include <QFontDatabase>
#include <QPlainTextEdit>
#include <QSplitter>

#include "profiler/gate/reports.hpp"
#include "viewer/app/chart_panel.hpp"
#include "viewer/app/labels.hpp"

namespace underlap::viewer {
namespace {

constexpr TableFormat kFormat{.width = 120, .unicode = true};

QString heading_of(const GateDocument& document) {
  const gate::GateReport& report = document.report;
  QString all = text(gate::verdict_sentence(report));
  if (!report.forced.empty())
    all = ReportPage::tr("NOT COMPARABLE, judged anyway: %1\n%2").arg(text(report.forced), all);
  return all + ReportPage::tr("\nbaseline: %1\ncandidate: %2")
                   .arg(report.baseline.sources.empty() ? QString("-") : text(gate::side_text(report.baseline)),
                        text(gate::side_text(report.candidate)));
}

QString heading_of(const ScalingDocument& document) {
  const QString made = text(how_made(document.report));
  if (document.report.forced.empty()) return made;
  return ReportPage::tr("NOT COMPARABLE, compared anyway: %1\n%2").arg(text(document.report.forced), made);
}

}  // namespace

ReportPage::ReportPage(std::shared_ptr<const GateDocument> judged)
    : ReportPage(judged, heading_of(*judged), gate::gate_text(judged->report, kFormat, gate::Rows::all),
                 {.name = judged->path, .gate = &judged->report}) {}

ReportPage::ReportPage(std::shared_ptr<const ScalingDocument> scaled)
    : ReportPage(scaled, heading_of(*scaled), report::scaling_text(scaled->report, kFormat, report::Details::included),
                 {.name = scaled->path, .scaling = &scaled->report}) {}

ReportPage::ReportPage(std::shared_ptr<const Document> document, const QString& heading, const std::string& all,
                       const ChartInput& input)
    : document_(std::move(document)), heading_(heading), all_(text(all)), input_(input), charts_(new ChartPanel) {
  auto* label = sentence_label(heading_);
  label->setContentsMargins(8, 4, 8, 4);
  auto* words = new QPlainTextEdit(all_);
  words->setReadOnly(true);
  words->setLineWrapMode(QPlainTextEdit::NoWrap);
  words->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  words->setAccessibleName(tr("Full report"));
  text_ = words;
  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(charts_);
  splitter->addWidget(text_);
  splitter->setSizes({500, 260});
  auto* layout = column_of(this);
  layout->addWidget(label);
  layout->addWidget(splitter, 1);
  charts_->set_input(input_);
  setFocusProxy(charts_);
}

void ReportPage::set_theme(const Theme& theme) { charts_->set_theme(theme); }

QList<QWidget*> ReportPage::stops() { return {charts_->focusProxy(), text_}; }

}  // namespace underlap::viewer
