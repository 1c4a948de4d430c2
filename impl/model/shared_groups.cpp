// SPDX-License-Identifier: Apache-2.0
#include "impl/model/shared_groups.hpp"

#include "kernels/copy/copy.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/head_blocks/head_blocks.hpp"

namespace underlap::model {
namespace {

void launch(const Enqueue& enqueue, const Operation& copy) {
  static const NameId kOrder = intern("qkv_order");
  Enqueue own = enqueue;
  own.tag.kind = Kind::copy;
  own.tag.mode = Mode::tp;
  own(kOrder, copy);
}

}  // namespace

SharedGroups::SharedGroups(tp::Communicators& communicators, const Shape& shape)
    : shape_(shape),
      collectives_(communicators),
      part_(
          allocate_matrix(communicators.device(), "qkv_part", DataType::bf16, shape.tokens, shape.qkv_out_features())),
      blocks_(allocate_matrix(communicators.device(), "qkv_parts", DataType::bf16, shape.tensor.size * shape.tokens,
                              shape.qkv_out_features())),
      group_(allocate_matrix(communicators.device(), "qkv_of_group", DataType::bf16, shape.tokens,
                             shape.group_ranks * shape.qkv_out_features())) {}

View SharedGroups::heads(const View& of, std::int64_t first, std::int64_t num) const {
  return columns_of(of, first * shape_.head_size, num * shape_.head_size);
}

View SharedGroups::own_queries() const {
  return heads(group_, shape_.tensor.index % shape_.group_ranks * shape_.heads, shape_.heads);
}

View SharedGroups::key_and_value() const { return heads(group_, shape_.group_ranks * shape_.heads, 2); }

View SharedGroups::of_group() const {
  const std::int64_t rows = shape_.group_ranks * shape_.tokens;
  const std::int64_t first = shape_.tensor.index / shape_.group_ranks * rows;
  return matrix(blocks_.tensor, rows, blocks_.cols, first * blocks_.cols);
}

void SharedGroups::gather(const Enqueue& enqueue, const View& qkv) const {
  static const NameId kGather = intern("qkv_output_all_gather");
  collectives_.all_gather(enqueue.tag, kGather, part_, blocks_);
  launch(enqueue, kernels::blocks_to_heads(of_group(), group_));
  launch(enqueue, kernels::copy(own_queries(), heads(qkv, 0, shape_.heads)));
  launch(enqueue, kernels::copy(key_and_value(), heads(qkv, shape_.heads, 2)));
}

// What other ranks' queries and groups get from here is zero.
void SharedGroups::reduce(const Enqueue& enqueue, const View& d_qkv, const View& d_part) const {
  static const NameId kReduce = intern("qkv_output_reduce_scatter");
  launch(enqueue, kernels::fill(group_, 0));
  launch(enqueue, kernels::copy(heads(d_qkv, 0, shape_.heads), own_queries()));
  launch(enqueue, kernels::copy(heads(d_qkv, shape_.heads, 2), key_and_value()));
  launch(enqueue, kernels::fill(blocks_, 0));
  launch(enqueue, kernels::heads_to_blocks(group_, of_group()));
  collectives_.reduce_scatter(enqueue.tag, kReduce, blocks_, d_part);
}

}  // namespace underlap::model
