// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QModelIndex>
#include <QString>
#include <functional>
#include <string>

class QTableView;

namespace underlap::viewer {

/// A table as all panels show one: whole rows, sorted by what a click on a title names, its columns as wide as their
/// texts whenever the model is reset. Its menu and a button copy it or save it as CSV. `sort_role` is what rows are
/// sorted by; -1: they stay in the model's order.
QTableView* make_table(QAbstractItemModel* model, const QString& name, int sort_role = -1);

/// What such a table shows in place of rows while it has none.
void say_when_empty(QTableView* table, const QString& sentence);

/// The row of its model that a row of such a table shows.
int source_row(const QModelIndex& of_table);

/// Calls `go` for a row that is clicked, or chosen with Enter.
void when_chosen(QTableView* table, std::function<void(const QModelIndex&)> go);

/// The titles and the selected rows of a table, separated by tabs; without a selection all rows.
QString table_text(const QTableView& table);

/// The titles and all rows of a table as CSV.
std::string table_csv(const QTableView& table);

/// Makes columns of such a table as wide as their texts. As far as it takes to see all of them, names of more than a
/// third of the room are cut, then titles are broken between words, and then the widest names are cut.
void fit_columns(QTableView& table);

}  // namespace underlap::viewer
