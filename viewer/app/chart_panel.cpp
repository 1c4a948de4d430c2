// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/chart_panel.hpp"

#include <QAction>
#include <QApplication>
#include <QChart>
#include <QChartView>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QMessageBox>
#include <QPushButton>
#include <QScrollArea>
#include <cmath>

#include "viewer/app/labels.hpp"
#include "viewer/charts/write_chart.hpp"

namespace underlap::viewer {
namespace {

// As high as its chart needs to leave no row out.
class ChartView : public QChartView {
 public:
  void fit_height() { setMinimumHeight(static_cast<int>(std::ceil(chart()->preferredHeight()))); }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QChartView::resizeEvent(event);
    fit_height();
  }
};

}  // namespace

ChartPanel::ChartPanel()
    : theme_(&Theme::light()),
      kinds_(new QComboBox),
      view_(new ChartView),
      scrolled_(new QScrollArea),
      reason_(plain_label()) {
  kinds_->setAccessibleName(tr("Chart"));
  auto* save = new QAction(tr("&Save picture or data..."), this);
  auto* copy = new QAction(tr("&Copy picture"), this);
  auto* save_button = new QPushButton(tr("Save picture..."));
  view_->addActions({copy, save});
  view_->setContextMenuPolicy(Qt::ActionsContextMenu);
  reason_->setWordWrap(true);
  reason_->setAlignment(Qt::AlignCenter);
  view_->setRenderHint(QPainter::Antialiasing);
  view_->setFrameShape(QFrame::NoFrame);
  scrolled_->setWidget(view_);
  scrolled_->setWidgetResizable(true);
  scrolled_->setFrameShape(QFrame::NoFrame);
  auto* line = new QHBoxLayout;
  line->addWidget(kinds_);
  line->addWidget(save_button);
  line->addStretch(1);
  auto* layout = column_of(this, 4);
  layout->addLayout(line);
  layout->addWidget(scrolled_, 1);
  layout->addWidget(reason_, 1);
  reason_->hide();
  setFocusProxy(kinds_);
  connect(kinds_, &QComboBox::currentIndexChanged, this, [this] { redraw(); });
  connect(save_button, &QPushButton::clicked, this, &ChartPanel::save);
  connect(save, &QAction::triggered, this, &ChartPanel::save);
  connect(copy, &QAction::triggered, this, &ChartPanel::copy);
}

ChartPanel::~ChartPanel() = default;

void ChartPanel::set_input(const ChartInput& input) {
  input_ = input;
  const QSignalBlocker quiet(kinds_);
  const QString before = kinds_->currentData().toString();
  kinds_->clear();
  for (const ChartKind& kind : chart_kinds())
    if (fits(kind, input_)) kinds_->addItem(text(kind.title), text(kind.name));
  kinds_->setCurrentIndex(std::max(0, kinds_->findData(before)));
  redraw();
}

void ChartPanel::set_theme(const Theme& theme) {
  theme_ = &theme;
  redraw();
}

void ChartPanel::redraw() {
  chart_.reset();
  QString why = tr("No charts are available for this.");
  try {
    if (kinds_->count() > 0) chart_.emplace(make_chart(kinds_->currentData().toString().toStdString(), input_));
  } catch (const std::invalid_argument& error) {
    why = text(error.what());
  }
  scrolled_->setVisible(chart_.has_value());
  reason_->setVisible(!chart_);
  reason_->setText(why);
  if (!chart_) return;
  QChart* before = view_->chart();
  view_->setChart(draw(*chart_, *theme_).release());
  static_cast<ChartView*>(view_)->fit_height();
  view_->setBackgroundBrush(theme_->background);
  delete before;
}

void ChartPanel::copy() {
  if (chart_)
    QApplication::clipboard()->setImage(
        chart_image(*chart_, *theme_, fitting_size(*chart_, *theme_), devicePixelRatioF()));
}

void ChartPanel::save() {
  if (!chart_) return;
  const QString path = QFileDialog::getSaveFileName(this, tr("Save the chart"), text(chart_->kind.name) + ".png",
                                                    tr("Pictures and data (*.png *.svg *.csv)"));
  if (!path.isEmpty()) save_as(path);
}

void ChartPanel::save_as(const QString& path) {
  try {
    if (chart_) write_chart(path.toStdString(), *chart_, *theme_, fitting_size(*chart_, *theme_));
  } catch (const std::exception& error) {
    QMessageBox::warning(this, tr("The chart was not saved"), text(error.what()));
  }
}

}  // namespace underlap::viewer
