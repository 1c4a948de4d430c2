// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/technique.hpp"

#include <optional>

#include "impl/pp/exchanges.hpp"

namespace underlap::pp {
namespace {

class ScriptedPipeline final : public Pipeline {
 public:
  ScriptedPipeline(const Context& context, const Script& script)
      : device_(*context.device), schedule_(script.schedule()), actions_(script.actions()) {
    if (schedule_.num_stages() > 1) exchanges_.emplace(context, count_buffers(script));
  }

  void run(Stage& stage, std::int32_t step) override {
    if (exchanges_) exchanges_->begin_step(step);
    for (const Action& action : actions_) play(stage, action);
  }

 private:
  void play(Stage& stage, const Action& action) {
    switch (action.type) {
      case Action::Type::run:
      case Action::Type::dgrad:
      case Action::Type::wgrad: return run(stage, action);
      case Action::Type::post: return exchanges_->post(action.messages);
      case Action::Type::await: return exchanges_->await(action.messages.front());
      case Action::Type::release: return exchanges_->release(action.messages.front());
      case Action::Type::synchronize: return exchanges_->synchronize();
      case Action::Type::gather: return stage.start_param_gather(action.chunk);
      case Action::Type::reduce: return stage.start_grad_reduce(action.chunk);
      case Action::Type::finish_wgrads: return stage.finish_deferred_wgrads();
    }
  }

  void run(Stage& stage, const Action& action) {
    device_.host_work(HostWork::pass);
    enqueue(stage, action);
    if (!exchanges_) return;
    exchanges_->end_pass();
    for (const Message& read : last_reads(schedule_, action)) exchanges_->end_read(read.pass);
  }

  void enqueue(Stage& stage, const Action& action) {
    const auto& [direction, chunk, microbatch] = action.pass;
    if (action.type == Action::Type::wgrad) return stage.wgrad(chunk, microbatch);
    const View in = schedule_.has_input(action.pass) ? exchanges_->received(action.pass) : View{};
    const View out = schedule_.has_output(action.pass) ? exchanges_->begin_write(action.pass) : View{};
    if (action.type == Action::Type::dgrad) return stage.dgrad(chunk, microbatch, in, out);
    direction == Direction::forward ? stage.forward(chunk, microbatch, in, out)
                                    : stage.backward(chunk, microbatch, in, out);
  }

  Device& device_;
  Schedule schedule_;
  std::vector<Action> actions_;
  std::optional<Exchanges> exchanges_;  // where there is more than one stage
};

}  // namespace

RegisterSchedule::RegisterSchedule(const NamedSchedule& schedule) {
  const auto script = [write = schedule.write](const ScriptContext& context) {
    auto made = std::make_unique<Script>(*context.config, context.stage);
    write(*made);
    made->finish();
    return made;
  };
  const auto in_flight = [script](const plan::Config& config, std::int32_t stage) {
    return count_in_flight(*script({.config = &config, .stage = stage}), 0);
  };
  plan::add_pipeline_schedule({.name = schedule.name,
                               .refusal = schedule.refusal,
                               .splits_backward = schedule.splits_backward,
                               .in_flight = in_flight});
  Pipelines::add({.name = schedule.name,
                  .summary = schedule.summary,
                  .exposed = schedule.exposed,
                  .keys = {schedule.name},
                  .facts = {.knob = schedule.knob, .overlaps = schedule.overlaps, .purposes = {"send_", "recv_"}},
                  .make = script});
}

std::unique_ptr<Pipeline> make_pipeline(const Context& context) {
  return std::make_unique<ScriptedPipeline>(context, *script_of(*context.config, context.group.my_index));
}

}  // namespace underlap::pp
