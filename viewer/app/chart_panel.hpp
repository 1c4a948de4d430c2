// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <optional>

#include "viewer/charts/chart.hpp"

class QChartView;
class QComboBox;
class QLabel;
class QScrollArea;

namespace underlap::viewer {

/// One chart of a page at a time, chosen from those that its document has figures for, with all its rows: those that
/// have no room are scrolled to. Instead of one that cannot be drawn, the reason. Copies the chart or
/// writes it to a file: every chart of the viewer is in such a panel.
class ChartPanel : public QWidget {
  Q_OBJECT

 public:
  ChartPanel();
  ~ChartPanel() override;

  /// What to draw from; it must outlive the panel or the next call.
  void set_input(const ChartInput&);
  void set_theme(const Theme&);
  /// Copies the picture that save() writes.
  void copy();
  /// Asks for a file, and writes what is shown.
  void save();
  void save_as(const QString& path);

 private:
  void redraw();

  ChartInput input_;
  const Theme* theme_;
  std::optional<Chart> chart_;
  QComboBox* kinds_;
  QChartView* view_;
  QScrollArea* scrolled_;
  QLabel* reason_;
};

}  // namespace underlap::viewer
