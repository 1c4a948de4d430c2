// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "viewer/app/pages/page.hpp"
#include "viewer/model/document.hpp"

namespace underlap::viewer {

class ChartPanel;

/// What a gate said: its verdict as a sentence, what differs between the sides, and the chart of all verdicts.
class GatePage : public Page {
  Q_OBJECT

 public:
  explicit GatePage(std::shared_ptr<const GateDocument> document, QWidget* parent = nullptr);

  ChartInput chart_input() const override;
  void set_theme(const Theme&) override;
  QString heading() const;

 private:
  std::shared_ptr<const GateDocument> document_;
  ChartPanel* charts_;
};

}  // namespace underlap::viewer
