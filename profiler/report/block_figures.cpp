// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/block_figures.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "platform/cbor.hpp"
#include "platform/errors.hpp"
#include "platform/fields/field_values.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/report/results_schema.hpp"

namespace underlap::report {
namespace {

using analysis::ComputeTimes, analysis::KernelPlace, analysis::PlaceTimes, analysis::StepId;
using FiguresJson = nlohmann::json;
using fields::take, fields::values_of;

/// Names of kernels and purposes, each written once.
class Names {
 public:
  std::size_t index_of(NameId name) {
    const auto [found, is_new] = index_.try_emplace(name, index_.size());
    if (is_new) texts_.push_back(name == kNoName ? FiguresJson() : FiguresJson(std::string(name_of(name))));
    return found->second;
  }
  const FiguresJson& texts() const { return texts_; }

  static std::vector<NameId> read(const FiguresJson& texts) {
    std::vector<NameId> names;
    for (const FiguresJson& text : texts) names.push_back(text.is_null() ? kNoName : intern(text.get<std::string>()));
    return names;
  }

 private:
  std::map<NameId, std::size_t> index_;
  FiguresJson texts_ = FiguresJson::array();
};

using PieceOfPlace = std::pair<KernelPlace, ComputeTimes::Piece>;

std::map<PieceOfPlace, ComputeTimes::Kernels> flat(const ComputeTimes& times) {
  std::map<PieceOfPlace, ComputeTimes::Kernels> pieces;
  for (const auto& [place, by_piece] : times.places())
    for (const auto& [piece, kernels] : by_piece) pieces[{place, piece}] = kernels;
  return pieces;
}

// Steps are alike, so a kernel's time is written as its difference from the previous step. A piece with count 0 and
// time 0 does not exist, so 0 and 0 mean that a step lacks it.
FiguresJson compute_values(const std::map<StepId, ComputeTimes>& compute, Names& names) {
  std::map<PieceOfPlace, ComputeTimes::Kernels> before;
  std::map<StepId, std::map<PieceOfPlace, ComputeTimes::Kernels>> by_step;
  for (const auto& [step, times] : compute) {
    by_step[step] = flat(times);
    for (const auto& [piece, kernels] : by_step[step]) before.try_emplace(piece);
  }
  FiguresJson pieces = FiguresJson::array();
  for (const auto& [key, none] : before) {
    const auto& [place, piece] = key;
    pieces.push_back({names.index_of(place.name), names.index_of(place.purpose), static_cast<int>(place.direction),
                      place.layer, place.microbatch, piece.first, piece.second});
  }
  FiguresJson steps = FiguresJson::array();
  for (const auto& [step, own] : by_step) {
    FiguresJson counts = FiguresJson::array(), ns = FiguresJson::array();
    for (auto& [key, last] : before) {
      const auto found = own.find(key);
      const ComputeTimes::Kernels now = found == own.end() ? ComputeTimes::Kernels{} : found->second;
      counts.push_back(now.count - last.count);
      ns.push_back(now.ns - last.ns);
      last = now;
    }
    const ComputeTimes& times = compute.at(step);
    steps.push_back({step.first, step.second, times.windows(), times.busy_ns(), std::move(counts), std::move(ns)});
  }
  return {std::move(pieces), std::move(steps)};
}

// [[[NAME, PURPOSE, DIRECTION, LAYER, MICROBATCH, BUCKET, CHUNK], ...],
//  [[BLOCK, STEP, WINDOWS, BUSY_NS, COUNTS, NS], ...]]:
// [[[0, 1, 1, 3, 0, -1, -1]], [[0, 3, 2, 91970151, [8], [45000000]], [0, 4, 2, 91950000, [0], [-1200]]]]
std::map<StepId, ComputeTimes> read_compute(const FiguresJson& values, const std::vector<NameId>& names) {
  std::vector<PieceOfPlace> pieces;
  for (const FiguresJson& piece : values.at(0))
    pieces.push_back({{names.at(piece.at(0)), names.at(piece.at(1)), static_cast<Direction>(piece.at(2).get<int>()),
                       piece.at(3), piece.at(4)},
                      {piece.at(5), piece.at(6)}});
  std::vector<ComputeTimes::Kernels> kernels(pieces.size());
  std::map<StepId, ComputeTimes> compute;
  for (const FiguresJson& step : values.at(1)) {
    std::map<KernelPlace, ComputeTimes::ByPiece> places;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      kernels[i].count += step.at(4).at(i).get<std::int64_t>();
      kernels[i].ns += step.at(5).at(i).get<std::int64_t>();
      if (kernels[i] != ComputeTimes::Kernels{}) places[pieces[i].first][pieces[i].second] = kernels[i];
    }
    compute.emplace(StepId(step.at(0), step.at(1)), ComputeTimes(std::move(places), step.at(2), step.at(3)));
  }
  return compute;
}

FiguresJson place_values(const PlaceTimes& times, Names& names) {
  FiguresJson places = FiguresJson::array();
  for (const auto& [place, values] : times) {
    const auto& [stage, purpose, layer, microbatch] = place;
    places.push_back({stage, names.index_of(purpose), layer, microbatch, values});
  }
  return places;
}

// [[-1, 1, 3, 0, [81250.5, 80990]]]: stage, purpose, layer, microbatch, medians
PlaceTimes read_places(const FiguresJson& values, const std::vector<NameId>& names) {
  PlaceTimes times;
  for (const FiguresJson& place : values)
    times[{place.at(0), names.at(place.at(1)), place.at(2), place.at(3)}] = place.at(4).get<std::vector<double>>();
  return times;
}

FiguresJson kernel_values(const KernelTimes& times) {
  Names names;
  FiguresJson compute = compute_values(times.compute, names);
  FiguresJson places = place_values(times.places, names);
  const analysis::TransfersAlone& alone = times.alone;
  return {names.texts(), std::move(compute), std::move(places), {alone.count, alone.bytes_on_wire, alone.ns}};
}

// [["gemm", "qkv_fprop"], COMPUTE, PLACES, [12, 4096000, 810000]]: names, and the transfers alone
KernelTimes read_kernels(const FiguresJson& values) {
  const std::vector<NameId> names = Names::read(values.at(0));
  const FiguresJson& alone = values.at(3);
  return {.compute = read_compute(values.at(1), names),
          .places = read_places(values.at(2), names),
          .alone = {.count = alone.at(0), .bytes_on_wire = alone.at(1), .ns = alone.at(2)}};
}

auto read(std::string_view bytes, const auto& reader) {
  try {
    return reader(parse_cbor(bytes));
  } catch (const FiguresJson::exception& error) {
    throw std::invalid_argument(fmt::format("invalid block figures: {}", error.what()));
  } catch (const std::out_of_range&) {
    throw std::invalid_argument("invalid block figures: a name is missing");
  }
}

}  // namespace

BlockFigures figures_of(const Trace& trace, bool has_slices, std::int32_t ranks_of_a_stage) {
  analysis::WindowList list = analysis::find_windows(trace);
  if (!list.errors.empty()) throw MachineError("the marks of a block are invalid: " + list.errors.front());
  BlockFigures figures;
  figures.windows = std::move(list.windows);
  if (!has_slices) return figures;
  figures.splits = analysis::split_windows(trace, figures.windows);
  figures.kernels = {.compute = analysis::compute_by_step(trace, figures.windows),
                     .places = analysis::place_times(trace, figures.windows, ranks_of_a_stage),
                     .alone = analysis::transfers_alone(trace)};
  return figures;
}

void append(BlockFigures& figures, BlockFigures more) {
  figures.windows.insert(figures.windows.end(), more.windows.begin(), more.windows.end());
  std::move(more.splits.begin(), more.splits.end(), std::back_inserter(figures.splits));
  for (const auto& [step, times] : more.kernels.compute) figures.kernels.compute[step] += times;
  analysis::append(figures.kernels.places, more.kernels.places);
  figures.kernels.alone += more.kernels.alone;
}

std::string encode(const BlockFigures& figures) {
  FiguresJson windows = FiguresJson::array(), splits = FiguresJson::array();
  for (const analysis::Window& window : figures.windows)
    windows.push_back({window.rank, window.block, window.step, window.begin_ns, window.end_ns});
  for (const analysis::Split& split : figures.splits) splits.push_back(values_of(split));
  return to_cbor({std::move(windows), std::move(splits), kernel_values(figures.kernels)});
}

std::string encode(const KernelTimes& times) { return to_cbor(kernel_values(times)); }

BlockFigures decode_figures(std::string_view bytes) {
  return read(bytes, [](const FiguresJson& values) {
    BlockFigures figures;
    for (const FiguresJson& window : values.at(0))
      figures.windows.push_back({window.at(0), window.at(1), window.at(2), window.at(3), window.at(4)});
    for (const FiguresJson& split : values.at(1)) take(split, figures.splits.emplace_back());
    figures.kernels = read_kernels(values.at(2));
    return figures;
  });
}

KernelTimes decode_kernel_times(std::string_view bytes) { return read(bytes, read_kernels); }

}  // namespace underlap::report
