// SPDX-License-Identifier: Apache-2.0
#include "impl/model/optimizer.hpp"

#include "impl/plan/config.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/reduction/reduction.hpp"

namespace underlap::model {

Optimizer::Optimizer(Device& device, const plan::Config& config, std::span<const OptimizedChunk> chunks,
                     plan::TensorRank tensor, const std::optional<Communicator>& norm)
    : device_(device),
      clip_grad_(config.optimizer.clip_grad),
      has_one_mode_(config.parallel.world_size() == config.parallel.num_replicas()),
      norm_(norm) {
  for (const OptimizedChunk& chunk : chunks) chunks_.emplace_back(device, config, chunk, tensor);
  grad_factor_ = device.allocate("grad_factor", DataType::f32, 1);
  sum_of_squares_ = device.allocate("grad_norm", DataType::f32, 1);
  nonfinite_ = device.allocate("nonfinite", DataType::i32, 1);
}

void Optimizer::initialize(const Enqueue& enqueue) {
  static const NameId kPurpose = intern("initialise");
  enqueue(kPurpose, kernels::fill(flat(nonfinite_), 0));
  enqueue(kPurpose, kernels::fill(flat(grad_factor_), 1));
  for (ShardUpdate& chunk : chunks_) chunk.initialize(enqueue);
}

// The tail that no overlap can hide: the norm is known only when the last gradient is, and the update needs it.
void Optimizer::begin_step(const Enqueue& enqueue) {
  static const NameId kNorm = intern("grad_norm");
  if (clip_grad_ <= 0) return;
  enqueue(kNorm, kernels::fill(flat(sum_of_squares_), 0));
  for (const ShardUpdate& chunk : chunks_) chunk.add_squares(enqueue, flat(sum_of_squares_));
  if (norm_) all_reduce_norm(enqueue);
  enqueue(kNorm, kernels::clip_factor(flat(sum_of_squares_), flat(grad_factor_), clip_grad_));
  // Megatron's host reads the norm before it clips; here the device does.
  device_.host_work(HostWork::synchronize, device_.record(enqueue.stream));
}

void Optimizer::all_reduce_norm(const Enqueue& enqueue) {
  static const NameId kAllReduce = intern("grad_norm_all_reduce");
  const Transfer sum{
      .collective = Collective::all_reduce, .input = flat(sum_of_squares_), .output = flat(sum_of_squares_)};
  const Scope scope(device_, enqueue.stream, has_one_mode_ ? Mode::dp : Mode::other);
  scope.communicate_at_once(*norm_, enqueue.tag, kAllReduce, {sum});
}

void Optimizer::update(const Enqueue& enqueue, std::int32_t chunk, std::int32_t num_updates) {
  chunks_[static_cast<std::size_t>(chunk)].update(
      enqueue, {.grad_factor = flat(grad_factor_), .nonfinite = flat(nonfinite_)}, num_updates);
}

bool Optimizer::has_nonfinite() {
  std::int32_t flag = 0;
  device_.download(flat(nonfinite_), std::as_writable_bytes(std::span(&flag, 1)));
  return flag != 0;
}

}  // namespace underlap::model
