// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/app/pages/page.hpp"
#include "viewer/model/document.hpp"

namespace underlap::viewer {

class ChartPanel;

/// A report: its answer in a sentence or two, its charts, and its full text as in a terminal.
class ReportPage : public Page {
  Q_OBJECT

 public:
  /// Of a gate: the verdict, the verdicts of all metrics, what moved.
  explicit ReportPage(std::shared_ptr<const GateDocument> judged);
  /// Of runs at several sizes: what became of the step over more ranks.
  explicit ReportPage(std::shared_ptr<const ScalingDocument> scaled);

  ChartInput chart_input() const override { return input_; }
  void set_theme(const Theme&) override;
  QList<QWidget*> stops() override;
  const QString& heading() const { return heading_; }
  const QString& all() const { return all_; }

 private:
  ReportPage(std::shared_ptr<const Document>, const QString& heading, const std::string& all, const ChartInput&);

  std::shared_ptr<const Document> document_;  ///< what the charts are drawn from
  QString heading_;
  QString all_;
  ChartInput input_;
  ChartPanel* charts_;
  QWidget* text_;
};

}  // namespace underlap::viewer
