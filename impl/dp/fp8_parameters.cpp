// SPDX-License-Identifier: Apache-2.0
#include "impl/dp/fp8_parameters.hpp"

#include <span>
#include <vector>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/gemm_fp8/gemm_fp8.hpp"
#include "kernels/quantize/quantize.hpp"
#include "kernels/segments/segments.hpp"

namespace underlap::dp {

void allocate_fp8(Device& device, Buffers& buffers, const Registration& gathered) {
  if (buffers.layout.fp8_elements == 0) return;
  buffers.fp8_params =
      device.allocate_registered("fp8_parameters", DataType::f8e4m3, buffers.layout.fp8_elements, gathered);
  buffers.inverse_scales =
      device.allocate("fp8_inverse_scales", DataType::f32, buffers.layout.num_fp8 * kernels::kScaleStride);
}

Fp8Parameters::Fp8Parameters(const Context& context) : context_(context) {
  const plan::BucketLayout& layout = context.buffers->layout;
  while (num_buckets_ < layout.num_buckets() && layout.buckets[static_cast<std::size_t>(num_buckets_)].is_fp8)
    ++num_buckets_;
  if (num_buckets_ == 0) return;
  begins_ = context.device->allocate("param_begins", DataType::i32, layout.num_fp8);
  amaxes_ = context.device->allocate("param_amaxes", DataType::f32, layout.num_fp8);
}

void Fp8Parameters::launch(Tag tag, NameId purpose, const Operation& operation) const {
  tag.purpose = purpose;
  context_.device->launch(context_.compute, tag, operation);
}

Fp8Parameters::Range Fp8Parameters::range_of(std::int32_t b) const {
  const plan::BucketLayout& layout = context_.buffers->layout;
  const std::vector<std::int32_t>& parameters = layout.buckets[static_cast<std::size_t>(b)].parameters;
  return {layout.fp8_index[static_cast<std::size_t>(parameters.front())], static_cast<std::int64_t>(parameters.size())};
}

View Fp8Parameters::of_bucket(const Tensor& by_parameter, std::int32_t b) const {
  const Range range = range_of(b);
  return flat(by_parameter, range.first, range.num);
}

kernels::Segments Fp8Parameters::segments(std::int32_t b) const {
  const Buffers& buffers = *context_.buffers;
  return {.begins = of_bucket(begins_, b),
          .first = buffers.shard(buffers.grads, b).offset - buffers.bucket(buffers.grads, b).offset};
}

void Fp8Parameters::initialize(const Tag& tag) {
  static const NameId kPurpose = intern("initialise");
  if (num_buckets_ == 0) return;
  const plan::BucketLayout& layout = context_.buffers->layout;
  std::vector<std::int32_t> begins;
  for (std::int32_t b = 0; b < num_buckets_; ++b) {
    const plan::Bucket& bucket = layout.buckets[static_cast<std::size_t>(b)];
    for (const std::int32_t p : bucket.parameters)
      begins.push_back(static_cast<std::int32_t>((layout.offset_of[static_cast<std::size_t>(p)] - bucket.begin) /
                                                 kernels::kSegmentUnit));
  }
  Tag own = tag;
  own.kind = Kind::copy;
  own.purpose = kPurpose;
  context_.device->upload(context_.compute, own, flat(begins_), std::as_bytes(std::span(begins)));
}

void Fp8Parameters::update(const Tag& tag, const std::function<View(std::int32_t)>& main_shard) {
  static const NameId kAmax = intern("param_amax");
  static const NameId kQuantize = intern("param_quantize");
  if (num_buckets_ == 0) return;
  const Buffers& buffers = *context_.buffers;
  Tag in_bucket = tag;
  launch(tag, kAmax, kernels::fill(flat(amaxes_), 0));
  for (std::int32_t b = 0; b < num_buckets_; ++b) {
    in_bucket.bucket = b;
    launch(in_bucket, kAmax, kernels::segmented_amax(main_shard(b), segments(b), of_bucket(amaxes_, b)));
  }
  all_reduce(tag);
  launch(tag, kAmax,
         kernels::fp8_scale(flat(amaxes_), buffers.inverse_scales_from(0, context_.buffers->layout.num_fp8),
                            DataType::f8e4m3));
  for (std::int32_t b = 0; b < num_buckets_; ++b) {
    in_bucket.bucket = b;
    const Range range = range_of(b);
    launch(in_bucket, kQuantize,
           kernels::segmented_quantize(main_shard(b), segments(b), buffers.inverse_scales_from(range.first, range.num),
                                       buffers.param_shard(b)));
  }
}

// Over one optimizer instance, which holds all shards: every instance finds the same.
void Fp8Parameters::all_reduce(const Tag& tag) const {
  static const NameId kPurpose = intern("param_amax_all_reduce");
  const Transfer largest{
      .collective = Collective::all_reduce, .input = flat(amaxes_), .output = flat(amaxes_), .op = ReduceOp::max};
  context_.scope().communicate_at_once(context_.reduce, tag, kPurpose, {largest});
}

}  // namespace underlap::dp
