// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impl/plan/tensor_slots.hpp"
#include "research/studies/claims/claim.hpp"

namespace underlap::bench {

/// The subject of one row of a claim's table, or of one of its cases: a cell, and a part of it.
struct Subject {
  const Evidence& evidence;
  const ClaimCell& cell;
  const ClaimCell* other = nullptr;  ///< the cell that it is compared with; null if there is none
  std::string part = {};             ///< a purpose, a mode or a knob; empty: the whole cell
  plan::TensorSlot slot = {};
  const plan::ChunkBuckets* buckets = nullptr;
  double noticeable = 0;  ///< share of a step below which a difference of times does not count
};

using SubjectText = std::string (*)(const Subject&);

/// One column of a claim's table.
struct Column {
  TableColumn head;
  SubjectText text;
};

using Subjects = std::vector<Subject>;
using Select = std::function<Subjects(const Evidence&)>;

/// The rule of a claim, and the table that it is applied to. All judges are evaluated by examine().
struct Judge {
  std::string_view id;  ///< the claim's
  Select rows;
  std::vector<Column> columns;
  Select cases = {};                                       ///< default: the rows
  SubjectText name = nullptr;                              ///< of a case; default: the cell's name
  std::optional<bool> (*holds)(const Subject&) = nullptr;  ///< nullopt: a row that is not a case
  std::string (*note)(const Evidence&, double noticeable) = nullptr;
};

/// All judges.
const std::vector<Judge>& all_judges();
std::vector<Judge> nemo_judges();
std::vector<Judge> nemo_precision_judges();
std::vector<Judge> bridge_judges();
std::vector<Judge> tensor_judges();
std::vector<Judge> tensor_setting_judges();
std::vector<Judge> tensor_slot_judges();
std::vector<Judge> pipeline_judges();
std::vector<Judge> pipeline_setting_judges();
std::vector<Judge> context_judges();

/// Null if there is no such judge.
const Judge* judge_of(std::string_view claim);

Finding examine(const Judge& judge, const Evidence& evidence, double noticeable);

// Rows of tables.

Subjects every_cell(const Evidence& evidence);
Subjects cells_that_ran(const Evidence& evidence);
Subjects cells_with_steps(const Evidence& evidence);

/// The subjects of `some` for which `is_one` holds.
Subjects where(const Subjects& some, bool (*is_one)(const Subject&));

/// Each subject of `some`, once for each of `parts`.
Subjects parted(const Subjects& some, const std::vector<std::string>& parts);

/// Each cell that ran, once for each purpose of its communication.
Subjects purposes_that_ran(const Evidence& evidence);

/// Each subject of `some`, once for each slot of these kinds.
Subjects slotted(const Subjects& some, std::initializer_list<plan::TensorSlotKind> kinds);

/// Cells that ran, each with the cell that differs only in `axis`, where it has `value`.
Select compared(const std::string& axis, const std::string& value);

// Helpers for columns and rules.

inline constexpr const char* kGradReduceInFp32 = "grad_reduce_in_fp32";

std::string in_ms(double ms);          ///< "1.2"
std::string in_us(double ms);          ///< "1200"
std::string in_percent(double share);  ///< "12.3"
std::string as_ratio(double ratio);    ///< "1.234"
std::string as_number(double value);   ///< "1.5" or "3"
std::string as_integer(std::int64_t value);
std::string name_of_slot(plan::TensorSlot);
std::vector<plan::TensorSlot> slots_of(std::initializer_list<plan::TensorSlotKind> kinds);
std::vector<plan::TensorSlot> all_slots();

Column cell_column();
Column slot_column();
Column part_column(const std::string& title);

double step_of(const ClaimCell& cell);
bool has_step(const ClaimCell& cell);

/// The step divided by that of the other cell.
double step_ratio(const Subject& subject);

/// Whether the step is shorter than that of the other cell by at least the noticeable share.
bool is_shorter(const Subject& subject);

/// The communication of one purpose in a run, or of one mode in its last step; zeros if there was none.
report::PurposeSummary purpose_of(const ClaimCell& cell, const std::string& purpose);
ModeTime mode_of(const ClaimCell& cell, const std::string& mode);

/// Throws std::invalid_argument if the plan has no knob of that name.
const plan::Knob& knob_of(const plan::Plan& plan, std::string_view name);
std::string effective_text(const Subject& subject, std::string_view knob);

/// Whether a rule, not a user, chose `value` for a knob.
bool is_chosen(const plan::Plan& plan, std::string_view knob, const plan::Value& value);

/// The cell that equals `cell` in all axes but `axis` (as cells name it), where it has `value`; null if there is none.
const ClaimCell* partner_of(const Evidence& evidence, const ClaimCell& cell, const std::string& axis,
                            const std::string& value);

/// Whether knob `path` has a spelling in `section` but not in comm_overlap.
bool belongs_to(const Evidence& evidence, std::string_view path, std::string_view section);

}  // namespace underlap::bench
