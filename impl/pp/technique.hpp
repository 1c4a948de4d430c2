// SPDX-License-Identifier: Apache-2.0
//
// How a pipeline schedule is written and executed.
//
// A schedule is a list of what a stage's host does in a step, the same every step: run this pass, post these messages,
// wait for that one. Its file has one function, which writes that list for one stage; the steady state of 1F1B is
//
//   script.forward(k + warmup);                                                          compute F3
//   script.exchange({script.send(kForward, k + warmup), script.receive(kBackward, k)});  pp      send F3, receive B0
//   script.backward(k);                                                                  compute B0
//   script.exchange({script.send(kBackward, k), script.arrival(kForward, k + warmup)});  pp      send B0, receive F4
//
// Passes of a direction are counted from 0 over all microbatches and chunks. A message is identified by the pass that
// wrote it or will read it. One that does not exist on this stage, such as the input of the first stage, is empty.
//
//   schedule.hpp    which pass the k-th is, how many are warmup, what arrives during it       pure functions
//   script.hpp      the list; how many buffers and how much memory it needs is counted from it
//   technique.hpp   the names of schedules; a pipeline that executes the list
//   exchanges.hpp   what executing a message takes: communicators, buffers, waits
//   stage.hpp       what executing a pass requires of the model
//
// No schedule mentions a stream, an event or a buffer, so a schedule cannot get them wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "impl/device/device.hpp"
#include "impl/device/technique.hpp"
#include "impl/plan/pipeline_schedules.hpp"
#include "impl/pp/script.hpp"
#include "impl/pp/stage.hpp"

namespace underlap::pp {

/// What a pipeline works with.
struct Context {
  Device* device = nullptr;
  const plan::Config* config = nullptr;
  Group group;  ///< the stages of one pipeline, in order; my_index is this rank's stage
  Stream compute;
  Group tensor;           ///< tensor-parallel ranks of this stage
  std::int64_t rows = 0;  ///< of the bf16 activation that stages hand on: tokens of a microbatch on this rank
  std::int64_t cols = 0;  ///< hidden size
};

/// Drives one rank's part of a pipeline: in what order microbatches pass through its chunks, and how activations and
/// their gradients travel between stages.
///
/// Made before Device::begin(), by all stages in the same order. It owns its communicators, the buffers of what is
/// received and sent, and every order between them and compute.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  /// Enqueues all forward and backward passes of training step `step`. On return the compute stream holds the last of
  /// them; what this rank sent may be on its way.
  virtual void run(Stage& stage, std::int32_t step) = 0;
};

/// The stage of a pipeline whose script is asked for.
struct ScriptContext {
  const plan::Config* config = nullptr;
  std::int32_t stage = 0;
};

/// A technique of this folder is a schedule: the script of a stage's step. It is known by its name.
using Pipelines = Techniques<Script, ScriptContext, plan::schedule_in_effect>;

/// The script of the schedule that `config` puts in effect.
inline std::unique_ptr<Script> script_of(const plan::Config& config, std::int32_t stage) {
  return Pipelines::make(config, {.config = &config, .stage = stage});
}

/// A pipeline that executes it, the same every step.
std::unique_ptr<Pipeline> make_pipeline(const Context& context);

/// A schedule as its file makes it known to pipelines, and to the plan as a value of extensions.pipeline_schedule.
struct NamedSchedule {
  std::string_view name;
  std::string_view summary;
  std::string_view exposed;
  /// Why a pipeline cannot run it under this configuration, in words; empty: it can.
  std::string (*refusal)(const plan::Config& config);
  void (*write)(Script& script);                            ///< writes a step of one stage
  bool splits_backward = false;                             ///< `write` uses the halves of backward passes
  bool overlaps = false;                                    ///< exchanges run during passes
  std::string_view knob = "comm_overlap.overlap_p2p_comm";  ///< the setting that selects it
};

/// Adds a schedule when its file is linked in.
struct RegisterSchedule {
  explicit RegisterSchedule(const NamedSchedule& schedule);
};

}  // namespace underlap::pp
