// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFutureWatcher>
#include <QString>
#include <QTimer>
#include <QWidget>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "viewer/model/figure_table_model.hpp"

class QComboBox;
class QLabel;

namespace underlap::viewer {

inline constexpr std::size_t kNamesOfSelection = 200;  ///< rows of a table of names

/// Statistics of a range of time.
struct RangeFigures {
  QString text;  ///< which range, and what the figures are
  analysis::FigureTable parts;
  analysis::FigureTable names;
};

/// Shows statistics of the selected range. They are worked out on another thread, since that takes longer than a frame
/// of a large trace, and once dragging pauses. The newest question is the one that is answered.
class SelectionPanel : public QWidget {
  Q_OBJECT

 public:
  using Work = std::function<RangeFigures()>;

  SelectionPanel();

  /// What works them out, keeping alive what it needs; an empty one clears the panel.
  void ask(Work);
  /// Offers a choice of one of the ranks, if there are several.
  void offer_ranks(const std::vector<std::int32_t>& ranks);
  /// The rank that was chosen; without one all ranks count.
  std::optional<std::int32_t> rank() const;
  const FigureTableModel& parts() const { return *parts_; }
  const FigureTableModel& names() const { return *names_; }

 signals:
  void rank_chosen();
  /// For a name of the selection, with the actions of its table.
  void menu_wanted(const QString& name, const QPoint& global, const QList<QAction*>& actions);

 private:
  void show_figures(const RangeFigures&);

  QComboBox* ranks_;
  QLabel* text_;
  FigureTableModel* parts_;
  FigureTableModel* names_;
  Work work_;
  QTimer after_dragging_;
  QFutureWatcher<RangeFigures> working_;
};

}  // namespace underlap::viewer
