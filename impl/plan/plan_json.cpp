// SPDX-License-Identifier: Apache-2.0

#include "impl/plan/plan.hpp"
#include "impl/plan/value_json.hpp"

namespace underlap::plan {
namespace {

using Tree = nlohmann::ordered_json;

Tree to_tree(const std::vector<Message>& messages) {
  Tree list = Tree::array();
  for (const Message& message : messages)
    list.push_back({{"where", message.where},
                    {"message", message.message},
                    {"hint", std::string(yaml::hint_of(message.message))}});
  return list;
}

Tree to_tree(const std::vector<Knob>& knobs) {
  Tree list = Tree::array();
  for (const Knob& knob : knobs)
    list.push_back({{"name", knob.name},
                    {"requested", to_json_tree(knob.requested)},
                    {"effective", to_json_tree(knob.effective)},
                    {"source", knob.source},
                    {"reason", knob.reason}});
  return list;
}

Tree to_tree(const std::vector<EnvironmentVariable>& environment) {
  Tree list = Tree::array();
  for (const EnvironmentVariable& variable : environment)
    list.push_back({{"name", variable.name}, {"value", variable.value}, {"reason", variable.reason}});
  return list;
}

Tree to_tree(const PeakMemory& peak) {
  return {{"parameters", peak.parameters},   {"gradients", peak.gradients},
          {"optimizer", peak.optimizer},     {"activations", peak.activations},
          {"userbuffers", peak.userbuffers}, {"exchange", peak.exchange},
          {"workspaces", peak.workspaces},   {"communicators", peak.communicators},
          {"context", peak.context},         {"total", peak.total()}};
}

Tree to_tree(const std::vector<ChunkBuckets>& chunks) {
  Tree list = Tree::array();
  for (const ChunkBuckets& chunk : chunks)
    list.push_back({{"stage", chunk.stage}, {"chunk", chunk.chunk}, {"elements", chunk.elements}});
  return list;
}

/// One list of what is worth saying, the weightiest first.
std::vector<Message> all_notices(const Plan& plan) {
  std::vector<Message> all;
  for (const auto* messages : {&plan.exposed, &plan.contradictions, &plan.notices})
    all.insert(all.end(), messages->begin(), messages->end());
  return all;
}

}  // namespace

std::string to_json(const Plan& plan) {
  const Tree tree = {{"schema", "underlap.plan/1"},
                     {"knobs", to_tree(plan.knobs)},
                     {"environment", to_tree(plan.environment)},
                     {"buckets", to_tree(plan.buckets)},
                     {"peak_memory_bytes", to_tree(plan.peak_memory)},
                     {"notices", to_tree(all_notices(plan))},
                     {"not_run", to_tree(plan.not_run)},
                     {"errors", to_tree(plan.errors)}};
  return json_text(tree);
}

}  // namespace underlap::plan
