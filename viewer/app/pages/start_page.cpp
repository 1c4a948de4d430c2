// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/start_page.hpp"

#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {

StartPage::StartPage() {
  auto* words =
      new QLabel(tr("<h2>Underlap</h2><p>Open a trace (Underlap, PyTorch profiler, Nsight Systems), a folder with the "
                    "traces of a job's ranks, or a run folder. Or drop it here.</p>"));
  words->setWordWrap(true);
  words->setAlignment(Qt::AlignHCenter);  // of the text: an aligned widget would be too low for its lines
  auto* trace = new QPushButton(tr("Open a &trace..."));
  auto* folder = new QPushButton(tr("Open a &folder..."));
  connect(trace, &QPushButton::clicked, this, &StartPage::trace_wanted);
  connect(folder, &QPushButton::clicked, this, &StartPage::folder_wanted);
  const auto num_open = kept_open().size();
  auto* again = new QPushButton(tr("Open last session &again (%1)").arg(num_open));
  if (num_open == 0) again->hide();
  connect(again, &QPushButton::clicked, this, &StartPage::open_again_wanted);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(40, 20, 40, 20);
  layout->addStretch(1);
  layout->addWidget(words);
  for (QPushButton* button : {trace, folder, again}) {
    button->setMinimumWidth(220);
    layout->addWidget(button, 0, Qt::AlignHCenter);
  }
  layout->addSpacing(16);
  for (const QString& path : viewer_settings().value("recent").toStringList()) {
    if (!QFileInfo::exists(path)) continue;
    auto* link = new QLabel(QString("<a href=\"%1\">%1</a>").arg(path.toHtmlEscaped()));
    link->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    layout->addWidget(link, 0, Qt::AlignHCenter);
    connect(link, &QLabel::linkActivated, this, [this, path] { emit open_wanted(path); });
  }
  layout->addStretch(2);
}

}  // namespace underlap::viewer
