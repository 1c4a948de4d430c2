// SPDX-License-Identifier: Apache-2.0
#include "impl/dp/technique.hpp"

#include <numeric>

#include "impl/plan/config.hpp"
#include "kernels/gemm_fp8/gemm_fp8.hpp"

namespace underlap::dp {

std::vector<std::int32_t> Buffers::all_buckets() const {
  std::vector<std::int32_t> all(layout.buckets.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

View Buffers::bucket(const Tensor& buffer, std::int32_t b) const {
  const plan::Bucket& bucket = layout.buckets[static_cast<std::size_t>(b)];
  return flat(buffer, bucket.begin, bucket.elements());
}

View Buffers::shard(const Tensor& buffer, std::int32_t b) const {
  if (!is_sharded) return bucket(buffer, b);
  const plan::Bucket& whole = layout.buckets[static_cast<std::size_t>(b)];
  const std::int64_t elements = whole.elements() / group.size();
  return flat(buffer, whole.begin + group.my_index * elements, elements);
}

// Parameters have the offsets of their gradients, except that bf16 and fp8 parameters have separate buffers.
View Buffers::as_parameters(View grads_view) const {
  const bool is_fp8 = grads_view.offset < layout.fp8_elements;
  grads_view.tensor = is_fp8 ? fp8_params : params;
  if (!is_fp8) grads_view.offset -= layout.fp8_elements;
  return grads_view;
}

View Buffers::param_bucket(std::int32_t b) const { return as_parameters(bucket(grads, b)); }
View Buffers::param_shard(std::int32_t b) const { return as_parameters(shard(grads, b)); }
View Buffers::weight(std::int32_t parameter) const { return as_parameters(main_grad(parameter)); }

View Buffers::inverse_scale(std::int32_t parameter) const {
  return inverse_scales_from(layout.fp8_index[static_cast<std::size_t>(parameter)], 1);
}

View Buffers::inverse_scales_from(std::int64_t first, std::int64_t num) const {
  View column = matrix(inverse_scales, num, kernels::kScaleStride, first * kernels::kScaleStride);
  column.cols = 1;
  return column;
}

View Buffers::main_grad(std::int32_t parameter) const {
  const auto i = static_cast<std::size_t>(parameter);
  return matrix(grads, parameters[i].rows, parameters[i].cols, layout.offset_of[i]);
}

Event gather(const Context& context, const std::vector<std::int32_t>& buckets, std::int32_t step) {
  static const NameId kPurpose = intern("param_all_gather");
  const Buffers& buffers = *context.buffers;
  std::vector<Transfer> transfers;
  for (const std::int32_t b : buckets)
    transfers.push_back(
        {.collective = Collective::all_gather, .input = buffers.param_shard(b), .output = buffers.param_bucket(b)});
  const Tag tag{.direction = Direction::forward, .bucket = buckets.size() == 1 ? buckets[0] : -1, .step = step};
  return context.scope().communicate(context.gather, tag, kPurpose, transfers);
}

GradReduceKey grad_reduce_key(const plan::Config& config) {
  const plan::DdpConfig& ddp = config.ddp;
  return {ddp.overlap_grad_reduce, ddp.reduce_scatter_with_fp32_accumulation && ddp.use_distributed_optimizer};
}

ParamGatherKey param_gather_key(const plan::Config& config) {
  const plan::DdpConfig& ddp = config.ddp;
  return {ddp.use_distributed_optimizer, ddp.use_distributed_optimizer && ddp.overlap_param_gather};
}

}  // namespace underlap::dp
