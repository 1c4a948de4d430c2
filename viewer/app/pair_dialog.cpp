// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pair_dialog.hpp"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QPushButton>
#include <QUrl>

#include "viewer/app/labels.hpp"

namespace underlap::viewer {
namespace {

// Other programs paste files as addresses.
QString path_in(const QComboBox& side) {
  const QString path = side.currentText().trimmed();
  return path.startsWith("file:") ? QUrl(path).toLocalFile() : path;
}

}  // namespace

PairDialog::PairDialog(const QString& about, const QStringList& offered, const QString& candidate, QWidget* parent)
    : QDialog(parent), baseline_(new QComboBox), candidate_(new QComboBox) {
  setAttribute(Qt::WA_DeleteOnClose);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
  ok_ = buttons->button(QDialogButtonBox::Ok);
  auto* sides = new QFormLayout;
  sides->addRow(tr("&Baseline:"), make_side(baseline_, tr("Baseline")));
  sides->addRow(tr("&Candidate:"), make_side(candidate_, tr("Candidate")));
  auto* layout = column_of(this, 12, 12);
  layout->addWidget(sentence_label(about));
  layout->addLayout(sides);
  layout->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &PairDialog::choose);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  baseline_->addItems(offered);
  candidate_->addItems(offered);
  candidate_->setCurrentText(candidate);
  if (candidate.isEmpty()) baseline_->clearEditText();
  allow_ok();
  resize(720, sizeHint().height());
}

QWidget* PairDialog::make_side(QComboBox* side, const QString& name) {
  side->setEditable(true);
  side->setInsertPolicy(QComboBox::NoInsert);
  side->setAccessibleName(name);
  side->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  auto* file = new QPushButton(tr("File..."));
  auto* folder = new QPushButton(tr("Folder..."));
  const auto use = [side](const QString& path) {
    if (!path.isEmpty()) side->setCurrentText(path);
  };
  connect(file, &QPushButton::clicked, this, [this, use, name] { use(QFileDialog::getOpenFileName(this, name)); });
  connect(folder, &QPushButton::clicked, this,
          [this, use, name] { use(QFileDialog::getExistingDirectory(this, name)); });
  for (QPushButton* button : {file, folder}) button->setAutoDefault(false);
  connect(side, &QComboBox::editTextChanged, this, &PairDialog::allow_ok);
  auto* line = new QWidget;
  line->setFocusProxy(side);
  auto* layout = new QHBoxLayout(line);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(side, 1);
  layout->addWidget(file);
  layout->addWidget(folder);
  return line;
}

void PairDialog::allow_ok() { ok_->setEnabled(!path_in(*baseline_).isEmpty() && !path_in(*candidate_).isEmpty()); }

void PairDialog::choose() {
  const QString baseline = path_in(*baseline_), candidate = path_in(*candidate_);
  accept();
  emit chosen(baseline, candidate);
}

}  // namespace underlap::viewer
