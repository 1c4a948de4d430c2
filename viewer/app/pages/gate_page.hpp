// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/app/pages/page.hpp"
#include "viewer/model/document.hpp"

class QLabel;
class QTabWidget;
class QTableView;

namespace underlap::viewer {

class ChartPanel;
class TextTableModel;

/// A gate: its verdict, one row for each cell and metric, and the chart of the changes.
class GatePage : public Page {
  Q_OBJECT

 public:
  explicit GatePage(std::shared_ptr<const GateDocument> document);

  ChartPanel* charts() override { return charts_; }
  ChartInput chart_input() const override;
  void set_theme(const Theme&) override;
  QList<QWidget*> stops() override;
  /// The verdict in a word, and in a sentence.
  const QLabel& verdict() const { return *verdict_; }
  QString heading() const;
  const TextTableModel& rows() const { return *rows_; }
  /// What decides the selected row, or what moved it.
  const QLabel& explanation() const { return *explanation_; }

 private:
  QWidget* make_heading();
  QWidget* make_rows();
  QWidget* make_details();
  void explain(int row);

  std::shared_ptr<const GateDocument> document_;
  QLabel* verdict_;
  QLabel* explanation_;
  TextTableModel* rows_;
  TextTableModel* differences_;
  QTabWidget* details_ = nullptr;
  ChartPanel* charts_;
};

}  // namespace underlap::viewer
