// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/model/shape.hpp"
#include "impl/model/weights.hpp"
#include "impl/tp/communicators.hpp"

namespace underlap::model {

/// What qkv makes where key and value heads are fewer than the n tensor-parallel ranks, of which m share each.
///
/// The weight's rows are taken head by head of keys (its queries, the key, the value) and cut evenly, so a rank makes
/// P = (m A + 2) D / m columns of its group's, wherever they end. It gathers what all ranks made and takes its own
/// queries, the key and the value; backward, the gradients of all columns are reduced and scattered. Both are waited
/// for, and need copies, since the group's columns are cut:
///
///   compute | qkv_fprop |            | order | attention ...  | order |                | qkv_dgrad |
///   tp      |           | all-gather |                                | reduce-scatter |
///
/// Source: Megatron Core's SelfAttention where num_query_groups is below the tensor-parallel size.
class SharedGroups {
 public:
  /// Allocates on the device of `communicators`, whose group shares every layer. Layers run one at a time.
  SharedGroups(tp::Communicators& communicators, const Shape& shape);

  /// [T, P] bf16: what qkv makes, until gather().
  View part() const { return part_; }

  /// qkv [T, (A + 2) D] bf16: this rank's queries, the key and the value, from every rank's part().
  void gather(const Enqueue& enqueue, const View& qkv) const;
  /// d_part [T, P] bf16, the gradient of part(), from every rank's d_qkv, shaped as qkv.
  void reduce(const Enqueue& enqueue, const View& d_qkv, const View& d_part) const;

 private:
  /// Columns of `num` heads.
  View heads(const View& of, std::int64_t first, std::int64_t num) const;
  View own_queries() const;
  View key_and_value() const;
  View of_group() const;

  Shape shape_;
  tp::Collectives collectives_;
  View part_;
  View blocks_;  // [n T, P]: the parts of all ranks
  View group_;   // [T, m P]: all columns of this rank's group
};

}  // namespace underlap::model
