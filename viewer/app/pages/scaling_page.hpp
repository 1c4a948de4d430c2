// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/app/pages/page.hpp"
#include "viewer/model/document.hpp"

namespace underlap::viewer {

class ChartPanel;

/// Runs at several sizes: how they were made, their charts, and the full text as in a terminal.
class ScalingPage : public Page {
  Q_OBJECT

 public:
  explicit ScalingPage(std::shared_ptr<const ScalingDocument> document);

  ChartPanel* charts() override { return charts_; }
  ChartInput chart_input() const override;
  void set_theme(const Theme&) override;
  QList<QWidget*> stops() override;
  const QString& heading() const { return heading_; }
  const QString& all() const { return all_; }

 private:
  std::shared_ptr<const ScalingDocument> document_;
  QString heading_;
  QString all_;
  ChartPanel* charts_;
  QWidget* text_;
};

}  // namespace underlap::viewer
