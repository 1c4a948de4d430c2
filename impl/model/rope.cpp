// SPDX-License-Identifier: Apache-2.0
#include "impl/model/rope.hpp"

#include "kernels/rope/rope.hpp"

namespace underlap::model {

Rope::Rope(const cp::Communicators& context, const plan::ModelConfig& model)
    : head_size_(model.head_size()), base_(model.rotary_base), part_(model.seq_length, context.group()) {
  const std::int64_t tokens = model.seq_length / context.group().size(), features = model.rotary_features();
  table_ = allocate_matrix(context.device(), "rope_table", DataType::f32, tokens, features);
}

void Rope::initialize(const Enqueue& enqueue) const {
  static const NameId kPurpose = intern("initialise");
  std::int64_t row = 0;
  for (const auto& [begin, end] : part_.ranges()) {
    const View rows = matrix(table_.tensor, end - begin, table_.cols, row * table_.cols);
    enqueue(kPurpose, kernels::rope_table(rows, begin, base_));
    row += end - begin;
  }
}

void Rope::forward(const Enqueue& enqueue, const cp::Qkv& qkv) const {
  static const NameId kPurpose = intern("rope_fprop");
  for (const View& x : {qkv.q, qkv.k}) enqueue(kPurpose, kernels::rope_forward(x, table_, head_size_));
}

void Rope::backward(const Enqueue& enqueue, const cp::Qkv& d_qkv) const {
  static const NameId kPurpose = intern("rope_dgrad");
  for (const View& dx : {d_qkv.q, d_qkv.k}) enqueue(kPurpose, kernels::rope_backward(dx, table_, head_size_));
}

}  // namespace underlap::model
