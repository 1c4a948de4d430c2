// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/loading_page.hpp"

#include <QProgressBar>
#include <QPushButton>

#include "viewer/app/labels.hpp"

namespace underlap::viewer {

LoadingPage::LoadingPage(const QString& path)
    : path_(path),
      text_(sentence_label()),
      bar_(new QProgressBar),
      cancel_(new QPushButton),
      go_on_(new QPushButton(tr("Compare anyway"))) {
  text_->setAlignment(Qt::AlignCenter);
  bar_->setRange(0, 1000);
  bar_->setFixedWidth(600);
  bar_->setTextVisible(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(40, 20, 40, 20);
  layout->addStretch(2);
  layout->addWidget(text_);  // not aligned: it would be too low for its lines
  layout->addWidget(bar_, 0, Qt::AlignHCenter);
  layout->addWidget(cancel_, 0, Qt::AlignHCenter);
  layout->addWidget(go_on_, 0, Qt::AlignHCenter);
  layout->addStretch(3);
  connect(cancel_, &QPushButton::clicked, this, &LoadingPage::cancelled);
  connect(go_on_, &QPushButton::clicked, this, &LoadingPage::go_on_wanted);
  show_start();
}

void LoadingPage::show_start() {
  text_->setText(path_);
  bar_->setValue(0);
  bar_->show();
  cancel_->setText(tr("Cancel"));
  go_on_->hide();
}

void LoadingPage::show_progress(const QString& doing, double fraction) {
  if (!doing.isEmpty()) text_->setText(doing);
  bar_->setValue(static_cast<int>(1000 * fraction));
}

void LoadingPage::show_failure(const QString& why, bool offers_to_go_on) {
  text_->setText(tr("%1\n\nPress F5 to read it again.").arg(why));
  bar_->hide();
  cancel_->setText(tr("Close"));
  go_on_->setVisible(offers_to_go_on);
}

}  // namespace underlap::viewer
