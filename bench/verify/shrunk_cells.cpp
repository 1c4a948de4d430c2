// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/shrunk_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "impl/plan/layout/chunk_buckets.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/precision.hpp"
#include "impl/step/groups.hpp"

namespace underlap::bench {
namespace {

using plan::Config;
using plan::ModelConfig;

constexpr std::int64_t kSequence = 64;
constexpr std::int64_t kVocabulary = 256;  // tokens are bytes
constexpr std::int64_t kHeadSize = 16;     // products in fp8 need multiples of 16
constexpr std::int64_t kFp8Multiple = 8;   // for rows and columns of the result of an fp8 product
constexpr std::int32_t kRanks = 8;
constexpr double kMuchLess = 0.9;  // below this share of the parameters, a cell has fewer buckets

// FLOPs of forward and backward of all ranks. Attention is small compared with the products, except for long sequences.
double flop_of(const Config& c, std::int64_t steps) {
  const ModelConfig& m = c.model;
  const double tokens = static_cast<double>(c.train.micro_batch_size * m.seq_length * c.train.num_microbatches);
  const double weights = static_cast<double>(bucket_layout(c).elements);
  const double attention =
      2.0 * static_cast<double>(m.num_layers * m.seq_length * m.num_attention_heads * m.head_size());
  return 6 * (weights + attention) * tokens * c.parallel.world_size() * static_cast<double>(steps);
}

// Common divisor of a field in all cells, so that all are divided alike.
std::int64_t common_divisor(const std::vector<ShrunkCell>& cells, std::int64_t (*field)(const Config&)) {
  std::int64_t divisor = 0;
  for (const ShrunkCell& cell : cells) divisor = std::gcd(divisor, field(cell.config));
  return std::max<std::int64_t>(1, divisor);
}

void shrink_micro_batch(std::vector<ShrunkCell>& cells) {
  const std::int64_t divisor = common_divisor(cells, [](const Config& c) { return c.train.micro_batch_size; });
  for (ShrunkCell& cell : cells) cell.config.train.micro_batch_size /= divisor;
}

// Virtual stages take microbatches in groups, and a remainder must still fill the pipeline.
bool fill_the_pipeline(const Config& c, std::int64_t num_microbatches) {
  const std::int64_t stages = c.parallel.num_stages();
  if (stages == 1 || !c.parallel.is_interleaved()) return true;
  const std::int64_t rest = num_microbatches % c.pipeline.microbatch_group_size_per_vp_stage;
  return num_microbatches >= c.pipeline.microbatch_group_size_per_vp_stage && (rest == 0 || rest >= stages);
}

// Two microbatches accumulate and one does not: an even number stays at least two, an odd one is not changed.
void shrink_num_microbatches(std::vector<ShrunkCell>& cells) {
  const std::int64_t common = common_divisor(cells, [](const Config& c) { return c.train.num_microbatches; });
  for (std::int64_t divisor = common / 2; common % 2 == 0 && divisor > 1; --divisor) {
    const auto fits = [&](const ShrunkCell& cell) {
      return fill_the_pipeline(cell.config, cell.config.train.num_microbatches / divisor);
    };
    if (common % divisor != 0 || !std::ranges::all_of(cells, fits)) continue;
    for (ShrunkCell& cell : cells) cell.config.train.num_microbatches /= divisor;
    return;
  }
}

void shrink_data_parallel_size(std::vector<ShrunkCell>& cells) {
  const auto is_too_large = [](const ShrunkCell& cell) { return cell.config.parallel.world_size() > kRanks; };
  const auto can_be_halved = [](const ShrunkCell& cell) {
    const auto stays_shared = [](std::int32_t ranks) { return ranks % 2 == 0 && ranks > 2; };
    return stays_shared(cell.config.parallel.data_parallel_size) && stays_shared(instance_size(cell.config));
  };
  while (std::ranges::any_of(cells, is_too_large) && std::ranges::all_of(cells, can_be_halved))
    for (ShrunkCell& cell : cells) cell.config.parallel.data_parallel_size /= 2;
}

// Whether some layer multiplies in fp8.
bool has_fp8(const Config& c) {
  for (std::int32_t layer = 0; layer < c.model.num_layers; ++layer)
    if (plan::multiplies_in_fp8(c, layer)) return true;
  return false;
}

// The ranks of a layer split tokens, in two parts each with context parallelism; in fp8 each multiplies at least eight.
void shrink_sequence(Config& c) {
  const std::int64_t least = has_fp8(c) ? kFp8Multiple : 2;
  const std::int64_t parts = least * plan::ranks_sharing(plan::Shared::tokens, c.parallel) *
                             plan::ranks_sharing(plan::Shared::weights, c.parallel);
  if (c.model.seq_length > kSequence && kSequence % parts == 0) c.model.seq_length = kSequence;
}

// Two layers, or three if one between the others is fp8, rounded up to a multiple of every cell's chunks. Cells that
// compute the same keep the same depth.
void shrink_layers(std::vector<ShrunkCell>& cells) {
  const bool any_fp8 = std::ranges::any_of(cells, [](const ShrunkCell& c) { return has_fp8(c.config); });
  std::int64_t chunks = 1;
  for (const ShrunkCell& cell : cells) chunks = std::lcm(chunks, cell.config.parallel.num_chunks());
  const std::int64_t least = any_fp8 ? 3 : 2;
  const std::int64_t layers = (least + chunks - 1) / chunks * chunks;
  for (ShrunkCell& cell : cells) {
    Config& c = cell.config;
    c.model.num_layers = std::min(c.model.num_layers, layers);
    if (std::optional<plan::EdgeLayers>& in_bf16 = c.mixed_precision.layers_in_bf16)
      in_bf16 = {std::min(in_bf16->at_start, 1), std::min(in_bf16->at_end, 1)};
    c.recompute.num_layers = std::min(c.recompute.num_layers, plan::layers_of(c, 0, 0).num_layers);
  }
}

void shrink_vocabulary(Config& c) {
  if (c.model.vocab_size > kVocabulary && kVocabulary % plan::ranks_sharing(plan::Shared::tables, c.parallel) == 0)
    c.model.vocab_size = kVocabulary;
}

// Units of the widths of all cells, so that cells that compute the same keep the same width.
struct WidthUnits {
  std::int64_t ranks = 1;   // that divide groups
  std::int64_t splits = 1;  // number of parts that pipelined overlap splits a width into
};

WidthUnits width_units(const std::vector<ShrunkCell>& cells) {
  WidthUnits units;
  for (const ShrunkCell& cell : cells) {
    units.ranks = std::lcm(units.ranks, std::int64_t{plan::ranks_sharing(plan::Shared::heads, cell.config.parallel)});
    for (const plan::TensorSlotOverlap& slot : cell.config.tensor_overlap.slots)
      if (slot.method == plan::TensorMethod::pipeline)
        units.splits =
            std::lcm(units.splits, std::int64_t{slot.num_splits} * (has_fp8(cell.config) ? kFp8Multiple : 1));
  }
  return units;
}

// Few heads, as short as splits allow, and a feed-forward layer in the original ratio.
ModelConfig narrowed(const ModelConfig& model, const WidthUnits& units) {
  ModelConfig small = model;
  if (model.num_query_groups % units.ranks == 0) {
    small.num_query_groups = std::min(model.num_query_groups, 2 * units.ranks);
    small.num_attention_heads =
        small.num_query_groups * std::min<std::int64_t>(2, model.num_attention_heads / model.num_query_groups);
  } else if (units.ranks % model.num_query_groups == 0) {  // ranks share groups: each has its own heads
    small.num_attention_heads = units.ranks * std::min<std::int64_t>(2, model.num_attention_heads / units.ranks);
  } else {
    return model;
  }
  small.hidden_size = std::lcm(small.num_attention_heads * std::min(kHeadSize, model.head_size()), units.splits);
  if (small.hidden_size >= model.hidden_size) return model;
  if (model.kv_channels > 0) small.kv_channels = std::min(kHeadSize, model.kv_channels);
  const std::int64_t qkv = (small.num_attention_heads + 2 * small.num_query_groups) * small.head_size();
  if (qkv % (kHeadSize * units.ranks) != 0) return model;
  const std::int64_t unit = 16 * units.ranks;
  const std::int64_t ffn = model.ffn_hidden_size * small.hidden_size / model.hidden_size;
  small.ffn_hidden_size = std::max(unit, ffn / unit * unit);
  return small;
}

void shrink_width(std::vector<ShrunkCell>& cells) {
  const WidthUnits units = width_units(cells);
  for (ShrunkCell& cell : cells) cell.config.model = narrowed(cell.config.model, units);
}

template <void (*kShrink)(Config&)>
void in_each(std::vector<ShrunkCell>& cells) {
  for (ShrunkCell& cell : cells) kShrink(cell.config);
}

constexpr std::array kShrinks{
    shrink_micro_batch, in_each<shrink_sequence>, shrink_num_microbatches, shrink_layers, in_each<shrink_vocabulary>,
    shrink_width,       shrink_data_parallel_size};

// Keeps the number of buckets, since their size is in parameters.
void scale_bucket_size(Config& config, const Config& before) {
  if (!config.ddp.bucket_size) return;
  const double ratio =
      static_cast<double>(bucket_layout(config).elements) / static_cast<double>(bucket_layout(before).elements);
  if (ratio < kMuchLess)
    config.ddp.bucket_size =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(double(*before.ddp.bucket_size) * ratio));
}

struct Field {
  const char* name;
  std::int64_t (*of)(const Config&);
};
constexpr std::array kFields{
    Field{"micro_batch_size", [](const Config& c) { return c.train.micro_batch_size; }},
    Field{"seq_length", [](const Config& c) { return c.model.seq_length; }},
    Field{"num_microbatches", [](const Config& c) { return c.train.num_microbatches; }},
    Field{"num_layers", [](const Config& c) { return c.model.num_layers; }},
    Field{"recompute_num_layers", [](const Config& c) { return std::int64_t{c.recompute.num_layers}; }},
    Field{"vocab_size", [](const Config& c) { return c.model.vocab_size; }},
    Field{"hidden_size", [](const Config& c) { return c.model.hidden_size; }},
    Field{"ffn_hidden_size", [](const Config& c) { return c.model.ffn_hidden_size; }},
    Field{"num_attention_heads", [](const Config& c) { return c.model.num_attention_heads; }},
    Field{"num_query_groups", [](const Config& c) { return c.model.num_query_groups; }},
    Field{"kv_channels", [](const Config& c) { return c.model.kv_channels; }},
    Field{"data_parallel_size", [](const Config& c) { return std::int64_t{c.parallel.data_parallel_size}; }},
    Field{"bucket_size", [](const Config& c) { return c.ddp.bucket_size.value_or(0); }}};

std::vector<std::string> changes_of(const Config& config, const Config& before) {
  std::vector<std::string> changes;
  for (const Field& field : kFields)
    if (field.of(config) != field.of(before))
      changes.push_back(fmt::format("{} {} -> {}", field.name, field.of(before), field.of(config)));
  return changes;
}

}  // namespace

std::vector<ShrunkCell> shrunk_cells(const std::vector<plan::Cell>& cells, std::int64_t steps, double most_flop) {
  std::vector<ShrunkCell> shrunk;
  for (const plan::Cell& cell : cells) shrunk.push_back({cell.plan.config, {}});
  const auto is_small = [&] {
    double flop = 0;
    for (const ShrunkCell& cell : shrunk) flop += flop_of(cell.config, steps);
    return flop <= most_flop;
  };
  for (const auto& shrink : kShrinks)
    if (!is_small()) shrink(shrunk);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    scale_bucket_size(shrunk[i].config, cells[i].plan.config);
    shrunk[i].changes = changes_of(shrunk[i].config, cells[i].plan.config);
  }
  return shrunk;
}

}  // namespace underlap::bench
