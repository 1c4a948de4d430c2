// SPDX-License-Identifier: Apache-2.0
#include "impl/model/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/adam/adam.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reduction/reduction.hpp"

namespace underlap::model {
namespace {

constexpr double kInitialDeviation = 0.02;

bool ends_with(const std::string& name, std::string_view end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

bool is_norm(const dp::Parameter& parameter) { return ends_with(parameter.name, "norm"); }

bool writes_to_residual(const dp::Parameter& parameter) {
  return ends_with(parameter.name, ".proj") || ends_with(parameter.name, ".fc2");
}

}  // namespace

Optimizer::Optimizer(Device& device, const plan::Config& config, const dp::Buffers& buffers, const Communicator& norm)
    : device_(device), config_(config), buffers_(buffers), norm_(norm) {
  std::int64_t elements = 0;
  for (std::int32_t b = 0; b < buffers.layout.num_buckets(); ++b) {
    shard_offset_.push_back(elements);
    elements += buffers.shard(buffers.params, b).elements();
  }
  main_ = device.allocate("main_parameters", DataType::f32, elements);
  m_ = device.allocate("adam_m", DataType::f32, elements);
  v_ = device.allocate("adam_v", DataType::f32, elements);
  grad_factor_ = device.allocate("grad_factor", DataType::f32, 1);
  sum_of_squares_ = device.allocate("grad_norm", DataType::f32, 1);
  nonfinite_ = device.allocate("nonfinite", DataType::i32, 1);
}

View Optimizer::main_shard(const Tensor& buffer, std::int32_t b) const {
  return flat(buffer, shard_offset_[static_cast<std::size_t>(b)], buffers_.shard(buffers_.params, b).elements());
}

// Every element is filled once: one that no fill reached would be found as read and never written.
void Optimizer::initialise(const Enqueue& enqueue) {
  static const NameId kPurpose = intern("initialise");
  for (const Tensor& tensor : {m_, v_, nonfinite_}) enqueue(kPurpose, kernels::fill(flat(tensor), 0));
  for (std::int32_t b = 0; b < buffers_.layout.num_buckets(); ++b) fill_padding(enqueue, b);
  for (std::size_t p = 0; p < buffers_.parameters.size(); ++p) fill_parameter(enqueue, static_cast<std::int32_t>(p));
  enqueue(kPurpose, kernels::fill(flat(grad_factor_), 1));
}

// Padding between parameters is sent and updated with them: it stays zero.
void Optimizer::fill_padding(const Enqueue& enqueue, std::int32_t b) {
  const auto zero = [](const View& view, std::int64_t) { return kernels::fill(view, 0); };
  const dp::Bucket& bucket = buffers_.layout.buckets[static_cast<std::size_t>(b)];
  std::int64_t end_of_last = bucket.begin;
  for (const std::int32_t p : bucket.parameters) {
    const auto i = static_cast<std::size_t>(p);
    fill_stretch(enqueue, b, end_of_last, buffers_.layout.offset_of[i], zero);
    end_of_last = buffers_.layout.offset_of[i] + buffers_.parameters[i].elements();
  }
  fill_stretch(enqueue, b, end_of_last, bucket.end, zero);
}

void Optimizer::fill_parameter(const Enqueue& enqueue, std::int32_t p) {
  const dp::Parameter& parameter = buffers_.parameters[static_cast<std::size_t>(p)];
  const double residual_factor = std::sqrt(2.0 * static_cast<double>(config_.model.num_layers));
  const double deviation = writes_to_residual(parameter) ? kInitialDeviation / residual_factor : kInitialDeviation;
  const std::uint64_t seed = config_.run.seed * 1'000'003 + static_cast<std::uint64_t>(p);
  const std::int64_t begin = buffers_.layout.offset_of[static_cast<std::size_t>(p)];
  fill_stretch(enqueue, buffers_.layout.bucket_of[static_cast<std::size_t>(p)], begin, begin + parameter.elements(),
               [&](const View& view, std::int64_t first) {
                 return is_norm(parameter) ? kernels::fill(view, 1)
                                           : kernels::random_normal(view, seed, first, deviation);
               });
}

// A stretch may lie across the border of a shard: its part inside this rank's shard goes to the main parameters too.
void Optimizer::fill_stretch(const Enqueue& enqueue, std::int32_t b, std::int64_t begin, std::int64_t end,
                             const Fill& fill) {
  static const NameId kPurpose = intern("initialise");
  if (begin >= end) return;
  enqueue(kPurpose, fill(flat(buffers_.params, begin, end - begin), 0));
  const View shard = buffers_.shard(buffers_.params, b);
  const std::int64_t first = std::max(begin, shard.offset);
  const std::int64_t last = std::min(end, shard.end());
  if (first >= last) return;
  const std::int64_t offset = shard_offset_[static_cast<std::size_t>(b)] + first - shard.offset;
  enqueue(kPurpose, fill(flat(main_, offset, last - first), first - begin));
}

void Optimizer::step(const Enqueue& enqueue, std::int32_t num_updates) {
  static const NameId kAdam = intern("adam");
  if (config_.optimizer.clip_grad > 0) clip(enqueue);
  const plan::OptimizerConfig& o = config_.optimizer;
  for (std::int32_t b = 0; b < buffers_.layout.num_buckets(); ++b) {
    Enqueue of_bucket = enqueue;
    of_bucket.tag.chunk = b;
    of_bucket(kAdam, kernels::adam({.grad = buffers_.shard(buffers_.grads, b),
                                    .grad_factor = flat(grad_factor_),
                                    .main = main_shard(main_, b),
                                    .m = main_shard(m_, b),
                                    .v = main_shard(v_, b),
                                    .param = buffers_.shard(buffers_.params, b),
                                    .nonfinite = flat(nonfinite_)},
                                   {.lr = o.lr,
                                    .beta1 = o.adam_beta1,
                                    .beta2 = o.adam_beta2,
                                    .eps = o.adam_eps,
                                    .weight_decay = o.weight_decay,
                                    .step = num_updates + 1}));
  }
}

// The tail that no overlap can hide: the norm is known only when the last gradient is, and the update needs it.
void Optimizer::clip(const Enqueue& enqueue) {
  static const NameId kNorm = intern("grad_norm");
  static const NameId kAllReduce = intern("grad_norm_all_reduce");
  enqueue(kNorm, kernels::fill(flat(sum_of_squares_), 0));
  for (std::int32_t b = 0; b < buffers_.layout.num_buckets(); ++b)
    enqueue(kNorm, kernels::sum_of_squares(buffers_.shard(buffers_.grads, b), flat(sum_of_squares_)));
  if (buffers_.is_sharded) {
    Tag tag = enqueue.tag;
    tag.kind = Kind::communication;
    tag.mode = Mode::dp;
    tag.purpose = kAllReduce;
    const Transfer sum{
        .collective = Collective::all_reduce, .input = flat(sum_of_squares_), .output = flat(sum_of_squares_)};
    device_.wait(norm_.stream, device_.record(enqueue.stream));
    enqueue.device->communicate(norm_, tag, {&sum, 1});
    device_.wait(enqueue.stream, device_.record(norm_.stream));
  }
  enqueue(kNorm, kernels::clip_factor(flat(sum_of_squares_), flat(grad_factor_), config_.optimizer.clip_grad));
}

bool Optimizer::has_nonfinite() {
  std::int32_t flag = 0;
  device_.download(flat(nonfinite_), std::as_writable_bytes(std::span(&flag, 1)));
  return flag != 0;
}

}  // namespace underlap::model
