// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/app/pages/page.hpp"
#include "viewer/model/document.hpp"

class QLayout;
class QTableView;

namespace underlap::viewer {

class ChartPanel;
class TextTableModel;

/// A run: what `underlap show` prints of it, its tables, and charts of its cells. A cell opens its trace; two open a
/// comparison.
class RunPage : public Page {
  Q_OBJECT

 public:
  explicit RunPage(std::shared_ptr<const RunDocument> document);

  const RunDocument& document() const { return *document_; }
  /// One row a cell.
  const TextTableModel& cells() const { return *sections_.front(); }
  /// Heading, answers and warnings, as they are shown.
  const QString& summary() const { return summary_; }
  ChartPanel* charts() override { return charts_; }
  ChartInput chart_input() const override;
  void set_theme(const Theme&) override;
  QList<QWidget*> stops() override;

 signals:
  void trace_wanted(const QString& path);
  void comparison_wanted(const QString& from, const QString& to);
  void other_run_wanted();  ///< that this one is to be judged by
  void message_shown(const QString& message);

 private:
  QWidget* make_summary();
  QWidget* make_tables();
  QWidget* make_cells(TextTableModel*);
  QLayout* make_buttons(QTableView* cells);
  void open_cell(int cell);
  void compare_cells(const std::vector<int>& cells);

  std::shared_ptr<const RunDocument> document_;
  std::vector<TextTableModel*> sections_;
  QString summary_;
  ChartPanel* charts_;
};

}  // namespace underlap::viewer
