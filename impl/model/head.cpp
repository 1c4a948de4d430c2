// SPDX-License-Identifier: Apache-2.0
#include "impl/model/head.hpp"

#include <algorithm>

#include "impl/model/embedding.hpp"
#include "impl/plan/config.hpp"
#include "kernels/cross_entropy/cross_entropy.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace underlap::model {
namespace {

// Source: Megatron Core, whose buffer takes what comes first and then is full.
std::int64_t num_wgrads_put_off(const plan::Config& config) {
  const std::int64_t limit = config.pipeline.wgrad_deferral_limit;
  if (!config.pipeline.defer_embedding_wgrad_compute) return 0;
  return limit == 0 ? config.train.num_microbatches : std::min(limit, config.train.num_microbatches);
}

}  // namespace

Head::Head(tp::Communicators& communicators, const SharedLayers& shared, const plan::Config& config,
           const plan::ModelParameters& parameters, const Keeping& keeping)
    : shape_(shared.shape),
      scratch_(shared.scratch),
      vocab_size_(config.model.vocab_size),
      loss_scale_(1.0 / static_cast<double>(shape_.tokens * config.train.num_microbatches)),
      collectives_(communicators),
      over_group_(make_head(communicators, shape_, config)),
      norm_("final_norm", parameters.final_norm, parameters.final_norm_bias),
      linear_(*over_group_, parameters.head),
      parameter_(parameters.head),
      drain_(make_head_drain(communicators, shape_, config)) {
  Device& device = communicators.device();
  const std::int64_t t = shape_.tokens;
  for (std::int32_t slot = 0; slot < keeping.num_slots; ++slot)
    kept_.push_back(
        {.input = {},
         .statistics = device.allocate("norm_statistics", DataType::f32, shape_.norm_statistics() * shape_.tokens_here),
         .logits = device.allocate("logits", DataType::bf16, t * shape_.vocab),
         .lse = device.allocate("loss_lse", DataType::f32, t)});
  const auto normed = [&] { return device.allocate("normed", DataType::bf16, shape_.tokens_here * shape_.hidden); };
  const auto d_logits = [&] { return device.allocate("d_logits", DataType::bf16, t * shape_.vocab); };
  const std::int64_t num_put_off = num_wgrads_put_off(config);
  for (std::int64_t i = 0; i < num_put_off; ++i) put_off_.push_back({normed(), d_logits()});
  if (num_put_off < config.train.num_microbatches) {
    for (std::int32_t i = 0; i < std::max(keeping.num_gradient_slots, 1); ++i) d_logits_.push_back(d_logits());
    for (std::int32_t slot = 0; slot < keeping.num_slots; ++slot) normed_.push_back(normed());
  }
  if (shape_.tensor.size == 1) return;
  loss_max_ = device.allocate("loss_max", DataType::f32, t);
  loss_sums_ = device.allocate("loss_sums", DataType::f32, 2 * t);
}

void Head::forward(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const Input& input,
                   const View& loss) {
  Kept& kept = kept_[static_cast<std::size_t>(slot)];
  kept.input = input;
  const View normed = by_token_here(operands({.activations = slot}, input.microbatch).normed);
  norm_.forward(enqueue, weights, input.x, normed, statistics(kept));
  linear_.fprop(enqueue, weights, slot, normed, by_token(kept.logits));
  find_loss(enqueue, kept, loss);
}

Head::WgradOperands Head::operands(Slot slot, std::int64_t microbatch) const {
  if (is_put_off(microbatch)) return put_off_[static_cast<std::size_t>(microbatch)];
  return {normed_[static_cast<std::size_t>(slot.activations)], d_logits_[static_cast<std::size_t>(slot.gradients)]};
}

void Head::find_loss(const Enqueue& enqueue, const Kept& kept, const View& loss) const {
  static const NameId kLoss = intern("loss_fprop");
  static const NameId kMax = intern("loss_max_all_reduce");
  static const NameId kSums = intern("loss_sum_all_reduce");
  const View logits = by_token(kept.logits);
  const View& targets = kept.input.targets;
  if (shape_.tensor.size == 1)
    return enqueue(kLoss, kernels::cross_entropy_forward(logits, targets, flat(kept.lse), loss, loss_scale_));
  enqueue(kLoss, kernels::cross_entropy_max(logits, flat(loss_max_)));
  collectives_.all_reduce(enqueue.tag, kMax, flat(loss_max_), ReduceOp::max);
  const View sums = matrix(loss_sums_, 2, shape_.tokens);
  const kernels::VocabShard shard = vocab_shard(shape_, vocab_size_);
  enqueue(kLoss, kernels::cross_entropy_sums(logits, targets, flat(loss_max_), sums, shard));
  collectives_.all_reduce(enqueue.tag, kSums, sums);
  enqueue(kLoss, kernels::cross_entropy_finish(flat(loss_max_), sums, flat(kept.lse), loss, loss_scale_));
}

void Head::backward(const Enqueue& enqueue, const Weights& weights, Slot slot, const View& d_x) {
  static const NameId kLoss = intern("loss_dgrad");
  static const NameId kZero = intern("zero_residual");
  const Kept& kept = kept_[static_cast<std::size_t>(slot.activations)];
  const WgradOperands of_wgrad = operands(slot, kept.input.microbatch);
  const View d_logits = by_token(of_wgrad.d_logits), d_norm = by_token_here(scratch_.d_norm);
  enqueue(kLoss, kernels::cross_entropy_backward(by_token(kept.logits), kept.input.targets, flat(kept.lse), d_logits,
                                                 loss_scale_, vocab_shard(shape_, vocab_size_)));
  if (is_put_off(kept.input.microbatch)) {
    linear_.dgrad(enqueue, weights, d_logits, d_norm);
  } else {
    // If others are deferred, the last microbatch's weight gradient does not complete the sum.
    Weights until_whole = weights;
    until_whole.is_last_microbatch = weights.is_last_microbatch && put_off_.empty();
    linear_.backward(enqueue, until_whole, slot.activations, d_logits, by_token_here(of_wgrad.normed), d_norm);
  }
  // Nothing passes the last norm by: its residual is zero.
  const View residual = by_token_here(scratch_.gradients.d_middle);
  enqueue(kZero, kernels::fill(residual, 0));
  norm_.backward(enqueue, weights,
                 {.x = kept.input.x, .statistics = statistics(kept), .dout = d_norm, .residual = residual, .dx = d_x});
}

void Head::wgrad(const Enqueue& enqueue, const Weights& weights, Slot slot) {
  const WgradOperands of = operands(slot, kept_[static_cast<std::size_t>(slot.activations)].input.microbatch);
  linear_.wgrad(enqueue, weights, by_token(of.d_logits), by_token_here(of.normed));
}

void Head::finish_wgrads(const Enqueue& enqueue, const Weights& weights) {
  std::vector<tp::DeferredWgrad> wgrads;
  for (const WgradOperands& of : put_off_) {
    Tag tag = enqueue.tag;
    tag.microbatch = static_cast<std::int32_t>(wgrads.size());
    wgrads.push_back({.tag = tag, .dy = by_token(of.d_logits), .x = by_token_here(of.normed)});
  }
  drain_->run(wgrads, weights.main_grad(parameter_));
  weights.after_wgrad({parameter_});
}

}  // namespace underlap::model
