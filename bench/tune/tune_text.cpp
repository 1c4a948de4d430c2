// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/measure/described_cells.hpp"
#include "bench/tune/tune_report.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "profiler/certainty/certainty.hpp"

namespace underlap::bench {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kBytesPerGb = 1e9;

double in_ms(std::int64_t ns) { return static_cast<double>(ns) / kNsPerMs; }

std::string recomputed_text(const plan::RecomputeConfig& recompute) {
  switch (recompute.method) {
    case plan::RecomputeMethod::none: return "-";
    case plan::RecomputeMethod::uniform: return "all";
    case plan::RecomputeMethod::block: break;
  }
  return std::to_string(recompute.num_layers);
}

// "dp+tp" is both at once.
std::string column_of(const std::string& modes) { return modes.find('+') == std::string::npos ? modes : "several"; }

std::set<std::string> exposed_modes(const SearchResult& result) {
  std::set<std::string> columns;
  for (const TunedConfig& config : result.best)
    for (const auto& [modes, ns] : config.step.exposed_ns)
      if (ns > 0) columns.insert(column_of(modes));
  return columns;
}

std::string exposed_text(const TunedConfig& config, const std::string& column) {
  std::int64_t sum = 0;
  for (const auto& [modes, ns] : config.step.exposed_ns)
    if (column_of(modes) == column) sum += ns;
  return sum == 0 ? "-" : fmt::format("{:.1f}", in_ms(sum));
}

std::int64_t exposed_ns(const TunedConfig& config) {
  std::int64_t sum = 0;
  for (const auto& [mode, ns] : config.step.exposed_ns) sum += ns;
  return sum;
}

// Of several models which one each row is of.
Table best_table(const TuneJob& job, const SearchResult& result, plan::FlopConvention convention) {
  Table table{{{"", Align::right}}, {}};
  const bool has_cells = job.cells().size() > 1;
  if (has_cells) table.columns.push_back({"model", Align::left});
  std::vector<const plan::ParallelConfig*> layouts;
  for (const TunedConfig& best : result.best) layouts.push_back(&best.plan.config.parallel);
  const auto sizes = plan::sizes_in(layouts);
  for (const auto& [mode, size] : sizes) table.columns.push_back({std::string(size->letters)});
  for (const char* title : {"mb", "re"}) table.columns.push_back({title});
  for (const char* title : {"step ms", "TF/s", "MFU %", "GB", "exposed ms"}) table.columns.push_back({title});
  table.columns.push_back({"tokens/s", Align::right, 2});
  const std::set<std::string> modes = exposed_modes(result);
  for (const std::string& mode : modes) table.columns.push_back({mode + " ms", Align::right, 1});
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    const TunedConfig& best = result.best[i];
    const plan::Config& c = best.plan.config;
    const report::StepRates rates = rates_of(c, best.step.step_ns, convention);
    std::vector<TableCell>& row = table.rows.emplace_back();
    row.push_back({std::to_string(i + 1)});
    if (has_cells) row.push_back({best.choices.at(plan::kOneCell)});
    for (const auto& [mode, size] : sizes) row.push_back({std::to_string(plan::size_of(c.parallel, *mode, *size))});
    row.push_back({std::to_string(c.train.micro_batch_size)});
    row.push_back({recomputed_text(c.recompute)});
    row.push_back({fmt::format("{:.1f}", in_ms(best.step.step_ns))});
    row.push_back({fmt::format("{:.0f}", rates.tflops_per_gpu)});
    row.push_back({fmt::format("{:.1f}", rates.mfu.value_or(0) * 100)});
    row.push_back({fmt::format("{:.1f}", static_cast<double>(best.plan.peak_memory.total()) / kBytesPerGb)});
    row.push_back({fmt::format("{:.1f}", in_ms(exposed_ns(best)))});
    row.push_back({fmt::format("{:.0f}", rates.tokens_per_s)});
    for (const std::string& mode : modes) row.push_back({exposed_text(best, mode)});
  }
  return table;
}

std::string name_of(const KnobWorth& worth) { return worth.name.substr(worth.name.find('.') + 1); }

Table worth_table(const TunedConfig& config) {
  Table table{{{"knob", Align::left},
               {"value", Align::left, 0, 40},
               {"against", Align::left, 0, 40},
               {"saves ms"},
               {"saves %"}},
              {}};
  for (const KnobWorth& worth : config.worth) {
    const double saved = in_ms(worth.step_ns - config.step.step_ns);
    const bool is_known = worth.failure.empty();
    table.rows.push_back({{name_of(worth)},
                          {worth.value},
                          {worth.against},
                          {is_known ? fmt::format("{:+.1f}", saved) : "-"},
                          {is_known ? fmt::format("{:+.2f}", 100 * saved / in_ms(config.step.step_ns)) : "-"}});
  }
  return table;
}

// Of knobs that cannot be changed alone, why.
std::string unplayed_text(const TunedConfig& config, int width) {
  std::string text;
  for (const KnobWorth& worth : config.worth)
    if (!worth.failure.empty())
      text += wrap(fmt::format("-: {} changed to {} gives no step: {}", name_of(worth), worth.against, worth.failure),
                   width, "   ");
  return text;
}

std::string refusals_text(const SearchCounts& counts, int width) {
  std::vector<std::pair<std::size_t, std::string>> reasons;
  for (const auto& [reason, count] : counts.refused) reasons.emplace_back(count, reason);
  std::ranges::sort(reasons, std::greater<>());
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, reasons.size()); ++i)
    text += wrap(fmt::format("  {} refused: {}", reasons[i].first, reasons[i].second), width, "    ");
  if (reasons.size() > kShown) text += fmt::format("  and {} refused for other reasons\n", reasons.size() - kShown);
  return text;
}

std::string counts_text(const SearchResult& result, const TuneJob& job, int width) {
  const SearchCounts& counts = result.counts;
  std::size_t refused = 0;
  for (const auto& [reason, count] : counts.refused) refused += count;
  std::string text = fmt::format(
      "{} layouts: {} refused by the plan, {} need more than {:.1f} GB per GPU even with every layer recomputed",
      counts.layouts, refused, counts.too_large, static_cast<double>(job.limit_bytes()) / kBytesPerGb);
  if (counts.estimated > 0)
    text += fmt::format(
        ", {} pruned (slower than the ten best by a bound, or with many more pipeline stages than fit), {} estimated; "
        "overlap settings were searched for the "
        "{} best",
        counts.beaten, counts.estimated, counts.refined);
  return wrap(text + fmt::format("; {} simulations, including shortened steps", counts.simulated), width) +
         refusals_text(counts, width);
}

std::string need_text(const SmallestNeed& need, const TuneJob& job, int width) {
  const auto gb = [](std::int64_t bytes) { return fmt::format("{:.1f} GB", static_cast<double>(bytes) / kBytesPerGb); };
  std::string text =
      wrap(fmt::format("Nothing fits: a GPU needs at least {}, and may take {}. The smallest need is of: {}",
                       gb(need.bytes), gb(job.limit_bytes()), text_of(need.choices)),
           width, "  ");
  if (need.enough_gpus)
    text += wrap(fmt::format("A layout fits on {} GPUs with the same batch.", *need.enough_gpus), width);
  if (!need.advice.empty()) text += wrap(fmt::format("On the same GPUs: {}.", need.advice), width, "  ");
  return text;
}

std::string certainty_text(const TuneJob& job, int width) {
  const std::vector<certainty::PublishedError> errors =
      certainty::published_errors(certainty::published_results(), "modelled: " + job.hardware());
  if (errors.empty())
    return wrap(
        fmt::format("Accuracy: not compared with published steps on {}; rely on the ranking, not the milliseconds.",
                    job.hardware()),
        width);
  std::string text = wrap("Accuracy: compared with published steps on such machines, simulated steps are", width);
  for (const certainty::PublishedError& error : errors) text += wrap("  " + line_of(error), width, "    ");
  if (job.speed() != 1)
    text += wrap(fmt::format("These errors are for the speeds shown, not for {}.", job.speed()), width);
  return text;
}

}  // namespace

report::StepRates rates_of(const plan::Config& config, std::int64_t step_ns, plan::FlopConvention convention) {
  constexpr double kNsPerS = 1e9;
  return report::rates_of(work_of(config), config.parallel.world_size(), static_cast<double>(step_ns) / kNsPerS,
                          std::string(to_string(convention)))
      .value_or(report::StepRates());
}

std::string tune_text(const TuneJob& job, const SearchResult& result, plan::FlopConvention convention,
                      const TableFormat& format) {
  std::string text = wrap(
      fmt::format("{} GPUs, {}: all times are simulated, none measured; {} sequences per step; at most {:.1f} GB of "
                  "predicted memory per GPU",
                  job.num_gpus(), job.machine(), job.batch(), static_cast<double>(job.limit_bytes()) / kBytesPerGb),
      format.width);
  for (const std::string& note : job.notes()) text += wrap("note: " + note, format.width);
  text += '\n';
  if (result.best.empty())
    return text + (result.smallest_need ? need_text(*result.smallest_need, job, format.width) : "Nothing fits.\n") +
           "\n" + counts_text(result, job, format.width);
  text += render(best_table(job, result, convention), format);
  text += wrap(fmt::format("mb: sequences per microbatch; re: recomputed layers per model chunk; TF/s: per GPU, FLOPs "
                           "counted as {}; MFU: of {:.0f} TFLOP/s; exposed: mean over ranks",
                           plan::to_string(convention), sim::peak_of(result.best.front().plan.config).tflops),
               format.width);
  if (!result.best.front().worth.empty())
    text += "\nEffect of each knob in the first configuration, changed alone\n\n" +
            render(worth_table(result.best.front()), format) + unplayed_text(result.best.front(), format.width);
  return text + '\n' + counts_text(result, job, format.width) + certainty_text(job, format.width);
}

}  // namespace underlap::bench
