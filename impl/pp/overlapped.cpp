// SPDX-License-Identifier: Apache-2.0
//
// Interleaved 1F1B with overlap_p2p_comm: the output of a forward pass is sent during the backward pass that follows,
// and the input of the next forward pass arrives then. Likewise, gradients travel during forward passes.
//
//   compute         | F4 | B0 | F5 | B1 | F6 | B2 |
//   forward, out         | F4 |    | F5 |    | F6 |
//   forward, in          | F5 |    | F6 |    | F7 |
//   backward, both            | B0 |    | B1 |         exposed: a transfer longer than the pass during it, and all
//                                                      transfers while the pipeline fills and drains
//
// deallocate_pipeline_outputs frees an output as soon as it is sent, and compute waits for that, so sends are exposed
// after all. Without it, compute waits for the previous send. release_by_event makes compute wait where it needs the
// buffer again, two forward passes later.
// overlap_p2p_comm_warmup_flush: the receive for the next pass is posted before this pass also while the pipeline fills
// and drains, and sends overlap with the work that follows. The stage where a direction begins cannot receive so early:
// its input is made by the other end at the same time. So this stage sends first and all others receive first, during
// the whole step. Megatron's order of even and odd stages would contradict that where one stage drains and the next
// does not yet.
// extensions.overlap_without_virtual_stages: the same with one chunk a stage. Its order is that of one chunk here too,
// with twice as many forward passes before the first backward pass as plain 1F1B. In plain 1F1B a gradient is needed as
// soon as it is made and cannot be hidden. The price is up to twice as many microbatches in flight. Outputs are
// released by event.
//
// Source: Megatron Core's interleaved schedule with overlap_p2p_comm. The variant without virtual stages is our own;
// NVIDIA/Megatron-LM#4385 asks for it.
#include <cassert>

#include "impl/plan/config.hpp"
#include "impl/pp/script.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {
namespace {

constexpr Direction kForward = Direction::forward, kBackward = Direction::backward;

class Writer {
 public:
  explicit Writer(Script& script)
      : script_(script),
        flush_(script.config().pipeline.overlap_p2p_comm_warmup_flush),
        warmup_(script.schedule().num_warmup()),
        all_(script.schedule().num_passes()) {}

  void write() {
    script_.exchange({script_.receive(kForward, 0)});
    for (std::int64_t k = 0; k < warmup_; ++k) flush_ ? fill_early(k) : fill(k);
    if (warmup_ < all_) script_.post({script_.receive(kBackward, 0)});
    for (std::int64_t k = 0; k < all_ - warmup_; ++k) alternate(k);
    if (warmup_ == all_) script_.exchange({script_.receive(kBackward, 0)});
    if (!flush_) settle();
    for (std::int64_t k = all_ - warmup_; k < all_; ++k) flush_ ? drain_early(k) : drain(k);
    settle();
  }

 private:
  void fill(std::int64_t k) {
    script_.forward(k);
    script_.exchange({script_.send(kForward, k), script_.arrival(kForward, k)});
  }

  void fill_early(std::int64_t k) {
    if (k > 0) script_.await(script_.receive(kForward, k));
    post_around(kForward, k, [&] { script_.forward(k); });
    sent_forward(script_.send(kForward, k));
  }

  void alternate(std::int64_t k) {
    script_.await(script_.receive(kForward, k + warmup_));
    script_.forward(k + warmup_);
    post(kForward, k + warmup_);
    sent_forward(script_.send(kForward, k + warmup_));
    script_.await(script_.receive(kBackward, k));
    script_.backward(k);
    post(kBackward, k);
    sent_backward(script_.send(kBackward, k));
  }

  void drain(std::int64_t k) {
    script_.await(script_.receive(kBackward, k));
    script_.backward(k);
    script_.exchange({script_.send(kBackward, k), script_.arrival(kBackward, k)});
  }

  void drain_early(std::int64_t k) {
    script_.await(script_.receive(kBackward, k));
    post_around(kBackward, k, [&] { script_.backward(k); });
    sent_backward(script_.send(kBackward, k));
  }

  bool begins_here(Direction direction) const {
    return direction == kForward ? script_.schedule().is_first_stage() : script_.schedule().is_last_stage();
  }

  // The messages that are sent and received during the k-th pass of a direction.
  void post(Direction direction, std::int64_t k) {
    if (!flush_) return script_.post({script_.send(direction, k), script_.arrival(direction, k)});
    post_around(direction, k, [] {});
  }

  template <class Run>
  void post_around(Direction direction, std::int64_t k, Run run_pass) {
    if (!begins_here(direction)) script_.post({script_.arrival(direction, k)});
    run_pass();
    script_.post({script_.send(direction, k)});
    if (begins_here(direction)) script_.post({script_.arrival(direction, k)});
  }

  void sent_forward(const std::optional<Message>& sent) {
    if (script_.config().extensions.release_by_event || !script_.schedule().is_interleaved()) {
      script_.release(forward_);
      forward_ = sent;
    } else if (script_.config().pipeline.deallocate_pipeline_outputs) {
      script_.await(sent);
    } else {
      script_.await(forward_);
      forward_ = sent;
    }
  }

  void sent_backward(const std::optional<Message>& sent) {
    script_.await(backward_);
    backward_ = sent;
  }

  // What is still on its way.
  void settle() {
    sent_forward(std::nullopt);
    sent_backward(std::nullopt);
  }

  Script& script_;
  bool flush_;
  std::int64_t warmup_;
  std::int64_t all_;
  std::optional<Message> forward_;   // the last that was sent and whose buffer is not free yet
  std::optional<Message> backward_;  // likewise
};

void write(Script& script) {
  assert(!script.config().pipeline.batch_p2p_comm);
  assert(script.schedule().is_interleaved() || script.config().extensions.overlap_without_virtual_stages);
  Writer(script).write();
}

std::string refusal(const plan::Config& config) {
  return config.pipeline.overlap_p2p_comm ? "" : "it needs overlap_p2p_comm";
}

const RegisterSchedule kRegistered{{
    .name = "overlapped",
    .summary = "runs 1F1B, mostly over virtual stages, and exchanges during the passes that follow",
    .exposed = "pipeline fill and drain; sends where outputs are deallocated; a transfer longer than a pass",
    .refusal = refusal,
    .write = write,
    .overlaps = true,
}};

}  // namespace
}  // namespace underlap::pp
