// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/scaling_page.hpp"

#include <QFontDatabase>
#include <QPlainTextEdit>
#include <QSplitter>

#include "viewer/app/chart_panel.hpp"
#include "viewer/app/labels.hpp"

namespace underlap::viewer {
namespace {

constexpr TableFormat kFormat{.width = 120, .unicode = true};

QString heading_of(const ScalingDocument& document) {
  const QString made = text(how_made(document.report));
  if (document.report.forced.empty()) return made;
  return ScalingPage::tr("NOT COMPARABLE, compared anyway: %1\n%2").arg(text(document.report.forced), made);
}

}  // namespace

ScalingPage::ScalingPage(std::shared_ptr<const ScalingDocument> document)
    : document_(std::move(document)),
      heading_(heading_of(*document_)),
      all_(text(report::scaling_text(document_->report, kFormat, report::Details::included))),
      charts_(new ChartPanel) {
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
  charts_->set_input(chart_input());
  setFocusProxy(charts_);
}

ChartInput ScalingPage::chart_input() const { return {.name = document_->path, .scaling = &document_->report}; }

void ScalingPage::set_theme(const Theme& theme) { charts_->set_theme(theme); }

QList<QWidget*> ScalingPage::stops() { return {charts_->focusProxy(), text_}; }

}  // namespace underlap::viewer
