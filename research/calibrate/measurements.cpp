// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/measurements.hpp"

#include <fmt/format.h>

#include <sstream>

#include "impl/device/sim/measured.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::bench {
namespace {

constexpr std::string_view kLineBegin = "queue";

/// Text in double quotes, as YAML and JSON have it.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

std::string figures(const Measurements& m) {
  std::string text = "figures:  # units are part of the names\n";
  for (const auto& [path, sampled] : m.figures)
    text += fmt::format("  {}: {{median: {:.6g}, spread: {:.3g}, samples: {}}}\n", path, sampled.median, sampled.spread,
                        sampled.samples);
  return m.figures.empty() ? "" : text;
}

std::string curves(const Measurements& m) {
  std::string text = "curves:  # [x, fraction of the base's peak, spread]; x as in the base's curves\n";
  for (const auto& [path, points] : m.curves) {
    text += fmt::format("  {}:\n    samples: {}\n    points:\n", path, points.front().efficiency.samples);
    for (const CurvePoint& point : points)
      text +=
          fmt::format("      - [{:.12g}, {:.4g}, {:.3g}]\n", point.x, point.efficiency.median, point.efficiency.spread);
  }
  return m.curves.empty() ? "" : text;
}

std::string queues(const Measurements& m) {
  std::string text =
      "hardware_queues:  # held: when the other kernel started, as a fraction of the first one's duration\n";
  for (const auto& [seen, samples] : m.hardware_queues)
    text +=
        fmt::format("  - {{connections: {}, behind: {}, same_queue: {}, held: {:.3f}, spread: {:.3g}, samples: {}}}\n",
                    seen.connections, seen.behind, seen.same_queue, seen.held, seen.spread, samples);
  return m.hardware_queues.empty() ? "" : text;
}

std::string interference(const Measurements& m) {
  std::string text = "interference:  # slowdown: time during communication / time alone\n";
  for (const auto& [beside, samples] : m.interference)
    text += fmt::format(
        "  - {{communication: {}, sms: {}, gb_per_s: {:g}{}, of: {}, slowdown: {:.4f}, spread: {:.3g}, samples: {}}}\n",
        beside.copy_engine ? "copy_engine" : "kernel", beside.sms, beside.gb_per_s,
        beside.carried_gb_per_s ? fmt::format(", carried_gb_per_s: {:.4g}", *beside.carried_gb_per_s) : "", beside.of,
        beside.slowdown, beside.spread, samples);
  return m.interference.empty() ? "" : text;
}

std::string link_validation(const Measurements& m) {
  const auto limits = [](const WithLimits& figure) {
    return fmt::format("[{:.4f}, {:.4f}, {:.4f}]", figure.value, figure.low, figure.high);
  };
  std::string text =
      "link_validation:  # GEMM concurrent with NCCL, and with the emulated link: [median, 95 % limits]; difference: "
      "between the two times; polling: the difference if the link's blocks poll instead of sleep\n";
  for (const LinkValidation& v : m.link_validation)
    text += fmt::format(
        "  - {{sms: {}, cga: {}, by: {}, gb_per_s: {:.4g}, unpaced_gb_per_s: {:.4g}, nccl: {}, emulated: {}, "
        "difference: {}, polling: {}, rounds: {}}}\n",
        v.sms, v.cga_size, v.by_memory ? "memory" : "sockets", v.gb_per_s, v.unpaced_gb_per_s, limits(v.nccl_slowdown),
        limits(v.emulated_slowdown), limits(v.difference), limits(v.polling), v.rounds);
  return m.link_validation.empty() ? "" : text;
}

std::string rates(const Measurements& m) {
  std::string text = "rates:\n";
  for (const Rate& rate : m.rates) {
    text += fmt::format("  - {{of: {}, shape: {}, us: {:.6g}, spread: {:.3g}, samples: {}", rate.of, quoted(rate.shape),
                        rate.us.median, rate.us.spread, rate.us.samples);
    if (rate.tflops > 0) text += fmt::format(", tflops: {:.5g}", rate.tflops);
    if (rate.gb_per_s > 0) text += fmt::format(", gb_per_s: {:.5g}", rate.gb_per_s);
    text += "}\n";
  }
  return m.rates.empty() ? "" : text;
}

}  // namespace

Sampled summarize(std::span<const double> samples) {
  const double middle = report::median(samples);
  const double half = (report::quantile(samples, 0.75) - report::quantile(samples, 0.25)) / 2;
  return {.median = middle, .spread = middle > 0 ? half / middle : half, .samples = static_cast<int>(samples.size())};
}

std::string to_yaml(const Measurements& m) {
  std::string text = fmt::format("schema: {}{}\nname: {}\nbase: {}\nmachine:\n", sim::kMeasuredSchema,
                                 m.shrink > 1 ? "-trial" : "", quoted(m.name), quoted(m.base));
  if (m.shrink > 1)
    text += fmt::format("  trial: \"every size was divided by {}: these are not measurements\"\n", m.shrink);
  for (const auto& [key, value] : m.machine) text += fmt::format("  {}: {}\n", key, quoted(value));
  for (const auto& [experiment, why] : m.skipped)
    text += fmt::format("# not measured: {}: {}\n", experiment, one_line(why));
  return text + figures(m) + curves(m) + queues(m) + interference(m) + link_validation(m) + rates(m);
}

std::string to_line(const sim::QueueObservation& seen, int samples) {
  return fmt::format("{} {} {} {} {:.6f} {:.6f} {}", kLineBegin, seen.connections, seen.behind,
                     static_cast<int>(seen.same_queue), seen.held, seen.spread, samples);
}

// queue 1 kernel 1 0.990000 0.010000 11
bool from_line(const std::string& line, sim::QueueObservation& seen, int& samples) {
  std::istringstream words(line);
  std::string begin;
  return static_cast<bool>(words >> begin >> seen.connections >> seen.behind >> seen.same_queue >> seen.held >>
                           seen.spread >> samples) &&
         begin == kLineBegin;
}

}  // namespace underlap::bench
