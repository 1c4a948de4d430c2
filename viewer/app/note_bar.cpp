// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/note_bar.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace underlap::viewer {

NoteBar::NoteBar(QWidget* parent) : QFrame(parent), text_(new QLabel) {
  setFrameShape(QFrame::StyledPanel);
  text_->setWordWrap(true);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* again = new QPushButton(tr("&Read again"));
  connect(again, &QPushButton::clicked, this, &NoteBar::read_again_wanted);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 2, 8, 2);
  layout->addWidget(text_, 1);
  layout->addWidget(again);
  hide();
}

void NoteBar::show_note(const QString& note) {
  text_->setText(note);
  setVisible(!note.isEmpty());
}

QString NoteBar::note() const { return text_->text(); }

}  // namespace underlap::viewer
