// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/app/pages/page.hpp"
#include "viewer/model/document.hpp"
#include "viewer/model/figure_table_model.hpp"

namespace underlap::viewer {

class ChartPanel;

/// A run as its matrix: its cells, and charts of them. A cell opens its trace; two open a comparison.
class RunPage : public Page {
  Q_OBJECT

 public:
  explicit RunPage(std::shared_ptr<const RunDocument> document);

  const RunDocument& document() const { return *document_; }
  const FigureTableModel& matrix() const { return *matrix_; }
  ChartInput chart_input() const override;
  void set_theme(const Theme&) override;
  QList<QWidget*> stops() override;

 signals:
  void trace_wanted(const QString& path);
  void comparison_wanted(const QString& from, const QString& to);
  void other_run_wanted();  ///< that this one is to be judged by
  void message_shown(const QString& message);

 private:
  void open_cell(int cell);
  void compare_cells(const std::vector<int>& cells);
  QString heading() const;

  std::shared_ptr<const RunDocument> document_;
  FigureTableModel* matrix_;
  ChartPanel* charts_;
};

}  // namespace underlap::viewer
