// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/mode_panel.hpp"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QTableView>

#include "platform/atomic_file.hpp"
#include "platform/input/input_file.hpp"
#include "platform/text/escape.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/tables.hpp"
#include "viewer/app/viewer_settings.hpp"

namespace underlap::viewer {
namespace {

using attribution::ModeMap, attribution::ModeRule;

// A text of a menu: shortened in the middle, and without a mnemonic.
QString menu_text(const QWidget& widget, std::string_view words) {
  constexpr int kWidest = 420;  // pixels
  return widget.fontMetrics()
      .elidedText(text(visible_text(words)), Qt::ElideMiddle, kWidest)
      .replace(QLatin1Char('&'), QLatin1String("&&"));
}

std::string mode_of(const ModeRule& rule) {
  if (rule.mode != Mode::none) return std::string(to_string(rule.mode));
  return rule.what == attribution::KernelClass::communication ? "as inferred" : "not communication";
}

// What each rule was applied to.
analysis::FigureTable table_of(const TraceDocument& document) {
  analysis::FigureTable table{{{"rule", "rule"}, {"mode", "mode"}},
                              {{"count", "count", analysis::FigureUnit::number}, {"time ms", "time"}},
                              {}};
  for (const ModeRule& rule : document.mode_map.rules) {
    const auto& uses = document.traced.attribution.rules;
    const auto use = std::ranges::find(uses, name_of(rule.reason), &attribution::RuleUse::rule);
    const attribution::RuleUse found = use == uses.end() ? attribution::RuleUse{} : *use;
    table.rows.push_back({{to_yaml(target_of(rule)), mode_of(rule)},
                          {static_cast<double>(found.count), static_cast<double>(found.time_ns)}});
  }
  return table;
}

ModeMap map_in(const QString& file) {
  return QFileInfo::exists(file) ? attribution::read_mode_map(file.toStdString()) : ModeMap();
}

}  // namespace

ModePanel::ModePanel(std::shared_ptr<const TraceDocument> document)
    : document_(std::move(document)), rules_(new FigureTableModel(this)), text_(sentence_label()) {
  table_ = make_table(rules_, tr("Rules of the mode map"));
  auto* remove_rule = new QPushButton(tr("&Remove the selected rule"));
  auto* choose = new QPushButton(tr("&Use a mode map..."));
  auto* use_none = new QPushButton(tr("Use &no mode map"));
  connect(remove_rule, &QPushButton::clicked, this, [this] { remove(table_->currentIndex().row()); });
  connect(choose, &QPushButton::clicked, this, [this] {
    const QString chosen = QFileDialog::getOpenFileName(this, tr("Use a mode map"), {}, tr("YAML (*.yaml *.yml)"));
    if (!chosen.isEmpty()) use_file(chosen);
  });
  connect(use_none, &QPushButton::clicked, this, [this] { use_file({}); });
  remove_rule->setEnabled(!document_->mode_map.rules.empty());
  use_none->setEnabled(!file().isEmpty());
  choose->setEnabled(takes_modes(document_->traced.trace) && !document_->is_partial);
  auto* buttons = new QHBoxLayout;
  for (QPushButton* button : {remove_rule, choose, use_none}) buttons->addWidget(button);
  buttons->addStretch(1);
  auto* layout = column_of(this, 4, 4);
  layout->addWidget(text_);
  layout->addWidget(table_, 1);
  layout->addLayout(buttons);
  show_rules();
}

QString ModePanel::file() const { return kept_mode_map(text(document_->path)); }

void ModePanel::show_rules() {
  rules_->set_table(table_of(*document_));
  if (!takes_modes(document_->traced.trace))
    return text_->setText(tr("This trace records the mode of its communication."));
  if (!document_->mode_map_fault.empty())
    return text_->setText(tr("The mode map was not applied: %1").arg(text(document_->mode_map_fault)));
  text_->setText(file().isEmpty() ? tr("Right-click a slice to assign its kernel, stream or process group to a mode.")
                                  : tr("Rules in %1. The first rule that matches a kernel applies.").arg(file()));
}

void ModePanel::fill_menu(QMenu& menu, std::uint32_t slice) {
  const Trace& trace = document_->traced.trace;
  if (document_->is_partial || !takes_modes(trace)) {
    menu.addAction(document_->is_partial ? tr("The trace is still being read")
                                         : tr("This trace records the mode of its communication"))
        ->setEnabled(false);
    return;
  }
  for (const ModeTarget& target : mode_targets_of(trace, slice)) add_modes(menu, target);
  const NameId reason = trace.attribution(slice).reason;
  const std::vector<ModeRule>& rules = document_->mode_map.rules;
  const auto applied = std::ranges::find(rules, reason, &ModeRule::reason);
  if (reason == kNoName || applied == rules.end()) return;
  menu.addSeparator();
  menu.addAction(menu_text(*this, "Remove the rule " + to_yaml(*applied)), this,
                 [this, row = static_cast<int>(applied - rules.begin())] { remove(row); });
}

void ModePanel::fill_menu(QMenu& menu, const QString& kernel) {
  if (!document_->is_partial && takes_modes(document_->traced.trace))
    add_modes(menu, kernel_target(kernel.toStdString()));
}

void ModePanel::add_modes(QMenu& menu, const ModeTarget& target) {
  QMenu* modes = menu.addMenu(menu_text(*this, "Assign " + target.text + " to"));
  for (const std::string_view word : attribution::mode_words()) {
    ModeRule rule = target.rule;
    attribution::set_mode(rule, word);
    modes->addAction(word == "compute" ? tr("compute (no communication)") : text(word), this,
                     [this, rule] { assign(rule); });
  }
}

void ModePanel::assign(const ModeRule& rule) {
  change([&rule](ModeMap& map) { viewer::assign(map, rule); });
}

// By its content: the file may have changed since it was read.
void ModePanel::remove(int row) {
  if (row < 0 || row >= rules_->rowCount()) return;
  const std::string removed = to_yaml(document_->mode_map.rules[static_cast<std::size_t>(row)]);
  change([&removed](ModeMap& map) {
    std::erase_if(map.rules, [&](const ModeRule& rule) { return to_yaml(rule) == removed; });
  });
}

void ModePanel::use_file(const QString& file) {
  keep_mode_map(text(document_->path), file);
  emit changed();
}

// A file without rules would be no mode map, so it is removed.
void ModePanel::change(const std::function<void(ModeMap&)>& edit) {
  try {
    const std::optional<QString> written = file_to_write();
    if (!written) return;
    ModeMap map = map_in(*written);
    edit(map);
    if (map.rules.empty())
      QFile::remove(*written);
    else
      write_file_atomically(written->toStdString(), to_yaml(map));
    use_file(map.rules.empty() ? QString() : *written);
  } catch (const std::exception& error) {
    text_->setText(tr("The mode map was not changed: %1").arg(QString::fromUtf8(error.what())));
    emit failed();
  }
}

std::optional<QString> ModePanel::file_to_write() {
  QString wanted = file();
  if (wanted.isEmpty())
    wanted = QFileDialog::getSaveFileName(this, tr("Save the mode map; an existing one is extended"),
                                          QFileInfo(text(document_->path)).absolutePath() + "/modes.yaml",
                                          tr("YAML (*.yaml *.yml)"), nullptr, QFileDialog::DontConfirmOverwrite);
  if (wanted.isEmpty() || !may_rewrite(wanted)) return std::nullopt;
  return wanted;
}

// Asks only if more than its rules would be lost: comments, or a layout of its own.
bool ModePanel::may_rewrite(const QString& file) {
  if (!QFileInfo::exists(file)) return true;
  if (read_input_file(file.toStdString()) == to_yaml(map_in(file))) return true;
  QMessageBox question(QMessageBox::Question, tr("Mode map"),
                       tr("%1 was not written by the viewer. Its rules are kept, its comments are lost.").arg(file),
                       QMessageBox::Cancel, this);
  question.setTextFormat(Qt::PlainText);
  const QPushButton* rewrite = question.addButton(tr("&Extend it"), QMessageBox::AcceptRole);
  question.exec();
  return question.clickedButton() == rewrite;
}

}  // namespace underlap::viewer
