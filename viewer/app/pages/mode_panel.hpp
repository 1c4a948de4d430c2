// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <functional>
#include <memory>
#include <optional>

#include "viewer/model/document.hpp"
#include "viewer/model/figure_table_model.hpp"
#include "viewer/model/mode_targets.hpp"

class QLabel;
class QMenu;
class QPushButton;
class QTableView;

namespace underlap::viewer {

/// The mode map of a trace: its rules, and the file that they are in. Changes are written to the file at once; the
/// trace must then be read again.
class ModePanel : public QWidget {
  Q_OBJECT

 public:
  explicit ModePanel(std::shared_ptr<const TraceDocument> document);

  const FigureTableModel& rules() const { return *rules_; }
  /// The file with the rules; empty: there is none yet.
  QString file() const;

  /// Adds to a menu what can be assigned a mode of a slice, and the rule that applies to it, to be removed.
  void fill_menu(QMenu&, std::uint32_t slice);
  /// The same for all kernels of a name.
  void fill_menu(QMenu&, const QString& kernel);

  /// Puts a rule first. Asks for a file if there is none yet, and before comments in a file are lost.
  void assign(const attribution::ModeRule& rule);
  void remove(int row);
  /// Applies the mode map of a file, which must exist; an empty name applies none.
  void use_file(const QString& file);

 signals:
  void changed();  ///< the trace must be read again
  void failed();   ///< the panel shows why

 private:
  void add_modes(QMenu&, const ModeTarget&);
  void change(const std::function<void(attribution::ModeMap&)>& edit);
  std::optional<QString> file_to_write();
  bool may_rewrite(const QString& file);
  void show_rules();

  std::shared_ptr<const TraceDocument> document_;
  FigureTableModel* rules_;
  QLabel* text_;
  QTableView* table_;
};

}  // namespace underlap::viewer
