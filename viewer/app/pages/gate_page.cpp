// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/gate_page.hpp"

#include <QLabel>
#include <QVBoxLayout>

#include "profiler/gate/words.hpp"
#include "viewer/app/chart_panel.hpp"

namespace underlap::viewer {
namespace {

QString text(const std::string& string) { return QString::fromStdString(string); }

}  // namespace

GatePage::GatePage(std::shared_ptr<const GateDocument> document, QWidget* parent)
    : Page(parent), document_(std::move(document)), charts_(new ChartPanel) {
  auto* label = new QLabel(heading());
  label->setWordWrap(true);
  label->setContentsMargins(8, 4, 8, 4);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(label);
  layout->addWidget(charts_, 1);
  charts_->set_input(chart_input());
  setFocusProxy(charts_);
}

ChartInput GatePage::chart_input() const {
  ChartInput input;
  input.name = document_->path;
  input.gate = &document_->report;
  return input;
}

void GatePage::set_theme(const Theme& theme) { charts_->set_theme(theme); }

QString GatePage::heading() const {
  const gate::GateReport& report = document_->report;
  QString all = text(gate::verdict_sentence(report));
  if (!report.forced.empty()) all = tr("NOT COMPARABLE, judged all the same: %1\n%2").arg(text(report.forced), all);
  for (const std::string& warning : report.warnings) all += "\n" + text(warning);
  all += tr("\nbaseline: %1\ncandidate: %2")
             .arg(text(gate::side_text(report.baseline)), text(gate::side_text(report.candidate)));
  for (const compare::Difference& difference : report.differences)
    all += tr("\n%1: %2, was %3").arg(text(difference.what), text(difference.candidate), text(difference.baseline));
  return all;
}

}  // namespace underlap::viewer
