// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bench/tune/report.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/schema/paths.hpp"
#include "platform/json.hpp"
#include "profiler/certainty/certainty.hpp"

namespace underlap::bench {
namespace {

using Tree = nlohmann::ordered_json;

Tree tree_of(const KnobWorth& worth) {
  Tree tree{{"knob", worth.name}, {"value", worth.value}, {"against", worth.against}};
  if (worth.failure.empty())
    tree["step_ns"] = worth.step_ns;
  else
    tree["failure"] = worth.failure;
  return tree;
}

Tree tree_of(const TunedConfig& config, plan::FlopConvention convention) {
  const plan::Config& c = config.plan.config;
  const report::StepRates rates = rates_of(c, config.step.step_ns, convention);
  Tree tree{{"choices", Tree::object()}};
  for (const auto& [mode, size] : plan::sizes_in({&c.parallel}))
    tree[std::string(plan::last_component(size->knob))] = plan::size_of(c.parallel, *mode, *size);
  tree.update(Tree{{"micro_batch_size", c.train.micro_batch_size},
                   {"num_microbatches", c.train.num_microbatches},
                   {"step_ns", config.step.step_ns},
                   {"least_step_ns", config.least_step_ns},
                   {"tflops_per_gpu", rates.tflops_per_gpu},
                   {"mfu", rates.mfu.value_or(0)},
                   {"tokens_per_s", rates.tokens_per_s},
                   {"peak_memory_bytes", config.plan.peak_memory.total()},
                   {"comm_ns", config.step.comm_ns},
                   {"exposed_ns", config.step.exposed_ns},
                   {"worth", Tree::array()}});
  for (const auto& [knob, value] : config.choices) tree["choices"][knob] = value;
  for (const KnobWorth& worth : config.worth) tree["worth"].push_back(tree_of(worth));
  return tree;
}

Tree tree_of(const SearchCounts& counts) {
  return {{"layouts", counts.layouts}, {"refused", counts.refused},     {"too_large", counts.too_large},
          {"beaten", counts.beaten},   {"estimated", counts.estimated}, {"refined", counts.refined},
          {"played", counts.played}};
}

Tree errors_of(const std::string& hardware) {
  Tree all = Tree::array();
  for (const certainty::PublishedError& error :
       certainty::published_errors(certainty::published_results(), "modelled: " + hardware))
    all.push_back({{"table", error.table},
                   {"rows", error.rows},
                   {"least", error.least},
                   {"most", error.most},
                   {"is_fitted", error.is_fitted},
                   {"speed", error.speed}});
  return all;
}

}  // namespace

std::string tune_json(const TuneJob& job, const SearchResult& result, plan::FlopConvention convention) {
  Tree tree{{"schema", "underlap.tune/1"},
            {"gpus", job.num_gpus()},
            {"hardware", job.hardware()},
            {"speed", job.speed()},
            {"global_batch_size", job.batch()},
            {"limit_bytes", job.limit_bytes()},
            {"flops", std::string(plan::to_string(convention))},
            {"notes", job.notes()},
            {"best", Tree::array()},
            {"counts", tree_of(result.counts)},
            {"published_errors", errors_of(job.hardware())}};
  for (const TunedConfig& config : result.best) tree["best"].push_back(tree_of(config, convention));
  return json_text(tree, 2) + '\n';
}

}  // namespace underlap::bench
