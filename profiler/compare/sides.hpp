// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "platform/fields/field_wrappers.hpp"
#include "platform/table.hpp"
#include "profiler/compare/run_figures.hpp"

namespace underlap::compare {

using Runs = std::vector<RunFigures>;

/// Something that the sides do not have in common.
struct Difference {
  std::string what;
  std::string baseline;
  std::string candidate;
  bool is_derived = false;  ///< a setting that was set on neither side: it follows from others
};

void visit_fields(fields::Is<Difference> auto& difference, auto&& field) {
  field("what", difference.what);
  field("baseline", difference.baseline);
  field("candidate", difference.candidate);
  field("derived", fields::NewerField{difference.is_derived});
}

/// One row for each difference, and a last one for all derived settings: "3 derived settings: a, b and c".
Table differences_table(const std::vector<Difference>& differences);

/// Throws std::invalid_argument where the sides cannot be compared at all: no run, or a cell that another run of its
/// side lacks.
void check_sides(const Runs& baseline, const Runs& candidate);

/// Throws std::invalid_argument where a run is given twice, on one side or on both.
void refuse_same_run(const Runs& baseline, const Runs& candidate);

/// Throws std::invalid_argument where `run` lacks a cell of `whole`, which `what` calls so.
void check_cells(const RunFigures& whole, const RunFigures& run, const std::string& what);

/// Whether two paths lead to the same file or folder.
bool is_same_file(const std::filesystem::path&, const std::filesystem::path&);

/// Why the sides did not do the same in the cells that both have: another backend, kind of link, model or size; empty
/// where they are comparable.
std::string not_comparable(const Runs& baseline, const Runs& candidate);

/// A sentence if a trace does not describe its work, so that not_comparable() cannot judge it.
std::vector<std::string> unrecorded_facts(const Runs& baseline, const Runs& candidate);

/// Commits, versions, machine and knobs that differ; knobs with the cells where they do.
std::vector<Difference> differences_of(const Runs& baseline, const Runs& candidate);

/// The commits of the runs, each once.
std::vector<std::string> commits_of(const Runs&);

/// "model.num_layers is 4 in the baseline and 8 in the candidate": the first difference between two lists of facts.
/// Facts that only one list has are not differences.
std::string first_difference(const std::map<std::string, std::string>& baseline,
                             const std::map<std::string, std::string>& candidate, std::string_view one = "the baseline",
                             std::string_view other = "the candidate");

/// The cell of that name; null where the run has none.
const CellFigures* find_cell(const RunFigures&, const std::string& name);

}  // namespace underlap::compare
