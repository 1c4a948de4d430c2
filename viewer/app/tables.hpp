// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;
class QWidget;

namespace underlap::viewer {

/// A table as all panels show one: whole rows, sorted by what a click on a title names, its columns as wide as their
/// texts. `sort_role` is what rows are sorted by; -1: they stay in the model's order.
QTableView* make_table(QAbstractItemModel* model, const QString& name, int sort_role = -1, QWidget* parent = nullptr);

/// Makes columns as wide as their texts, and the widest narrower, as far as it takes to see all of them.
void fit_columns(QTableView& table);

}  // namespace underlap::viewer
