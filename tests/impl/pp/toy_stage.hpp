// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "impl/device/scope.hpp"
#include "impl/plan/config.hpp"
#include "impl/pp/technique.hpp"
#include "kernels/bf16.hpp"

namespace underlap::pp {

/// A stage of small operations on whole numbers below 251, which bf16 holds exactly: every part of the model multiplies
/// and adds, and its backward pass reads its input again. Of a backward pass in halves only the first does: the second
/// has what the forward pass saved.
namespace toy {

inline constexpr int kModulus = 251;

constexpr int sample(std::int64_t step, std::int64_t i) { return static_cast<int>((i * 5 + step * 29) % kModulus); }
constexpr int output(int x, std::int64_t part) { return static_cast<int>((3 * x + part + 1) % kModulus); }
constexpr int saved(int x) { return (x + 7) % kModulus; }
constexpr int input_of(int kept) { return (kept + kModulus - 7) % kModulus; }
constexpr int d_input(int d, int x, int kept) { return (5 * d + x + kept) % kModulus; }
constexpr int grad(int d, int x) { return d * x % kModulus; }

struct Parameters {
  std::int64_t step = 0;
  std::int64_t part = 0;
};

inline int at(const BoundView& view, std::int64_t i) {
  return static_cast<int>(static_cast<float>(view.as<bf16>()[i]));
}
inline void put(const BoundView& view, std::int64_t i, int value) {
  view.as<bf16>()[i] = bf16(static_cast<float>(value));
}

}  // namespace toy

/// How many nanoseconds a pass of a toy stage takes, and of its backward pass the half that can be put off.
struct PassTimes {
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t wgrad_ns = 0;
};

/// The tensors of a toy stage and what it enqueues, with flops that are read as time.
class ToyStage final : public Stage {
 public:
  ToyStage(const Context& context, const PassTimes& times)
      : device_(*context.device),
        compute_(context.compute),
        schedule_(*context.config, context.group.my_index),
        rows_(context.rows),
        cols_(context.cols),
        times_(times) {
    const std::int64_t microbatches = context.config->train.num_microbatches;
    if (schedule_.is_first_stage()) samples_ = allocate("samples", DataType::bf16, microbatches);
    if (schedule_.is_last_stage()) losses_ = allocate("losses", DataType::bf16, microbatches);
    const auto script = script_of(*context.config, schedule_.stage());
    for (std::int32_t chunk = 0; chunk < schedule_.num_chunks(); ++chunk) {
      grads_.push_back(allocate("grads", DataType::f32, 1));
      const std::int64_t in_flight = count_in_flight(*script, chunk).activations;
      for (std::int64_t i = 0; i < in_flight; ++i) free_[chunk].push_back(allocate("saved", DataType::bf16, 1));
    }
  }

  /// Samples of `step`, and no gradients.
  void begin_step(std::int32_t step) {
    step_ = step;
    if (schedule_.is_first_stage()) launch("sample", 0, -1, {{samples_, Access::out}}, &fill_samples, 0);
    for (const View& grads : grads_) launch("zero", 0, -1, {{grads, Access::out}}, &zero, 0);
  }

  void forward(std::int32_t chunk, std::int64_t microbatch, const View& input, const View& output) override {
    const Key key{chunk, microbatch};
    const View saved = free_[chunk].back();
    free_[chunk].pop_back();
    kept_[key] = {.input = input.tensor.id == 0 ? of(samples_, microbatch) : input, .saved = saved, .d_output = {}};
    device_.acquire(compute_, saved);
    const View out = output.tensor.id == 0 ? of(losses_, microbatch) : output;
    launch("forward", times_.forward_ns, microbatch,
           {{kept_[key].input, Access::in}, {saved, Access::out}, {out, Access::out}}, &run_forward, part_of(chunk));
  }

  void backward(std::int32_t chunk, std::int64_t microbatch, const View& d_output, const View& d_input) override {
    std::vector<Use> uses = keep_gradient(chunk, microbatch, d_output);
    uses.push_back({grads_[static_cast<std::size_t>(chunk)], Access::inout});
    if (d_input.tensor.id != 0) uses.push_back({d_input, Access::out});
    launch("backward", times_.backward_ns, microbatch, uses, &run_backward, 0);
    forget(chunk, microbatch);
  }

  void dgrad(std::int32_t chunk, std::int64_t microbatch, const View& d_output, const View& d_input) override {
    std::vector<Use> uses = keep_gradient(chunk, microbatch, d_output);
    if (d_input.tensor.id != 0) uses.push_back({d_input, Access::out});
    launch("dgrad", times_.backward_ns - times_.wgrad_ns, microbatch, uses, &run_dgrad, 0);
  }

  void wgrad(std::int32_t chunk, std::int64_t microbatch) override {
    const Kept& kept = kept_.at({chunk, microbatch});
    launch("wgrad", times_.wgrad_ns, microbatch,
           {{kept.saved, Access::in},
            {kept.d_output, Access::in},
            {grads_[static_cast<std::size_t>(chunk)], Access::inout}},
           &run_wgrad, 0);
    forget(chunk, microbatch);
  }

  void start_param_gather(std::int32_t) override {}
  void start_grad_reduce(std::int32_t) override {}
  void finish_deferred_wgrads() override {}

  /// [rows, cols] f32 by chunk; [microbatches * rows, cols] bf16 on the last stage.
  const std::vector<View>& grads() const { return grads_; }
  const View& losses() const { return losses_; }

 private:
  using Key = std::pair<std::int32_t, std::int64_t>;  // chunk, microbatch
  struct Kept {
    View input, saved, d_output;
  };

  /// What either form of the backward pass reads.
  std::vector<Use> keep_gradient(std::int32_t chunk, std::int64_t microbatch, const View& d_output) {
    Kept& kept = kept_.at({chunk, microbatch});
    kept.d_output = d_output.tensor.id == 0 ? of(losses_, microbatch) : d_output;
    return {{kept.input, Access::in}, {kept.saved, Access::in}, {kept.d_output, Access::in}};
  }
  void forget(std::int32_t chunk, std::int64_t microbatch) {
    const View saved = kept_.extract({chunk, microbatch}).mapped().saved;
    device_.release(compute_, saved);
    free_[chunk].push_back(saved);
  }

  View allocate(const char* name, DataType dtype, std::int64_t count) {
    return allocate_matrix(device_, name, dtype, count * rows_, cols_);
  }
  View of(const View& all, std::int64_t microbatch) const {
    return matrix(all.tensor, rows_, cols_, microbatch * rows_ * cols_);
  }
  std::int64_t part_of(std::int32_t chunk) const {
    return static_cast<std::int64_t>(chunk) * schedule_.num_stages() + schedule_.stage();
  }

  void launch(const char* name, std::int64_t ns, std::int64_t microbatch, const std::vector<Use>& uses,
              CpuImplementation form, std::int64_t part) {
    const Operation operation(intern(name), form, {.flops = static_cast<double>(ns)}, uses);
    device_.launch(compute_,
                   {.purpose = intern(name), .microbatch = static_cast<std::int32_t>(microbatch), .step = step_},
                   operation.with_parameters(toy::Parameters{step_, part}));
  }

  static void fill_samples(const Arguments& a) {
    const auto p = a.parameters<toy::Parameters>();
    for (std::int64_t i = 0; i < a[0].rows * a[0].cols; ++i) toy::put(a[0], i, toy::sample(p.step, i));
  }
  static void zero(const Arguments& a) {
    for (std::int64_t i = 0; i < a[0].rows * a[0].cols; ++i) a[0].as<float>()[i] = 0;
  }
  static void run_forward(const Arguments& a) {
    const auto p = a.parameters<toy::Parameters>();
    for (std::int64_t i = 0; i < a[0].rows * a[0].cols; ++i) {
      const int x = toy::at(a[0], i);
      toy::put(a[1], i, toy::saved(x));
      toy::put(a[2], i, toy::output(x, p.part));
    }
  }
  static void run_backward(const Arguments& a) {
    for (std::int64_t i = 0; i < a[0].rows * a[0].cols; ++i) {
      const int x = toy::at(a[0], i), kept = toy::at(a[1], i), d = toy::at(a[2], i);
      a[3].as<float>()[i] += static_cast<float>(toy::grad(d, x));
      if (a.size() > 4) toy::put(a[4], i, toy::d_input(d, x, kept));
    }
  }
  static void run_dgrad(const Arguments& a) {
    if (a.size() <= 3) return;
    for (std::int64_t i = 0; i < a[0].rows * a[0].cols; ++i)
      toy::put(a[3], i, toy::d_input(toy::at(a[2], i), toy::at(a[0], i), toy::at(a[1], i)));
  }
  static void run_wgrad(const Arguments& a) {
    for (std::int64_t i = 0; i < a[0].rows * a[0].cols; ++i)
      a[2].as<float>()[i] += static_cast<float>(toy::grad(toy::at(a[1], i), toy::input_of(toy::at(a[0], i))));
  }

  Device& device_;
  Stream compute_;
  Schedule schedule_;
  std::int64_t rows_, cols_;
  PassTimes times_;
  View samples_, losses_;
  std::vector<View> grads_;
  std::map<std::int32_t, std::vector<View>> free_;  // by chunk
  std::map<Key, Kept> kept_;
  std::int32_t step_ = 0;
};

}  // namespace underlap::pp
