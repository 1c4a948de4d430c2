// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/hardware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

#include "impl/device/sim/measured.hpp"
#include "impl/device/sim/shipped_hardware.hpp"
#include "impl/device/sim/yaml_section.hpp"
#include "platform/input/input_file.hpp"
#include "platform/suggestion.hpp"

namespace underlap::sim {
namespace {

constexpr std::string_view kSchema = "underlap.hardware/1";
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr Range kEfficiency{.low = 0, .high = 1, .above_low = true};
constexpr double kUnread = std::numeric_limits<double>::quiet_NaN();  // conflicts with no other figure
constexpr Range kChannels{.low = 1, .high = 64, .whole = true};
constexpr Range kNvlsChannels{.low = 2, .high = 64, .whole = true};
constexpr Range kRanks{.low = 1, .high = 1 << 20, .whole = true};

/// Reads one description. Errors are added to the problems, and reading continues after them.
class Reader {
 public:
  explicit Reader(yaml::Problems& problems) : problems_(problems) {}

  Hardware read(const yaml::Node& root) {
    Section section(root, "the description", problems_);
    read_schema(section);
    if (const auto* node = section.get("name")) hardware_.name = read_text(*node, "name", problems_).value_or("");
    if (const auto* node = section.get("description"))
      hardware_.description = read_text(*node, "description", problems_).value_or("");
    if (const auto* node = section.get("sources")) read_sources(*node);
    if (const auto* node = section.get("gpu")) read_gpu(*node);
    if (const auto* node = section.get("node")) read_node(*node);
    if (const auto* node = section.get("host")) read_host(*node);
    if (const auto* node = section.get("kernels")) read_kernels(*node);
    if (const auto* node = section.get("nccl")) read_nccl(*node);
    if (const auto* node = section.find("collectives_taken_on")) read_taken_on(*node);
    if (const auto* node = section.get("collectives")) read_collectives(*node);
    section.finish();
    return std::move(hardware_);
  }

 private:
  void read_schema(Section& section) {
    const yaml::Node* node = section.get("schema");
    if (node != nullptr && node->text != kSchema)
      problems_.add(node->place, fmt::format("schema is {}, must be {}", yaml::describe(*node), kSchema));
  }

  /// h100_spec: NVIDIA H100 SXM5 data sheet
  void read_sources(const yaml::Node& node) {
    Section section(node, "sources", problems_);
    for (const yaml::Entry& entry : node.entries)
      if (const auto text = read_text(*entry.value, "a source", problems_)) sources_.emplace(entry.key, *text);
  }

  /// The text for a source's name. Every figure has a source.
  std::string source(Section& section) {
    const yaml::Node* node = section.get("source");
    if (node == nullptr) return {};
    const auto found = sources_.find(node->text);
    if (found != sources_.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [name, text] : sources_) names.push_back(name);
    problems_.add(node->place, fmt::format("source {} is not listed in sources{}", yaml::describe(*node),
                                           did_you_mean(node->text, names)));
    return {};
  }

  bool unverified(Section& section, const std::string& path) {
    ++hardware_.num_figures;
    const yaml::Node* node = section.find("unverified");
    if (node == nullptr || node->text == "false") return false;
    if (node->text != "true")
      problems_.add(node->place, fmt::format("unverified is {}, must be true or false", yaml::describe(*node)));
    hardware_.unverified.push_back(path);
    return true;
  }

  /// hbm_gb_per_s: {value: 3350, source: h100_spec}
  Figure figure(const yaml::Node& node, const std::string& path, const Range& range) {
    Section section(node, path, problems_);
    Figure figure;
    if (const auto* value = section.get("value"))
      figure.value = read_number(*value, path, range, problems_).value_or(kUnread);
    figure.source = source(section);
    figure.unverified = unverified(section, path);
    section.finish();
    return figure;
  }

  /// Reads `key` of `parent` into `out`; an optional figure may be absent.
  void read(Section& parent, const std::string& prefix, std::string_view key, const Range& range, Figure& out) {
    if (const auto* node = parent.get(key)) out = figure(*node, fmt::format("{}.{}", prefix, key), range);
  }
  void read(Section& parent, const std::string& prefix, std::string_view key, const Range& range,
            std::optional<Figure>& out) {
    if (const auto* node = parent.find(key)) out = figure(*node, fmt::format("{}.{}", prefix, key), range);
  }

  void read_gpu(const yaml::Node& node) {
    Section section(node, "gpu", problems_);
    Gpu& gpu = hardware_.gpu;
    if (const auto* names = section.find("cuda_names"))
      for (const yaml::Node* name : read_list(*names, "gpu.cuda_names", problems_))
        if (auto text = read_text(*name, "gpu.cuda_names: a name", problems_))
          gpu.cuda_names.push_back(std::move(*text));
    read(section, "gpu", "sms", {.low = 1, .high = 4096, .whole = true}, gpu.sms);
    read(section, "gpu", "bf16_tflops", kRate, gpu.bf16_tflops);
    read(section, "gpu", "fp8_tflops", kRate, gpu.fp8_tflops);
    read(section, "gpu", "sustained_clock", kEfficiency, gpu.sustained_clock);
    read(section, "gpu", "hbm_gb_per_s", kRate, gpu.hbm_gb_per_s);
    read(section, "gpu", "hbm_gb", kRate, gpu.hbm_gb);
    read(section, "gpu", "l2_mb", kRate, gpu.l2_mb);
    read(section, "gpu", "copy_engines", {.low = 0, .high = 64, .whole = true}, gpu.copy_engines);
    read(section, "gpu", "host_link_gb_per_s", kRate, gpu.host_link_gb_per_s);
    read(section, "gpu", "memory_saturation_sms", {.low = 1, .high = 4096, .whole = true}, gpu.memory_saturation_sms);
    read(section, "gpu", "kernel_overhead_us", kMicroseconds, gpu.kernel_overhead_us);
    section.finish();
    if (gpu.memory_saturation_sms.value > gpu.sms.value)
      problems_.add(node.place, fmt::format("gpu.memory_saturation_sms is {:g}, more than the {:g} SMs of the GPU",
                                            gpu.memory_saturation_sms.value, gpu.sms.value));
  }

  void read_node(const yaml::Node& yaml) {
    Section section(yaml, "node", problems_);
    Node& node = hardware_.node;
    read(section, "node", "gpus", {.low = 1, .high = 4096, .whole = true}, node.gpus);
    read(section, "node", "nvlink_gb_per_s", kRate, node.nvlink_gb_per_s);
    read(section, "node", "network_gb_per_s", kRate, node.network_gb_per_s);
    read(section, "node", "p2p_nvlink_gb_per_s", kRate, node.p2p_nvlink_gb_per_s);
    read(section, "node", "p2p_network_gb_per_s", kRate, node.p2p_network_gb_per_s);
    read(section, "node", "p2p_nvlink_latency_us", kMicroseconds, node.p2p_nvlink_latency_us);
    read(section, "node", "p2p_network_latency_us", kMicroseconds, node.p2p_network_latency_us);
    read(section, "node", "p2p_sms", {.low = 0, .high = 4096, .whole = true}, node.p2p_sms);
    read(section, "node", "p2p_network_sms", {.low = 0, .high = 4096, .whole = true}, node.p2p_network_sms);
    section.finish();
  }

  void read_host(const yaml::Node& node) {
    Section section(node, "host", problems_);
    HostFigures& host = hardware_.host;
    read(section, "host", "kernel_launch_us", kMicroseconds, host.kernel_launch_us);
    read(section, "host", "collective_launch_us", kMicroseconds, host.collective_launch_us);
    read(section, "host", "copy_launch_us", kMicroseconds, host.copy_launch_us);
    read(section, "host", "event_record_us", kMicroseconds, host.event_record_us);
    read(section, "host", "event_wait_us", kMicroseconds, host.event_wait_us);
    read(section, "host", "launch_queue_depth", kCount, host.launch_queue_depth);
    read(section, "host", "schedule_call_us", kMicroseconds, host.schedule_call_us);
    read(section, "host", "synchronize_us", kMicroseconds, host.synchronize_us);
    read(section, "host", "iteration_us", kMicroseconds, host.iteration_us);
    section.finish();
  }

  /// One [x, y] of a curve, above `left`.
  std::optional<Curve::Point> point(const yaml::Node& node, const std::string& path, double left) {
    const auto pair = read_list(node, path + ": a point", problems_);
    if (pair.size() != 2) {
      if (!pair.empty()) problems_.add(node.place, path + ": a point is two numbers, [x, y]");
      return std::nullopt;
    }
    const auto x = read_number(*pair[0], path + ": x", kPositive, problems_);
    const auto y = read_number(*pair[1], path + ": an efficiency", kEfficiency, problems_);
    if (!x || !y) return std::nullopt;
    if (*x <= left) {
      problems_.add(pair[0]->place, fmt::format("{}: x must ascend; {:g} follows {:g}", path, *x, left));
      return std::nullopt;
    }
    return Curve::Point{*x, *y};
  }

  /// Reads points, source and mark of `section`; an unreadable curve gets one point, so that reading can continue.
  /// gemm_bf16: {source: gemm_random, points: [[64, 0.192], [128, 0.323], ...]}
  SourcedCurve curve(Section& section, const std::string& path) {
    SourcedCurve out;
    std::vector<Curve::Point> points;
    if (const auto* list = section.get("points"))
      for (const yaml::Node* item : read_list(*list, path + ".points", problems_))
        if (const auto p = point(*item, path, points.empty() ? 0 : points.back().x)) points.push_back(*p);
    if (points.empty()) points.push_back({1, 1});
    out.curve = Curve(std::move(points));
    out.source = source(section);
    out.unverified = unverified(section, path);
    return out;
  }

  SourcedCurve curve(const yaml::Node& node, const std::string& path) {
    Section section(node, path, problems_);
    SourcedCurve out = curve(section, path);
    section.finish();
    return out;
  }

  /// [{head_size: 64, source: flash, points: [[512, 0.199], [1024, 0.268], ...]}, ...]
  std::vector<AttentionCurve> attention(const yaml::Node& node, const std::string& path) {
    std::vector<AttentionCurve> curves;
    for (const yaml::Node* item : read_list(node, path, problems_)) {
      Section section(*item, path, problems_);
      AttentionCurve next;
      if (const auto* size = section.get("head_size"))
        next.head_size = static_cast<std::int64_t>(
            read_number(*size, path + ".head_size", {.low = 1, .high = 65536, .whole = true}, problems_).value_or(0));
      next.over_sequence = curve(section, fmt::format("{}.{}", path, next.head_size));
      section.finish();
      if (!curves.empty() && next.head_size <= curves.back().head_size)
        problems_.add(item->place, fmt::format("{}: head sizes must ascend; {} follows {}", path, next.head_size,
                                               curves.back().head_size));
      else
        curves.push_back(std::move(next));
    }
    return curves;
  }

  void read_kernels(const yaml::Node& node) {
    Section section(node, "kernels", problems_);
    KernelCurves& kernels = hardware_.kernels;
    read(section, "kernels", "gemm_tile_rows", {.low = 1, .high = 4096, .whole = true}, kernels.gemm_tile_rows);
    read(section, "kernels", "gemm_tile_cols", {.low = 1, .high = 4096, .whole = true}, kernels.gemm_tile_cols);
    read(section, "kernels", "gemm_overhead_us", kMicroseconds, kernels.gemm_overhead_us);
    if (const auto* n = section.get("gemm_bf16")) kernels.gemm_bf16 = curve(*n, "kernels.gemm_bf16");
    if (const auto* n = section.find("gemm_fp8")) kernels.gemm_fp8 = curve(*n, "kernels.gemm_fp8");
    if (const auto* n = section.get("memory")) kernels.memory = curve(*n, "kernels.memory");
    if (const auto* n = section.get("attention_forward"))
      kernels.attention_forward = attention(*n, "kernels.attention_forward");
    if (const auto* n = section.get("attention_backward"))
      kernels.attention_backward = attention(*n, "kernels.attention_backward");
    section.finish();
    if (kernels.gemm_fp8.has_value() != hardware_.gpu.fp8_tflops.has_value())
      problems_.add(node.place, "kernels.gemm_fp8 and gpu.fp8_tflops go together; one of them is missing");
  }

  void read_algorithms(const yaml::Node& node) {
    for (const yaml::Node* item : read_list(node, "nccl.algorithms", problems_))
      if (const auto algorithm = nccl::algorithm_from(item->text); algorithm && *algorithm != nccl::Algorithm::p2p)
        hardware_.nccl.algorithms.push_back(*algorithm);
      else
        problems_.add(item->place,
                      fmt::format("{} is not an algorithm to choose; known: tree, ring, nvls, nvls_tree, pat",
                                  yaml::describe(*item)));
  }

  void read_protocols(const yaml::Node& node) {
    for (const yaml::Node* item : read_list(node, "nccl.protocols", problems_))
      if (const auto protocol = nccl::protocol_from(item->text))
        hardware_.nccl.protocols.push_back(*protocol);
      else
        problems_.add(item->place,
                      fmt::format("{} is not a protocol; known: ll, ll128, simple", yaml::describe(*item)));
  }

  void read_nccl(const yaml::Node& node) {
    Section section(node, "nccl", problems_);
    NcclFigures& nccl = hardware_.nccl;
    if (const auto* n = section.get("generation")) {
      const auto generation = nccl::generation_from(n->text);
      if (!generation)
        problems_.add(n->place,
                      fmt::format("nccl.generation is {}; known: ampere, hopper, blackwell", yaml::describe(*n)));
      nccl.generation = generation.value_or(nccl::Generation::hopper);
    }
    if (const auto* n = section.get("algorithms")) read_algorithms(*n);
    if (const auto* n = section.get("protocols")) read_protocols(*n);
    read(section, "nccl", "ring_channels", kChannels, nccl.ring_channels);
    read(section, "nccl", "ring_channel_gb_per_s", kRate, nccl.ring_channel_gb_per_s);
    read(section, "nccl", "network_channels", kChannels, nccl.network_channels);
    read(section, "nccl", "network_channel_gb_per_s", kRate, nccl.network_channel_gb_per_s);
    read(section, "nccl", "channels_per_port", kChannels, nccl.channels_per_port);
    read(section, "nccl", "network_latency_us", kMicroseconds, nccl.network_latency_us);
    read(section, "nccl", "nvls_channels", kNvlsChannels, nccl.nvls_channels);
    read(section, "nccl", "nvls_channel_gb_per_s", kRate, nccl.nvls_channel_gb_per_s);
    read(section, "nccl", "sm_gb_per_s", kRate, nccl.sm_gb_per_s);
    section.finish();
    check_algorithms(node);
  }

  /// {nvlink_gb_per_s: 300, network_gb_per_s: 25, ring_channels: 24, ...}, figures without their own source: each was
  /// copied from a figure of this file, which has one.
  void read_taken_on(const yaml::Node& node) {
    Section section(node, "collectives_taken_on", problems_);
    TakenOn taken_on{.nccl = hardware_.nccl};
    const auto read = [&](std::string_view key, const Range& range, double& out) {
      if (const auto* value = section.get(key)) out = read_number(*value, key, range, problems_).value_or(kUnread);
    };
    NcclFigures& nccl = taken_on.nccl;
    read("nvlink_gb_per_s", kRate, taken_on.nvlink_gb_per_s);
    read("network_gb_per_s", kRate, taken_on.network_gb_per_s);
    read("ring_channels", kChannels, nccl.ring_channels.value);
    read("ring_channel_gb_per_s", kRate, nccl.ring_channel_gb_per_s.value);
    read("network_channels", kChannels, nccl.network_channels.value);
    read("network_channel_gb_per_s", kRate, nccl.network_channel_gb_per_s.value);
    read("network_latency_us", kMicroseconds, nccl.network_latency_us.value);
    if (nccl.nvls_channels && nccl.nvls_channel_gb_per_s) {
      read("nvls_channels", kNvlsChannels, nccl.nvls_channels->value);
      read("nvls_channel_gb_per_s", kRate, nccl.nvls_channel_gb_per_s->value);
    }
    section.finish();
    hardware_.collectives_taken_on = std::move(taken_on);
  }

  void check_algorithms(const yaml::Node& node) {
    const NcclFigures& nccl = hardware_.nccl;
    const auto has = [](const auto& list, auto one) { return std::find(list.begin(), list.end(), one) != list.end(); };
    if (!has(nccl.algorithms, nccl::Algorithm::ring)) problems_.add(node.place, "nccl.algorithms must include ring");
    if (!has(nccl.protocols, nccl::Protocol::simple)) problems_.add(node.place, "nccl.protocols must include simple");
    const bool needs_nvls =
        has(nccl.algorithms, nccl::Algorithm::nvls) || has(nccl.algorithms, nccl::Algorithm::nvls_tree);
    if (needs_nvls && !(nccl.nvls_channels && nccl.nvls_channel_gb_per_s))
      problems_.add(node.place, "nvls needs nvls_channels and nvls_channel_gb_per_s");
    if (needs_nvls && nccl.generation == nccl::Generation::ampere)
      problems_.add(node.place, "nvls needs a generation newer than ampere");
  }

  /// [{up_to_bytes: 16777216, latency_us: 10.8, busbw_gb_per_s: 237.95}, ...]
  std::vector<Segment> segments(const yaml::Node& node) {
    std::vector<Segment> out;
    for (const yaml::Node* item : read_list(node, "segments", problems_)) {
      Section section(*item, "a segment", problems_);
      Segment next;
      if (const auto* n = section.get("up_to_bytes"))
        next.up_to_bytes = static_cast<std::int64_t>(read_number(*n, "up_to_bytes", kCount64, problems_).value_or(1));
      if (const auto* n = section.get("latency_us"))
        next.latency_us = read_number(*n, "latency_us", kMicroseconds, problems_).value_or(0);
      if (const auto* n = section.get("busbw_gb_per_s"))
        next.busbw_gb_per_s = read_number(*n, "busbw_gb_per_s", kRate, problems_).value_or(1);
      section.finish();
      if (!out.empty() && next.up_to_bytes <= out.back().up_to_bytes)
        problems_.add(item->place,
                      fmt::format("up_to_bytes must ascend; {} follows {}", next.up_to_bytes, out.back().up_to_bytes));
      out.push_back(next);
    }
    return out;
  }

  void read_group(Section& section, CollectiveTimes& times) {
    const auto whole = [&](std::string_view key, const Range& range) {
      const yaml::Node* node = section.get(key);
      return node == nullptr ? 1 : static_cast<std::int32_t>(read_number(*node, key, range, problems_).value_or(1));
    };
    times.ranks = whole("ranks", {.low = 2, .high = 1 << 20, .whole = true});
    times.nodes = whole("nodes", kRanks);
    times.sms = whole("sms", {.low = 0, .high = 4096, .whole = true});
  }

  /// {collective: all_gather, algorithm: ring, ranks: 8, nodes: 1, sms: 24, source: simai_ring, segments: [...]}
  void read_collective(const yaml::Node& node) {
    Section section(node, "a collective", problems_);
    CollectiveTimes times;
    if (const auto* n = section.get("collective")) {
      const auto collective = collective_from(n->text);
      if (!collective || *collective == Collective::send || *collective == Collective::receive)
        problems_.add(
            n->place,
            fmt::format("{} is not a collective; known: all_gather, reduce_scatter, all_reduce, all_to_all, broadcast",
                        yaml::describe(*n)));
      times.collective = collective.value_or(Collective::all_reduce);
    }
    if (const auto* n = section.get("algorithm")) {
      const auto algorithm = nccl::algorithm_from(n->text);
      if (!algorithm) problems_.add(n->place, fmt::format("{} is not an algorithm", yaml::describe(*n)));
      times.algorithm = algorithm.value_or(nccl::Algorithm::ring);
    }
    read_group(section, times);
    if (const auto* n = section.get("segments")) times.segments = segments(*n);
    times.source = source(section);
    times.unverified = unverified(section, fmt::format("collectives.{}.{}.{}_nodes", to_string(times.collective),
                                                       to_string(times.algorithm), times.nodes));
    section.finish();
    check_collective(node, times);
    hardware_.collectives.push_back(std::move(times));
  }

  void check_collective(const yaml::Node& node, const CollectiveTimes& times) {
    if (times.ranks % times.nodes != 0)
      problems_.add(node.place, fmt::format("{} ranks do not spread evenly over {} nodes", times.ranks, times.nodes));
    else if (times.ranks / times.nodes > hardware_.node.gpus.value)
      problems_.add(node.place, fmt::format("{} ranks on {} nodes, which have {:g} GPUs each", times.ranks, times.nodes,
                                            hardware_.node.gpus.value));
    const auto same = [&times](const CollectiveTimes& other) {
      return other.collective == times.collective && other.algorithm == times.algorithm && other.nodes == times.nodes;
    };
    if (std::any_of(hardware_.collectives.begin(), hardware_.collectives.end(), same))
      problems_.add(node.place, fmt::format("{} by {} on {} nodes is listed twice", to_string(times.collective),
                                            to_string(times.algorithm), times.nodes));
  }

  void read_collectives(const yaml::Node& node) {
    for (const yaml::Node* item : read_list(node, "collectives", problems_)) read_collective(*item);
  }

  static constexpr Range kCount64{.low = 1, .high = 1e15, .whole = true};

  yaml::Problems& problems_;
  Hardware hardware_;
  std::map<std::string, std::string, std::less<>> sources_;
};

[[noreturn]] void unknown_hardware(const std::string& name) {
  const std::vector<std::string> known = hardware_names();
  throw std::invalid_argument(fmt::format("hardware {} is neither one of {} nor a file{}", yaml::in_quotes(name),
                                          fmt::join(known, ", "), did_you_mean(name, known)));
}

}  // namespace

std::vector<std::string> hardware_names() {
  std::vector<std::string> names;
  for (const ShippedHardware& shipped : shipped_hardware()) names.emplace_back(shipped.name);
  std::sort(names.begin(), names.end());
  return names;
}

Hardware load_hardware(const std::string& name_or_path) {
  for (const ShippedHardware& shipped : shipped_hardware())
    if (shipped.name == name_or_path) return parse_hardware(std::string(shipped.yaml), name_or_path + ".yaml");
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(name_or_path, ignored)) unknown_hardware(name_or_path);
  return parse_hardware(read_input_file(name_or_path, {.bytes = kMostBytes + 1}), name_or_path);
}

Hardware parse_hardware(const std::string& yaml, const std::string& where) {
  if (yaml.size() > kMostBytes)
    throw std::invalid_argument(
        fmt::format("{}: larger than {} bytes; this is not a hardware description", where, kMostBytes));
  yaml::Problems problems(where, {});
  const yaml::Document document = yaml::read_document(yaml, problems);
  Hardware hardware;
  if (document.root != nullptr)
    hardware =
        is_measured(*document.root) ? read_measured(*document.root, problems) : Reader(problems).read(*document.root);
  else if (problems.empty())
    problems.add({}, "the file is empty; write a hardware description such as results/hardware/h100-sxm.yaml");
  if (problems.empty()) return hardware;
  std::vector<std::string> lines;
  for (const yaml::Message& message : problems.messages())
    lines.push_back(fmt::format("{}: {}", message.where, message.message));
  throw std::invalid_argument(fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace underlap::sim
