// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>
#include <QStringList>

class QComboBox;

namespace underlap::viewer {

/// Asks for a baseline and a candidate: files or folders, typed, browsed for, or from a list of offered paths.
class PairDialog : public QDialog {
  Q_OBJECT

 public:
  /// `about`: what can be chosen. `candidate` may be empty; the other offered paths are for the baseline.
  PairDialog(const QString& about, const QStringList& offered, const QString& candidate, QWidget* parent);

  QComboBox* baseline() { return baseline_; }
  QComboBox* candidate() { return candidate_; }

 signals:
  void chosen(const QString& baseline, const QString& candidate);

 private:
  QWidget* make_side(QComboBox* side, const QString& name);
  void allow_ok();
  void choose();

  QComboBox* baseline_;
  QComboBox* candidate_;
  QWidget* ok_ = nullptr;
};

}  // namespace underlap::viewer
