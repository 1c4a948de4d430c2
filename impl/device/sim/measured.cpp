// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <stdexcept>

#include "impl/device/sim/yaml_section.hpp"
#include "platform/suggestion.hpp"

namespace underlap::sim {
namespace {

constexpr Range kSamples{.low = 1, .high = 1e9, .whole = true};
constexpr Range kEfficiencies{.low = 0, .high = 1, .above_low = true};
constexpr Range kHeld{.low = -0.5, .high = 1.5};

struct MeasurableFigure {
  std::string_view path;
  Figure& (*of)(Hardware&);
  Range range;
};

constexpr std::array<MeasurableFigure, 6> kFigures{{
    {"gpu.kernel_overhead_us", [](Hardware& h) -> Figure& { return h.gpu.kernel_overhead_us; }, kNotNegative},
    {"gpu.memory_saturation_sms",
     [](Hardware& h) -> Figure& { return h.gpu.memory_saturation_sms; },
     {.low = 1, .high = 4096, .whole = true}},
    {"host.kernel_launch_us", [](Hardware& h) -> Figure& { return h.host.kernel_launch_us; }, kNotNegative},
    {"host.copy_launch_us", [](Hardware& h) -> Figure& { return h.host.copy_launch_us; }, kNotNegative},
    {"host.event_record_us", [](Hardware& h) -> Figure& { return h.host.event_record_us; }, kNotNegative},
    {"host.event_wait_us", [](Hardware& h) -> Figure& { return h.host.event_wait_us; }, kNotNegative},
}};

/// The curves that can be measured, by path.
std::vector<std::pair<std::string, SourcedCurve*>> curves_of(Hardware& hardware) {
  KernelCurves& kernels = hardware.kernels;
  std::vector<std::pair<std::string, SourcedCurve*>> curves{{"kernels.gemm_bf16", &kernels.gemm_bf16},
                                                            {"kernels.memory", &kernels.memory}};
  for (AttentionCurve& curve : kernels.attention_forward)
    curves.emplace_back(fmt::format("kernels.attention_forward.{}", curve.head_size), &curve.over_sequence);
  for (AttentionCurve& curve : kernels.attention_backward)
    curves.emplace_back(fmt::format("kernels.attention_backward.{}", curve.head_size), &curve.over_sequence);
  return curves;
}

class MeasuredReader {
 public:
  explicit MeasuredReader(yaml::Problems& problems) : problems_(problems) {}

  Hardware read(const yaml::Node& root) {
    Section section(root, "the measured file", problems_);
    section.get("schema");
    const yaml::Node* const name = section.get("name");
    if (const auto* node = section.get("base")) read_base(*node);
    if (name != nullptr) hardware_.name = read_text(*name, "name", problems_).value_or("");
    if (const auto* node = section.get("machine")) read_machine(*node);
    if (const auto* node = section.find("figures")) read_figures(*node);
    if (const auto* node = section.find("curves")) read_curves(*node);
    if (const auto* node = section.find("hardware_queues"))
      for (const yaml::Node* item : read_list(*node, "hardware_queues", problems_)) read_queue(*item);
    if (const auto* node = section.find("interference"))
      for (const yaml::Node* item : read_list(*node, "interference", problems_)) read_interference(*item);
    section.find("rates");            // for people
    section.find("link_validation");  // likewise
    section.finish();
    return std::move(hardware_);
  }

 private:
  void read_base(const yaml::Node& node) {
    const std::string base = read_text(node, "base", problems_).value_or("");
    try {
      hardware_ = load_hardware(base);
      if (!hardware_.base.empty()) problems_.add(node.place, "base is a measured file, must be a hardware description");
    } catch (const std::invalid_argument& error) {
      problems_.add(node.place, fmt::format("base: {}", error.what()));
    }
    hardware_.base = base;
  }

  void read_machine(const yaml::Node& node) {
    Section section(node, "machine", problems_);
    for (const yaml::Entry& entry : node.entries) {
      const auto text = read_text(*entry.value, fmt::format("machine.{}", entry.key), problems_);
      if (text && entry.key == "gpu") gpu_ = *text;
    }
  }

  double number(Section& section, std::string_view key, const Range& range) {
    const yaml::Node* const node = section.get(key);
    return node == nullptr ? range.low : read_number(*node, key, range, problems_).value_or(range.low);
  }

  /// Describes the source of a measured value, and removes it from the unverified figures.
  std::string source_of(const std::string& path, double samples, double spread) {
    std::erase(hardware_.unverified, path);
    hardware_.measured.push_back(path);
    return fmt::format("measured on {}: median of {:g}, spread {:.3g}", gpu_.empty() ? "a GPU" : gpu_, samples, spread);
  }

  void unknown(const yaml::Entry& entry, const char* what) {
    problems_.add(entry.place, fmt::format("{} is not a {} that can be measured{}", yaml::in_quotes(entry.key), what,
                                           did_you_mean(entry.key, measurable_paths(hardware_))));
  }

  /// host.kernel_launch_us: {median: 2, spread: 0.1, samples: 31}
  void read_figures(const yaml::Node& node) {
    Section kind(node, "figures", problems_);
    for (const yaml::Entry& entry : node.entries) {
      const auto found = std::find_if(kFigures.begin(), kFigures.end(),
                                      [&](const MeasurableFigure& figure) { return figure.path == entry.key; });
      if (found == kFigures.end()) {
        unknown(entry, "figure");
        continue;
      }
      Section section(*entry.value, entry.key, problems_);
      const double median = number(section, "median", found->range);
      const double spread = number(section, "spread", kNotNegative);
      const double samples = number(section, "samples", kSamples);
      section.finish();
      found->of(hardware_) = {.value = median, .source = source_of(entry.key, samples, spread)};
    }
  }

  std::vector<Curve::Point> points(const yaml::Node& list, const std::string& path, double& widest) {
    std::vector<Curve::Point> out;
    for (const yaml::Node* item : read_list(list, path + ".points", problems_)) {
      const auto numbers = read_list(*item, path + ": a point", problems_);
      if (numbers.size() != 3) {
        problems_.add(item->place, path + ": a point is three numbers, [x, efficiency, spread]");
        continue;
      }
      const auto x = read_number(*numbers[0], path + ": x", kPositive, problems_);
      const auto y = read_number(*numbers[1], path + ": an efficiency", kEfficiencies, problems_);
      const auto spread = read_number(*numbers[2], path + ": a spread", kNotNegative, problems_);
      if (!x || !y || !spread) continue;
      if (!out.empty() && *x <= out.back().x)
        problems_.add(item->place, fmt::format("{}: x must ascend; {:g} follows {:g}", path, *x, out.back().x));
      else
        out.push_back({*x, *y});
      widest = std::max(widest, *spread);
    }
    return out;
  }

  /// kernels.memory: {samples: 31, points: [[1000, 0.1, 0.05], [1000000000, 0.92, 0.01]]}
  void read_curves(const yaml::Node& node) {
    Section kind(node, "curves", problems_);
    for (const yaml::Entry& entry : node.entries) {
      auto curves = curves_of(hardware_);
      const auto found =
          std::find_if(curves.begin(), curves.end(), [&](const auto& curve) { return curve.first == entry.key; });
      if (found == curves.end()) {
        unknown(entry, "curve");
        continue;
      }
      Section section(*entry.value, entry.key, problems_);
      const double samples = number(section, "samples", kSamples);
      double widest = 0;
      std::vector<Curve::Point> measured;
      if (const auto* list = section.get("points")) measured = points(*list, entry.key, widest);
      section.finish();
      if (!measured.empty())
        *found->second = {.curve = Curve(std::move(measured)), .source = source_of(entry.key, samples, widest)};
    }
  }

  bool flag(Section& section, std::string_view key) {
    const yaml::Node* const node = section.get(key);
    if (node == nullptr) return false;
    if (node->text != "true" && node->text != "false")
      problems_.add(node->place, fmt::format("{} is {}, must be true or false", key, yaml::describe(*node)));
    return node->text == "true";
  }

  std::string one_of(Section& section, std::string_view key, std::initializer_list<std::string_view> known) {
    const yaml::Node* const node = section.get(key);
    if (node == nullptr) return {};
    if (std::find(known.begin(), known.end(), node->text) == known.end())
      problems_.add(node->place,
                    fmt::format("{} is {}; known: {}", key, yaml::describe(*node), fmt::join(known, ", ")));
    return node->text;
  }

  /// {connections: 1, behind: kernel, same_queue: true, held: 0.99, spread: 0.01, samples: 11}
  void read_queue(const yaml::Node& node) {
    Section section(node, "an observation of hardware_queues", problems_);
    QueueObservation seen;
    seen.connections = static_cast<int>(number(section, "connections", {.low = 1, .high = 32, .whole = true}));
    seen.behind = one_of(section, "behind", {"nothing", "kernel", "wait", "record"});
    seen.same_queue = flag(section, "same_queue");
    seen.held = number(section, "held", kHeld);
    seen.spread = number(section, "spread", kNotNegative);
    number(section, "samples", kSamples);
    section.finish();
    hardware_.hardware_queues.push_back(std::move(seen));
  }

  /// {communication: kernel, sms: 16, gb_per_s: 450, of: gemm, slowdown: 1.25, spread: 0.01, samples: 11}
  void read_interference(const yaml::Node& node) {
    Section section(node, "an interference", problems_);
    Interference interference;
    interference.copy_engine = one_of(section, "communication", {"kernel", "copy_engine"}) == "copy_engine";
    interference.sms = static_cast<int>(number(section, "sms", {.low = 0, .high = 4096, .whole = true}));
    interference.gb_per_s = number(section, "gb_per_s", kNotNegative);
    if (section.find("carried_gb_per_s") != nullptr)
      interference.carried_gb_per_s = number(section, "carried_gb_per_s", kNotNegative);
    interference.of = one_of(section, "of", {"gemm", "attention", "norm"});
    interference.slowdown = number(section, "slowdown", kPositive);
    interference.spread = number(section, "spread", kNotNegative);
    number(section, "samples", kSamples);
    section.finish();
    hardware_.interference.push_back(std::move(interference));
  }

  yaml::Problems& problems_;
  Hardware hardware_;
  std::string gpu_;
};

}  // namespace

bool is_measured(const yaml::Node& root) {
  return std::any_of(root.entries.begin(), root.entries.end(), [](const yaml::Entry& entry) {
    return entry.key == "schema" && entry.value->text == kMeasuredSchema;
  });
}

Hardware read_measured(const yaml::Node& root, yaml::Problems& problems) { return MeasuredReader(problems).read(root); }

std::vector<std::string> measurable_paths(const Hardware& base) {
  std::vector<std::string> paths;
  for (const MeasurableFigure& figure : kFigures) paths.emplace_back(figure.path);
  Hardware copy = base;
  for (const auto& [path, curve] : curves_of(copy)) paths.push_back(path);
  return paths;
}

}  // namespace underlap::sim
