// SPDX-License-Identifier: Apache-2.0
#include "impl/model/shard_update.hpp"

#include <algorithm>
#include <cmath>

#include "impl/plan/config.hpp"
#include "kernels/adam/adam.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reduction/reduction.hpp"

namespace underlap::model {
namespace {

constexpr double kInitialDeviation = 0.02;

bool is_norm(const plan::Parameter& parameter) { return parameter.name.ends_with("norm"); }
bool is_bias(const plan::Parameter& parameter) { return parameter.name.ends_with("bias"); }

bool writes_to_residual(const plan::Parameter& parameter) {
  return parameter.name.ends_with(".proj") || parameter.name.ends_with(".fc2");
}

}  // namespace

ShardUpdate::ShardUpdate(Device& device, const plan::Config& config, const OptimizedChunk& chunk,
                         plan::TensorRank tensor)
    : config_(config), chunk_(chunk), tensor_(tensor) {
  std::int64_t elements = 0;
  for (std::int32_t b = 0; b < buffers().layout.num_buckets(); ++b) {
    shard_offset_.push_back(elements);
    elements += buffers().param_shard(b).elements();
  }
  main_ = device.allocate("main_parameters", DataType::f32, elements);
  m_ = device.allocate("adam_m", DataType::f32, elements);
  v_ = device.allocate("adam_v", DataType::f32, elements);
  if (counts_some()) counted_ = device.allocate("counted_in_norm", DataType::f64, 2 * std::ssize(buffers().parameters));
}

View ShardUpdate::main_shard(const Tensor& buffer, std::int32_t b) const {
  return flat(buffer, shard_offset_[static_cast<std::size_t>(b)], buffers().param_shard(b).elements());
}

// Of weights that several ranks hold one counts: the first of a tensor-parallel group, and not the tied head's copy.
bool ShardUpdate::is_counted(const plan::Parameter& parameter) const {
  return !parameter.is_copy && (tensor_.index == 0 || !parameter.is_replicated);
}

bool ShardUpdate::counts_some() const {
  const bool holds_shared = std::any_of(buffers().parameters.begin(), buffers().parameters.end(),
                                        [](const plan::Parameter& p) { return p.is_replicated || p.is_copy; });
  return config_.optimizer.clip_grad > 0 && holds_shared;
}

// Fills every element once: an element that is never filled would be found as read and never written.
void ShardUpdate::initialize(const Enqueue& enqueue) {
  static const NameId kPurpose = intern("initialise");
  for (const Tensor& tensor : {m_, v_}) enqueue(kPurpose, kernels::fill(flat(tensor), 0));
  for (std::int32_t b = 0; b < buffers().layout.num_buckets(); ++b) fill_padding(enqueue, b);
  for (std::size_t p = 0; p < buffers().parameters.size(); ++p) fill_parameter(enqueue, static_cast<std::int32_t>(p));
  if (counts_some()) upload_counted(enqueue);
  chunk_.fp8->initialize(enqueue.tag);
  chunk_.fp8->update(enqueue.tag, [this](std::int32_t b) { return main_shard(main_, b); });
}

// Padding between parameters is sent and updated with them: it stays zero.
void ShardUpdate::fill_padding(const Enqueue& enqueue, std::int32_t b) {
  const auto zero = [](const View& view, std::int64_t) { return kernels::fill(view, 0); };
  const plan::Bucket& bucket = buffers().layout.buckets[static_cast<std::size_t>(b)];
  std::int64_t end_of_last = bucket.begin;
  for (const std::int32_t p : bucket.parameters) {
    const auto i = static_cast<std::size_t>(p);
    fill_range(enqueue, b, end_of_last, buffers().layout.offset_of[i], zero);
    end_of_last = buffers().layout.offset_of[i] + buffers().parameters[i].elements();
  }
  fill_range(enqueue, b, end_of_last, bucket.end, zero);
}

void ShardUpdate::fill_parameter(const Enqueue& enqueue, std::int32_t p) {
  const plan::Parameter& parameter = buffers().parameters[static_cast<std::size_t>(p)];
  const double residual_factor = std::sqrt(2.0 * static_cast<double>(config_.model.num_layers));
  const double deviation = writes_to_residual(parameter) ? kInitialDeviation / residual_factor : kInitialDeviation;
  const std::uint64_t seed = config_.run.seed * 1'000'003 + static_cast<std::uint64_t>(parameter.number);
  const std::int64_t offset = buffers().layout.offset_of[static_cast<std::size_t>(p)];
  for (const plan::WeightBlock& block : chunk_.parameters->blocks[static_cast<std::size_t>(p)]) {
    const std::int64_t begin = offset + block.row * parameter.cols;
    const kernels::MatrixBlock place{parameter.cols, block.whole_cols, block.first};
    fill_range(enqueue, buffers().layout.bucket_of[static_cast<std::size_t>(p)], begin,
               begin + block.rows * parameter.cols, [&](const View& view, std::int64_t first) {
                 if (is_norm(parameter) || is_bias(parameter)) return kernels::fill(view, is_norm(parameter) ? 1 : 0);
                 return kernels::random_normal_block(view, seed, first, deviation, place);
               });
  }
}

// A range may lie across the border of a shard: its part inside this rank's shard goes to the main parameters too.
void ShardUpdate::fill_range(const Enqueue& enqueue, std::int32_t b, std::int64_t begin, std::int64_t end,
                             const Fill& fill) {
  static const NameId kPurpose = intern("initialise");
  if (begin >= end) return;
  const View grads = flat(buffers().grads, begin, end - begin);
  const bool is_fp8 = buffers().layout.buckets[static_cast<std::size_t>(b)].is_fp8;
  if (!is_fp8) enqueue(kPurpose, fill(buffers().as_parameters(grads), 0));
  const View shard = buffers().shard(buffers().grads, b);
  const std::int64_t first = std::max(begin, shard.offset);
  const std::int64_t last = std::min(end, shard.end());
  if (first >= last) return;
  const std::int64_t offset = shard_offset_[static_cast<std::size_t>(b)] + first - shard.offset;
  enqueue(kPurpose, fill(flat(main_, offset, last - first), first - begin));
}

void ShardUpdate::update(const Enqueue& enqueue, const Shared& shared, std::int32_t num_updates) {
  static const NameId kAdam = intern("adam");
  const plan::OptimizerConfig& o = config_.optimizer;
  for (std::int32_t b = 0; b < buffers().layout.num_buckets(); ++b) {
    Enqueue of_bucket = enqueue;
    of_bucket.tag.bucket = b;
    const bool is_fp8 = buffers().layout.buckets[static_cast<std::size_t>(b)].is_fp8;
    of_bucket(kAdam, kernels::adam({.grad = buffers().shard(buffers().grads, b),
                                    .grad_factor = shared.grad_factor,
                                    .main = main_shard(main_, b),
                                    .m = main_shard(m_, b),
                                    .v = main_shard(v_, b),
                                    .param = is_fp8 ? View{} : buffers().param_shard(b),
                                    .nonfinite = shared.nonfinite},
                                   {.lr = o.lr,
                                    .beta1 = o.adam_beta1,
                                    .beta2 = o.adam_beta2,
                                    .eps = o.adam_eps,
                                    .weight_decay = o.weight_decay,
                                    .step = num_updates + 1}));
  }
  chunk_.fp8->update(enqueue.tag, [this](std::int32_t b) { return main_shard(main_, b); });
}

void ShardUpdate::add_squares(const Enqueue& enqueue, const View& sum) const {
  static const NameId kNorm = intern("grad_norm");
  for (std::int32_t b = 0; b < buffers().layout.num_buckets(); ++b) {
    const View shard = buffers().shard(buffers().grads, b);
    enqueue(kNorm, counts_some() ? kernels::sum_of_squares_in(shard, counted_in(b), sum)
                                 : kernels::sum_of_squares(shard, sum));
  }
}

// As many ranges as the bucket has weights, on every rank.
View ShardUpdate::counted_in(std::int32_t b) const {
  std::int64_t first = 0;
  for (std::int32_t before = 0; before < b; ++before)
    first += static_cast<std::int64_t>(buffers().layout.buckets[static_cast<std::size_t>(before)].parameters.size());
  const auto num = buffers().layout.buckets[static_cast<std::size_t>(b)].parameters.size();
  return matrix(counted_, static_cast<std::int64_t>(num), 2, 2 * first);
}

void ShardUpdate::upload_counted(const Enqueue& enqueue) const {
  static const NameId kPurpose = intern("initialise");
  Tag tag = enqueue.tag;
  tag.kind = Kind::copy;
  tag.purpose = kPurpose;
  for (std::int32_t b = 0; b < buffers().layout.num_buckets(); ++b) {
    const View shard = buffers().shard(buffers().grads, b);
    std::vector<double> ranges;
    for (const std::int32_t p : buffers().layout.buckets[static_cast<std::size_t>(b)].parameters) {
      const auto i = static_cast<std::size_t>(p);
      const std::int64_t offset = buffers().layout.offset_of[i];
      const std::int64_t begin = std::clamp(offset, shard.offset, shard.end());
      const std::int64_t end = std::clamp(offset + buffers().parameters[i].elements(), shard.offset, shard.end());
      ranges.push_back(static_cast<double>(begin - shard.offset));
      ranges.push_back(static_cast<double>((is_counted(buffers().parameters[i]) ? end : begin) - shard.offset));
    }
    enqueue.device->upload(enqueue.stream, tag, counted_in(b), std::as_bytes(std::span(ranges)));
  }
}

}  // namespace underlap::model
