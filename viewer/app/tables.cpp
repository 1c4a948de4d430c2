// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/tables.hpp"

#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QHeaderView>
#include <QHelpEvent>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QStyle>
#include <QStyleOptionHeader>
#include <QTableView>
#include <QToolButton>
#include <QToolTip>
#include <algorithm>
#include <exception>
#include <numeric>
#include <vector>

#include "platform/atomic_file.hpp"
#include "platform/text/escape.hpp"
#include "viewer/app/labels.hpp"

namespace underlap::viewer {
namespace {

// Breaks titles between words where they do not fit.
class TitleBar : public QHeaderView {
 public:
  TitleBar() : QHeaderView(Qt::Horizontal) { setSectionsClickable(true); }

  QSize sizeHint() const override {
    qsizetype breaks = 0;
    for (int section = 0; section < count(); ++section) breaks = std::max(breaks, title_of(section).count('\n'));
    return QHeaderView::sizeHint() + QSize(0, static_cast<int>(breaks) * fontMetrics().lineSpacing());
  }

  // The width at which no word is cut.
  int least_width(int section) const {
    const QString title = plain_title(section);
    int widest = 0;
    for (const QString& word : title.split(' ')) widest = std::max(widest, fontMetrics().horizontalAdvance(word));
    return sectionSizeHint(section) - fontMetrics().horizontalAdvance(title) + widest;
  }

 protected:
  void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override {
    QHeaderView::initStyleOptionForIndex(option, section);
    option->text = title_of(section);
  }

 private:
  QString plain_title(int section) const { return model()->headerData(section, Qt::Horizontal).toString(); }

  QString title_of(int section) const {
    const int room = sectionSize(section) - 2 * style()->pixelMetric(QStyle::PM_HeaderMargin, nullptr, this);
    QString all, line;
    for (const QString& word : plain_title(section).split(' ')) {
      const QString longer = line.isEmpty() ? word : line + " " + word;
      if (!line.isEmpty() && fontMetrics().horizontalAdvance(longer) > room) {
        all += line + "\n";
        line = word;
      } else {
        line = longer;
      }
    }
    return all + line;
  }
};

// Fits its columns to the room that it gets, until a person sets their widths. Can be copied and saved.
class PanelTable : public QTableView {
 public:
  explicit PanelTable(const QString& name) : more_(new QToolButton(this)) {
    setHorizontalHeader(new TitleBar);
    setAccessibleName(name);
    setContextMenuPolicy(Qt::ActionsContextMenu);
    auto* copy = new QAction(tr("&Copy"), this);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    connect(copy, &QAction::triggered, this, [this] { QApplication::clipboard()->setText(table_text(*this)); });
    auto* save = new QAction(tr("&Save as CSV..."), this);
    connect(save, &QAction::triggered, this, [this] { ask_for_csv(); });
    addActions({copy, save});
    more_->setText("\u22ef");
    more_->setAutoRaise(true);
    more_->setFocusPolicy(Qt::NoFocus);
    more_->setToolTip(tr("Copy the table or save it as CSV"));
    more_->setAccessibleName(tr("Copy or save: %1").arg(name));
    connect(more_, &QToolButton::clicked, this,
            [this] { QMenu::exec(actions(), more_->mapToGlobal(QPoint(0, more_->height())), nullptr, this); });
  }

  // What of the viewport columns can take.
  int room() const { return viewport()->width() - more_->width(); }
  void say_when_empty(const QString& sentence) { empty_ = sentence; }

  const TitleBar& titles() const { return static_cast<const TitleBar&>(*horizontalHeader()); }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QTableView::resizeEvent(event);
    fit_columns(*this);
  }

  void paintEvent(QPaintEvent* event) override {
    QTableView::paintEvent(event);
    if (empty_.isEmpty() || (model() != nullptr && model()->rowCount() > 0)) return;
    QPainter painter(viewport());
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect().adjusted(8, 8, -8, -8), Qt::AlignTop | Qt::TextWordWrap, empty_);
  }

  // Names from files can look like HTML, and be of any length.
  bool viewportEvent(QEvent* event) override {
    if (event->type() != QEvent::ToolTip) return QTableView::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tooltip_text(indexAt(help->pos()).data(Qt::ToolTipRole).toString()), this);
    return true;
  }

  void updateGeometries() override {
    QTableView::updateGeometries();
    const int size = fontMetrics().height() + 4;
    more_->setGeometry(viewport()->geometry().right() - size, frameWidth(), size, size);
    more_->raise();
    more_->setVisible(model() != nullptr && model()->rowCount() > 0);
  }

 private:
  void ask_for_csv() {
    const QString path =
        QFileDialog::getSaveFileName(this, tr("Save as CSV"), accessibleName() + ".csv", tr("CSV (*.csv)"));
    if (path.isEmpty()) return;
    try {
      write_file_atomically(path.toStdString(), table_csv(*this));
    } catch (const std::exception& error) {
      QMessageBox::warning(this, tr("The table was not saved"), QString::fromUtf8(error.what()));
    }
  }

  QToolButton* more_;
  QString empty_;
};

// Titles and rows as the table shows them, each text changed by `field`.
template <class Field>
std::string lines_of(const QTableView& table, const QModelIndexList& rows, char separator, Field field) {
  const QAbstractItemModel& model = *table.model();
  std::string lines;
  const auto add_line = [&](auto text_of) {
    for (int column = 0; column < model.columnCount(); ++column)
      lines += (column == 0 ? std::string() : std::string(1, separator)) + field(text_of(column).toStdString());
    lines += '\n';
  };
  if (!table.horizontalHeader()->isHidden())
    add_line([&](int column) { return model.headerData(column, Qt::Horizontal).toString(); });
  for (const QModelIndex& row : rows)
    add_line([&](int column) { return row.siblingAtColumn(column).data().toString(); });
  return lines;
}

QModelIndexList all_rows(const QTableView& table) {
  QModelIndexList rows;
  for (int row = 0; row < table.model()->rowCount(); ++row) rows << table.model()->index(row, 0);
  return rows;
}

// The width of the contents of the rows that Qt measures, with room for the grid.
int content_width(const QTableView& table, int column) {
  return static_cast<const QAbstractItemView&>(table).sizeHintForColumn(column) + 1;
}

bool has_figures(const QTableView& table, int column) {
  return (table.model()->index(0, column).data(Qt::TextAlignmentRole).toInt() & Qt::AlignRight) != 0;
}

int sum_of(const std::vector<int>& widths) { return std::accumulate(widths.begin(), widths.end(), 0); }

// As far as there is too little room, and none below its `least`.
void cut_widest(std::vector<int>& widths, const std::vector<int>& least, int room) {
  for (int lacking = sum_of(widths) - room; lacking > 0; --lacking) {
    std::size_t widest = widths.size();
    for (std::size_t column = 0; column < widths.size(); ++column)
      if (widths[column] > least[column] && (widest == widths.size() || widths[column] > widths[widest]))
        widest = column;
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

}  // namespace

QTableView* make_table(QAbstractItemModel* model, const QString& name, int sort_role) {
  auto* table = new PanelTable(name);
  if (sort_role >= 0) {
    auto* sorted = new QSortFilterProxyModel(table);
    sorted->setSourceModel(model);
    sorted->setSortRole(sort_role);
    table->setModel(sorted);
    table->setSortingEnabled(true);
    table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    sorted->sort(-1);
  } else {
    table->setModel(model);
  }
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setTextElideMode(Qt::ElideMiddle);  // names of cells and kernels often differ only at their ends
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setMinimumSectionSize(36);
  QObject::connect(table->model(), &QAbstractItemModel::modelReset, table, [table] { fit_columns(*table); });
  return table;
}

void say_when_empty(QTableView* table, const QString& sentence) {
  static_cast<PanelTable*>(table)->say_when_empty(sentence);
}

int source_row(const QModelIndex& of_table) {
  const auto* sorted = qobject_cast<const QSortFilterProxyModel*>(of_table.model());
  return sorted == nullptr ? of_table.row() : sorted->mapToSource(of_table).row();
}

void when_chosen(QTableView* table, std::function<void(const QModelIndex&)> go) {
  QObject::connect(table, &QTableView::clicked, table, go);
  QObject::connect(table, &QTableView::activated, table, go);
}

QString table_text(const QTableView& table) {
  QModelIndexList rows = table.selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end());  // an index has no total order
  return QString::fromStdString(lines_of(table, rows.isEmpty() ? all_rows(table) : rows, '\t',
                                         [](const std::string& text) { return visible_text(text); }));
}

std::string table_csv(const QTableView& table) {
  return lines_of(table, all_rows(table), ',', [](const std::string& text) { return csv_field(text); });
}

// If there is too little room, names of more than a third of it are cut first, since kernels have names of any length.
// Then titles are broken that are wider than their column's contents. Then the widest names are cut. Figures never are:
// a table that still needs more room scrolls.
void fit_columns(QTableView& table) {
  constexpr int kRowsLookedAt = 100;
  constexpr int kLeast = 60;
  if (table.model() == nullptr) return;
  QHeaderView& header = *table.horizontalHeader();
  header.setResizeContentsPrecision(kRowsLookedAt);
  const auto* panel = dynamic_cast<const PanelTable*>(&table);
  const int room = panel == nullptr ? table.viewport()->width() : panel->room();
  std::vector<int> widths, with_title, contents, least;
  for (int column = 0; column < table.model()->columnCount(); ++column) {
    const bool has_title = panel != nullptr && !header.isHidden();
    const int title = has_title ? panel->titles().least_width(column) : 0;
    contents.push_back(std::max(content_width(table, column), title));
    widths.push_back(std::max(contents.back(), has_title ? header.sectionSizeHint(column) : 0));
    least.push_back(has_figures(table, column) ? contents.back() : std::max(kLeast, title));
    with_title.push_back(std::max(room / 3, least.back()));
  }
  cut_widest(widths, with_title, room);
  cut_widest(widths, contents, room);
  cut_widest(widths, least, room);
  for (std::size_t column = 0; column < widths.size(); ++column)
    table.setColumnWidth(static_cast<int>(column), widths[column]);
}

}  // namespace underlap::viewer
