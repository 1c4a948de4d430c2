// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "bench/tune/tune_report.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/schema/paths.hpp"
#include "platform/fields/json_schema.hpp"
#include "profiler/certainty/certainty.hpp"

// The fields of the JSON.
namespace underlap::certainty {

void visit_fields(fields::Is<PublishedError> auto& error, auto&& field) {
  field("table", error.table);
  field("rows", error.rows);
  field("least", error.least);
  field("most", error.most);
  field("is_fitted", error.is_fitted);
  field("speed", error.speed);
}

}  // namespace underlap::certainty

namespace underlap::bench {

using fields::Derived, fields::Each, fields::Is, fields::PresentIf;

void visit_fields(Is<KnobWorth> auto& worth, auto&& field) {
  const bool has_failed = !worth.failure.empty(), is_played = !has_failed;
  field("knob", worth.name);
  field("value", worth.value);
  field("against", worth.against);
  field("step_ns", PresentIf{worth.step_ns, is_played});
  field("failure", PresentIf{worth.failure, has_failed});
}

void visit_fields(Is<SearchCounts> auto& counts, auto&& field) {
  field("layouts", counts.layouts);
  field("refused", counts.refused);
  field("too_large", counts.too_large);
  field("beaten", counts.beaten);
  field("estimated", counts.estimated);
  field("refined", counts.refined);
  field("played", counts.simulated);
}

void visit_fields(Is<SmallestNeed> auto& need, auto&& field) {
  field("choices", need.choices);
  field("peak_memory_bytes", need.bytes);
  field("enough_gpus", need.enough_gpus);
  field("advice", need.advice);
}

namespace {

constexpr std::string_view kTuneSchema = "underlap.tune/1";

void add_config(const TunedConfig& tuned, plan::FlopConvention convention, auto&& field) {
  const plan::Config& config = tuned.plan.config;
  const auto rates = [&] { return rates_of(config, tuned.step.step_ns, convention); };
  field("choices", tuned.choices);
  for (const auto& [mode, size] : plan::all_sizes()) {
    const std::string key(plan::last_component(size->knob));
    const std::int32_t value = plan::size_of(config.parallel, *mode, *size);
    const bool is_above_1 = value > 1;
    size->field != nullptr ? field(key.c_str(), value) : field(key.c_str(), PresentIf{value, is_above_1});
  }
  field("micro_batch_size", config.train.micro_batch_size);
  field("num_microbatches", config.train.num_microbatches);
  field("step_ns", tuned.step.step_ns);
  field("least_step_ns", tuned.least_step_ns);
  field("tflops_per_gpu", Derived{[&] { return rates().tflops_per_gpu; }});
  field("mfu", Derived{[&] { return rates().mfu.value_or(0); }});
  field("tokens_per_s", Derived{[&] { return rates().tokens_per_s; }});
  field("peak_memory_bytes", tuned.plan.peak_memory.total());
  field("comm_ns", tuned.step.comm_ns);
  field("exposed_ns", tuned.step.exposed_ns);
  field("worth", tuned.worth);
}

/// A schema is made without a job.
struct Tuning {
  const TuneJob* job = nullptr;
  SearchResult result;
  plan::FlopConvention convention = {};
};

void visit_fields(Is<Tuning> auto& tuning, auto&& field) {
  field("gpus", Derived{[&] { return tuning.job->num_gpus(); }});
  field("hardware", Derived{[&] { return tuning.job->hardware(); }});
  field("speed", Derived{[&] { return tuning.job->speed(); }});
  field("global_batch_size", Derived{[&] { return tuning.job->batch(); }});
  field("limit_bytes", Derived{[&] { return tuning.job->limit_bytes(); }});
  field("flops", tuning.convention);
  field("notes", Derived{[&] { return tuning.job->notes(); }});
  field("best", Each{tuning.result.best,
                     [&](const TunedConfig& tuned, auto&& put) { add_config(tuned, tuning.convention, put); }});
  field("smallest_need", tuning.result.smallest_need);
  field("counts", tuning.result.counts);
  field("published_errors", Derived{[&] {
          return certainty::published_errors(certainty::published_results(), "modelled: " + tuning.job->hardware());
        }});
}

}  // namespace

std::string tune_json(const TuneJob& job, const SearchResult& result, plan::FlopConvention convention) {
  return fields::document_text(kTuneSchema, Tuning{&job, result, convention}, 2);
}

std::string tune_json_schema() { return fields::schema_text<Tuning>(kTuneSchema); }

}  // namespace underlap::bench
