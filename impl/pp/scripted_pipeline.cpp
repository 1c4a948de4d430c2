// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/scripted_pipeline.hpp"

#include <optional>
#include <utility>

#include "impl/pp/exchanges.hpp"

namespace underlap::pp {
namespace {

class ScriptedPipeline final : public Pipeline {
 public:
  ScriptedPipeline(const Context& context, Script script) : schedule_(script.schedule()), actions_(script.finish()) {
    if (schedule_.num_stages() > 1) exchanges_.emplace(context, count_buffers(schedule_, actions_));
  }

  void run(Stage& stage, std::int32_t step) override {
    if (exchanges_) exchanges_->begin_step(step);
    for (const Action& action : actions_) play(stage, action);
  }

 private:
  void play(Stage& stage, const Action& action) {
    switch (action.type) {
      case Action::Type::run: return run(stage, action.pass);
      case Action::Type::post: return exchanges_->post(action.messages);
      case Action::Type::await: return exchanges_->await(action.messages.front());
      case Action::Type::release: return exchanges_->release(action.messages.front());
      case Action::Type::synchronize: return exchanges_->synchronize();
      case Action::Type::gather: return stage.start_param_gather(action.chunk);
      case Action::Type::reduce: return stage.start_grad_reduce(action.chunk);
      case Action::Type::finish_wgrads: return stage.finish_deferred_wgrads();
    }
  }

  void run(Stage& stage, const Pass& pass) {
    const View in = schedule_.has_input(pass) ? exchanges_->received(pass) : View{};
    const View out = schedule_.has_output(pass) ? exchanges_->begin_write(pass) : View{};
    const bool is_forward = pass.direction == Direction::forward;
    is_forward ? stage.forward(pass.chunk, pass.microbatch, in, out)
               : stage.backward(pass.chunk, pass.microbatch, in, out);
    if (!exchanges_) return;
    exchanges_->end_pass();
    if (is_forward) return;
    for (const Direction direction : {Direction::forward, Direction::backward})
      if (const Pass read{direction, pass.chunk, pass.microbatch}; schedule_.has_input(read))
        exchanges_->end_read(read);
  }

  Schedule schedule_;
  std::vector<Action> actions_;
  std::optional<Exchanges> exchanges_;  // where there is more than one stage
};

}  // namespace

std::unique_ptr<Pipeline> make_scripted_pipeline(const Context& context, void (*write)(Script&)) {
  Script script(*context.config, context.group.my_index);
  write(script);
  return std::make_unique<ScriptedPipeline>(context, std::move(script));
}

}  // namespace underlap::pp
