// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/note_bar.hpp"

#include <QHBoxLayout>
#include <QPushButton>

#include "viewer/app/labels.hpp"

namespace underlap::viewer {

NoteBar::NoteBar(QWidget* parent) : QFrame(parent), text_(sentence_label()), offer_(new QPushButton) {
  setFrameShape(QFrame::StyledPanel);
  connect(offer_, &QPushButton::clicked, this, &NoteBar::taken_up);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 2, 8, 2);
  layout->addWidget(text_, 1);
  layout->addWidget(offer_);
  hide();
}

void NoteBar::show_note(const QString& note, const QString& offer) {
  text_->setText(note);
  offer_->setText(offer);
  setVisible(!note.isEmpty());
}

QString NoteBar::note() const { return text_->text(); }

}  // namespace underlap::viewer
