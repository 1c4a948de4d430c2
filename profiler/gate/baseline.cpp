// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/named_runs.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "platform/fields/json_schema.hpp"
#include "profiler/compare/sides.hpp"

// The one list of the file's fields, which writer and reader follow.
namespace underlap::compare {

using fields::Is, fields::NewerField;

void visit_fields(Is<OperationFigure> auto& operation, auto&& field) {
  field("name", operation.name);
  field("is_communication", operation.is_communication);
  field("busy_ns", operation.busy_ns);
  field("exposed_ns", operation.exposed_ns);
  field("count", operation.count);
  field("bytes", operation.bytes);
}

void visit_fields(Is<CellFigures> auto& cell, auto&& field) {
  field("name", cell.name);
  field("metrics", cell.metrics);
  field("numerics", cell.numerics);
  field("max_loss_difference", cell.max_loss_difference);
  field("schedule", cell.schedule);
  field("operations", cell.operations);
  field("work", cell.work);
  field("knobs", cell.knobs);
  field("derived_knobs", NewerField{cell.derived_knobs});
}

void visit_fields(Is<RunFigures> auto& run, auto&& field) {
  field("source", run.source);
  field("is_exact", run.is_exact);
  field("command", run.command);
  field("commit", run.commit);
  field("commit_utc", run.commit_utc);
  field("started_utc", run.started_utc);
  field("series", run.series);
  field("series_run", run.series_run);
  field("series_side", run.series_side);
  field("kind", run.kind);
  field("environment", run.environment);
  field("cells", run.cells);
}

}  // namespace underlap::compare

namespace underlap::gate {
namespace {

using fields::Cursor, fields::Is;

constexpr std::string_view kBaselineSchema = "underlap.baseline/1";

struct Baseline {
  std::vector<RunFigures> runs;
};

void visit_fields(Is<Baseline> auto& baseline, auto&& field) { field("runs", baseline.runs); }

void check(const Cursor& root, const Baseline& baseline) {
  const std::vector<RunFigures>& runs = baseline.runs;
  const std::vector<Cursor> elements = root.at("runs").elements();
  if (runs.empty()) root.at("runs").fail("is empty: a baseline needs at least one run");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Cursor> cells = elements[i].at("cells").elements();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto step = runs[i].cells[c].metrics.find("step");
      if (step == runs[i].cells[c].metrics.end()) cells[c].at("metrics").fail("has no \"step\"");
      if (step->second <= 0) cells[c].at("metrics").at("step").fail("must be above 0");
    }
  }
}

std::string missing_cell(const RunFigures& one, const RunFigures& other) {
  for (const compare::CellFigures& cell : one.cells)
    if (compare::find_cell(other, cell.name) == nullptr)
      return fmt::format("{} has no cell {}, which {} has", other.source, cell.name, one.source);
  return "";
}

std::string difference_of(const RunFigures& one, const RunFigures& other) {
  const auto first_difference = [](const auto& facts, const auto& others) {
    return compare::first_difference(facts, others, "the one", "the other");
  };
  if (std::string why = first_difference(one.kind, other.kind); !why.empty()) return why;
  for (const auto& [whole, run] : {std::pair{&one, &other}, std::pair{&other, &one}})
    if (std::string why = missing_cell(*whole, *run); !why.empty()) return why;
  for (const compare::CellFigures& cell : one.cells)
    if (const std::string why = first_difference(cell.work, compare::find_cell(other, cell.name)->work); !why.empty())
      return fmt::format("cell {}: {}", cell.name, why);
  return "";
}

}  // namespace

void check_baseline(const std::vector<RunFigures>& runs) {
  if (runs.size() < 2) return;
  for (const RunFigures& run : runs)
    if (const std::string why = difference_of(runs.front(), run); !why.empty())
      throw std::invalid_argument(fmt::format("{} and {} cannot be in one baseline: {}\n  save them separately",
                                              runs.front().source, run.source, why));
  compare::check_sides({runs.begin(), runs.end() - 1}, {runs.back()});
  compare::refuse_same_run(runs, {});
}

std::string baseline_text(const std::vector<RunFigures>& runs) {
  return fields::document_text(kBaselineSchema, Baseline{runs});
}

std::string baseline_json_schema() { return fields::schema_text<Baseline>(kBaselineSchema); }

// {"schema": "underlap.baseline/1", "runs": [{"source": "out/base", "is_exact": false, "command": ..., ...,
//  "cells": [{"name": "on", "metrics": {"step": 103682654.0, ...}, "numerics": "bit_identical", ...}]}]}
std::vector<RunFigures> read_baseline(const std::filesystem::path& file) {
  const std::string what_is_read =
      fmt::format("\"{}\": save the baseline again with `underlap baseline save`", kBaselineSchema);
  return fields::parse_document<Baseline>(kBaselineSchema, read_json_file(file), file.string(), what_is_read,
                                          Cursor::Numbers::finite)
      .runs;
}

}  // namespace underlap::gate
