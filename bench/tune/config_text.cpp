// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "bench/tune/tune_report.hpp"
#include "platform/atomic_file.hpp"

namespace underlap::bench {
namespace {

/// Keys with their values, and sections of them.
struct Section {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::pair<std::string, Section>> sections;

  Section& section(const std::string& name) {
    for (auto& [known, section] : sections)
      if (known == name) return section;
    return sections.emplace_back(name, Section{}).second;
  }

  void put(const std::string& path, const std::string& value) {
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos)
      values.emplace_back(path, value);
    else
      section(path.substr(0, dot)).put(path.substr(dot + 1), value);
  }

  std::string text(const std::string& indent) const {
    std::string all;
    for (const auto& [key, value] : values) all += fmt::format("{}{}: {}\n", indent, key, value);
    for (const auto& [name, section] : sections)
      all += fmt::format("{}{}:\n{}", indent, name, section.text(indent + "  "));
    return all;
  }
};

constexpr const char* kSlots = "comm_overlap.tp_comm_overlap_cfg";

bool is_slot(const plan::Knob& knob) { return knob.name.starts_with(std::string(kSlots) + '.'); }

std::string config_text(const TuneJob& job, const TunedConfig& config, std::size_t place) {
  Section root;
  const std::vector<plan::Knob>& knobs = config.plan.knobs;
  // A preset that single slots were changed of is no longer one: every slot is then written as it is in effect.
  const bool has_slots = std::ranges::any_of(
      knobs, [](const plan::Knob& knob) { return is_slot(knob) && !plan::is_null(knob.requested); });
  for (const plan::Knob& knob : knobs) {
    const bool is_of_slots = is_slot(knob) || knob.name == kSlots;
    if (has_slots && is_slot(knob)) root.put(knob.name, plan::to_json_text(knob.effective));
    if (!(has_slots && is_of_slots) && !plan::is_null(knob.requested))
      root.put(knob.name, plan::to_json_text(knob.requested));
  }
  return fmt::format(
      "# Number {} of the configurations found for {} GPUs, {}: a simulated step of {:.1f} ms.\n# underlap run FILE "
      "simulates it again; underlap plan FILE shows the effective settings and why.\n{}",
      place, job.num_gpus(), job.machine(), static_cast<double>(config.step.step_ns) / 1e6, root.text(""));
}

}  // namespace

std::vector<std::string> write_configs(const TuneJob& job, const SearchResult& result,
                                       const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    names.push_back(fmt::format("{:02}.yaml", i + 1));
    write_file_atomically(folder / names.back(), config_text(job, result.best[i], i + 1));
  }
  if (!result.best.empty()) write_file_atomically(folder / "best.yaml", config_text(job, result.best.front(), 1));
  return names;
}

}  // namespace underlap::bench
