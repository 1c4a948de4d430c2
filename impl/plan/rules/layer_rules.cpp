// SPDX-License-Identifier: Apache-2.0
// Which layers lie on which stage of a pipeline, as Megatron Core's get_num_layers_to_build and its pipeline layouts
// deal them out: evenly; with other numbers on the first and the last stage; with embedding and loss counted as layers;
// or range by range, as a layout writes them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kFirst = "model.num_layers_in_first_pipeline_stage";
constexpr std::string_view kLast = "model.num_layers_in_last_pipeline_stage";
constexpr std::string_view kEmbedding = "model.account_for_embedding_in_pipeline_split";
constexpr std::string_view kLoss = "model.account_for_loss_in_pipeline_split";
constexpr std::string_view kLayout = "model.pipeline_model_parallel_layout";
constexpr std::string_view kLayers = "model.num_layers";

using Counts = std::vector<std::int32_t>;

/// Layers of each stage, divided among its chunks; nothing, and an error, if they do not divide.
std::optional<Counts> by_stage(Resolution& r, const Counts& of_stage) {
  const std::int32_t chunks = r.config().parallel.virtual_pipeline_model_parallel_size;
  Counts counts;
  for (const std::int32_t layers : of_stage)
    if (layers % chunks != 0) {
      r.error({kFirst, kLast, kVpp},
              fmt::format("a stage has {} layers, which is not divisible by virtual_pipeline_model_parallel_size ({}); "
                          "make the layers of each stage a multiple of it",
                          layers, chunks));
      return std::nullopt;
    }
  for (std::int32_t chunk = 0; chunk < chunks; ++chunk)
    for (const std::int32_t layers : of_stage) counts.push_back(layers / chunks);
  return counts;
}

std::optional<Counts> with_other_ends(Resolution& r) {
  const auto stages = r.config().parallel.pipeline_model_parallel_size;
  const auto layers = static_cast<std::int32_t>(r.config().model.num_layers);
  const bool has_first = r.settings.given(kFirst), has_last = r.settings.given(kLast) && stages > 1;
  const auto first = static_cast<std::int32_t>(r.settings.integer(kFirst, 0));
  const auto last = has_last ? static_cast<std::int32_t>(r.settings.integer(kLast, 0)) : 0;
  const std::int32_t others = stages - has_first - has_last, left = layers - first - last;
  if (left < 0 || (others == 0 ? left != 0 : left % others != 0)) {
    r.error({kFirst, kLast, kLayers},
            fmt::format("{} of {} layers remain for {} other pipeline stages, which they do not divide evenly among; "
                        "change the layers of the first and last stage",
                        left, layers, others));
    return std::nullopt;
  }
  Counts of_stage(static_cast<std::size_t>(stages), others > 0 ? left / others : 0);
  if (has_first) of_stage.front() = first;
  if (has_last) of_stage.back() = last;
  return by_stage(r, of_stage);
}

std::optional<Counts> with_ends_counted(Resolution& r, bool embedding, bool loss) {
  const std::int64_t layers = r.config().model.num_layers + embedding + loss;
  const std::int64_t ranges = r.config().parallel.num_chunks();
  if (layers % ranges != 0) {
    r.error({kLayers, kEmbedding, kLoss},
            fmt::format("{} layers, counting embedding and loss, are not divisible by pipeline_model_parallel_size * "
                        "virtual_pipeline_model_parallel_size ({}); change model.num_layers",
                        layers, ranges));
    return std::nullopt;
  }
  Counts counts(static_cast<std::size_t>(ranges), static_cast<std::int32_t>(layers / ranges));
  counts.front() -= embedding;
  counts.back() -= loss;
  return counts;
}

/// "E|t*3|(t|)*2L" with its repetitions expanded: "E|ttt|t|t|L". Nothing if it is malformed.
std::optional<std::string> written_out(std::string_view& text, bool in_group) {
  std::string out, last;
  const auto repeat = [&](std::size_t times) {
    for (std::size_t i = 1; i < times && out.size() < 100'000; ++i) out += last;
  };
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == ' ' || c == ',') continue;
    if (c == ')') return in_group ? std::optional(out) : std::nullopt;
    if (c == '(') {
      const auto group = written_out(text, true);
      if (!group) return std::nullopt;
      last = *group;
      out += last;
    } else if (c == '*') {
      std::size_t times = 0, digits = 0;
      for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 6; ++digits)
        times = times * 10 + static_cast<std::size_t>(text[digits] - '0');
      if (digits == 0 || times == 0 || last.empty()) return std::nullopt;
      text.remove_prefix(digits);
      repeat(times);
    } else if (c == '|' || c == 'E' || c == 'L' || c == 't' || c == 'm') {
      last = std::string(1, c);
      out += last;
    } else {
      return std::nullopt;
    }
  }
  return in_group ? std::nullopt : std::optional(out);
}

/// A list of ranges, each a list of words, as the same letters; nothing if it contains anything else.
std::optional<std::string> letters_of(const ValueList& ranges) {
  std::string out;
  for (const Value& range : ranges) {
    if (&range != &ranges.front()) out += '|';
    const auto* words = std::get_if<ValueList>(&range);
    if (words == nullptr) return std::nullopt;
    for (const Value& word : *words) {
      const auto* text = std::get_if<std::string>(&word);
      if (text == nullptr) return std::nullopt;
      const std::string_view all = "embedding decoder loss mtp";
      if (text->empty() || all.find(*text) == all.npos) return std::nullopt;
      out += *text == "decoder" ? 't' : *text == "embedding" ? 'E' : *text == "loss" ? 'L' : 'm';
    }
  }
  return out;
}

std::optional<std::string> read_layout(const Value& value) {
  if (const auto* list = std::get_if<ValueList>(&value)) return letters_of(*list);
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return std::nullopt;
  constexpr std::size_t kLongest = 10'000;  // brackets in brackets are calls in calls
  if (text->size() > kLongest) return std::nullopt;
  std::string_view rest = *text;
  return written_out(rest, false);
}

std::optional<Counts> by_layout(Resolution& r) {
  const auto letters = read_layout(r.settings[kLayout].value);
  const auto refuse = [&](std::string message) {
    r.error({kLayout}, std::move(message));
    return std::nullopt;
  };
  if (!letters)
    return refuse(
        "pipeline_model_parallel_layout is invalid; write E, t and L for embedding, layers and loss, with | between "
        "ranges, such as E|t*3|(t|)*2L");
  Counts counts(1, 0);
  for (const char c : *letters)
    if (c == '|')
      counts.push_back(0);
    else
      counts.back() += c == 't';
  const auto size = static_cast<std::int32_t>(counts.size());
  ParallelConfig& p = r.config().parallel;
  std::int64_t layers = 0;
  for (const std::int32_t count : counts) layers += count;
  if (layers != r.config().model.num_layers)
    return refuse(
        fmt::format("pipeline_model_parallel_layout has {} layers, but model.num_layers is {}; make them agree", layers,
                    r.config().model.num_layers));
  if (size % p.pipeline_model_parallel_size != 0 || (r.settings.given(kVpp) && size != p.num_chunks()))
    return refuse(
        fmt::format("pipeline_model_parallel_layout has {} ranges, but {} stages of {} chunks need a different number; "
                    "make them agree",
                    size, p.pipeline_model_parallel_size, p.virtual_pipeline_model_parallel_size));
  if (letters->find('m') != std::string::npos)
    r.not_run({kLayout}, "multi-token prediction is not run by this version; leave m out of the layout");
  if (!r.settings.given(kVpp) && size > p.pipeline_model_parallel_size) {
    p.virtual_pipeline_model_parallel_size = size / p.pipeline_model_parallel_size;
    r.decide(kVpp, {p.virtual_pipeline_model_parallel_size, "auto",
                    fmt::format("pipeline_model_parallel_layout has {} ranges", size)});
  }
  return counts;
}

/// The layers of each range of an uneven pipeline; nothing if it is even, or after an error.
std::optional<Counts> uneven_ranges(Resolution& r) {
  const bool embedding = r.settings.flag(kEmbedding, false), loss = r.settings.flag(kLoss, false);
  if (r.settings.given(kLayout)) return by_layout(r);
  const bool has_ends = r.settings.given(kFirst) || r.settings.given(kLast);
  if (has_ends && (embedding || loss)) {
    r.error({kEmbedding, kLoss},
            "account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split exclude layer counts for "
            "the first and last stage; leave one of them out");
    return std::nullopt;
  }
  if (has_ends) return with_other_ends(r);
  if (embedding || loss) return with_ends_counted(r, embedding, loss);
  return std::nullopt;
}

}  // namespace

void resolve_layers(Resolution& r) {
  const ParallelConfig& p = r.config().parallel;
  if (r.config().model.num_layers < 1 || p.pipeline_model_parallel_size == 1) return;
  const auto counts = uneven_ranges(r);
  if (!counts) return;
  if (std::ranges::any_of(*counts, [](std::int32_t count) { return count < 0; }))
    return r.error({kEmbedding, kLoss, kFirst, kLast},
                   "a pipeline range would have a negative number of layers; use fewer stages");
  r.config().parallel.layers_of_ranges = *counts;
  if (std::find(std::next(counts->begin()), std::prev(counts->end()), 0) != std::prev(counts->end()))
    r.not_run(
        {kLayout, kFirst, kLast, kPp},
        "a pipeline range has neither layers nor embedding nor loss, which is planned but not run by this version; "
        "give it a layer");
}

bool has_uneven_layers(const Resolution& r) {
  return r.settings.given(kLayout) || r.settings.given(kFirst) || r.settings.given(kLast) ||
         r.settings.flag(kEmbedding, false) || r.settings.flag(kLoss, false);
}

}  // namespace underlap::plan
