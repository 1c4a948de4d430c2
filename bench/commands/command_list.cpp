// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/commands/commands.hpp"
#include "bench/commands/shipped_matrices.hpp"
#include "bench/machine/gpu_monitor.hpp"
#include "impl/device/sim/hardware.hpp"
#include "impl/plan/layout/parameters.hpp"
#include "impl/plan/plan.hpp"
#include "impl/plan/presets.hpp"
#include "impl/plan/userbuffers.hpp"
#include "impl/step/techniques.hpp"
#include "kernels/registry.hpp"
#include "platform/errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/memory_room.hpp"
#include "platform/nvidia_library.hpp"
#include "platform/problems.hpp"
#include "platform/suggestion.hpp"
#include "platform/table.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/attribution/mode_map.hpp"
#include "profiler/formats/format.hpp"

namespace underlap::bench {
namespace {

void print(const Table& table) { print_text(render(table, terminal_format(STDOUT_FILENO))); }

void list_techniques() {
  Table table{{{"technique", Align::left},
               {"mode", Align::left},
               {"knob", Align::left},
               {"description", Align::left},
               {"exposed", Align::left}},
              {}};
  for (const ListedTechnique& technique : all_techniques())
    table.rows.push_back({{std::string(technique.name)},
                          {std::string(to_string(technique.mode))},
                          {std::string(technique.facts->knob)},
                          {std::string(technique.summary)},
                          {std::string(technique.exposed)}});
  print(table);
}

void list_kernels() {
  Table table{{{"kernel", Align::left}, {"computes", Align::left}, {"cost", Align::left}}, {}};
  for (const kernels::KernelInfo& kernel : kernels::registered_kernels())
    table.rows.push_back({{std::string(kernel.name)}, {std::string(kernel.what)}, {std::string(kernel.cost)}});
  print(table);
}

void list_formats() {
  Table table{{{"format", Align::left}, {"file", Align::left}, {"can", Align::left}, {"description", Align::left}}, {}};
  for (const formats::Format& format : formats::formats())
    table.rows.push_back({{std::string(format.name)},
                          {std::string(format.extension)},
                          {format.write == nullptr ? "read" : "read, write"},
                          {std::string(format.description)}});
  print(table);
}

void list_matrices() {
  Table table{{{"matrix", Align::left}, {"description", Align::left}}, {}};
  const std::vector<ShippedMatrix> matrices = shipped_matrices();
  if (matrices.empty())
    throw std::invalid_argument(fmt::format(
        "no matrices are installed with this program, in {}\n  underlap init writes a configuration to start from",
        shipped_matrices_folder().string()));
  for (const ShippedMatrix& matrix : matrices) table.rows.push_back({{matrix.name}, {matrix.about}});
  print(table);
  print_text("\nfiles: {}\n", shipped_matrices_folder().string());
}

std::string billions(std::int64_t parameters) {
  return parameters < 100'000'000 ? fmt::format("{:.1f} M", double(parameters) / 1e6)
                                  : fmt::format("{:.1f} B", double(parameters) / 1e9);
}

std::int64_t num_parameters(const plan::ModelConfig& model) {
  std::int64_t elements = 0;
  for (const plan::Parameter& parameter : plan::list_parameters(model).all) elements += parameter.elements();
  return elements;
}

void list_presets() {
  Table models{{{"model.preset", Align::left},
                {"layers"},
                {"hidden"},
                {"ffn"},
                {"heads"},
                {"groups"},
                {"vocab"},
                {"seq"},
                {"parameters"}},
               {}};
  for (const plan::ModelConfig& model : plan::presets())
    models.rows.push_back({{model.preset},
                           {std::to_string(model.num_layers)},
                           {std::to_string(model.hidden_size)},
                           {std::to_string(model.ffn_hidden_size)},
                           {std::to_string(model.num_attention_heads)},
                           {std::to_string(model.num_query_groups)},
                           {std::to_string(model.vocab_size)},
                           {std::to_string(model.seq_length)},
                           {billions(num_parameters(model))}});
  print(models);
  Table userbuffers{{{"comm_overlap.tp_comm_overlap_cfg", Align::left}}, {}};
  for (const std::string_view name : plan::userbuffers_preset_names()) userbuffers.rows.push_back({std::string(name)});
  print_text("\n");
  print(userbuffers);
}

// A word matches anywhere in a name; a shell pattern matches the whole name.
bool matches(const std::string& name, const std::string& pattern) {
  const bool is_glob = pattern.find_first_of("*?[") != std::string::npos;
  return ::fnmatch((is_glob ? pattern : "*" + pattern + "*").c_str(), name.c_str(), FNM_CASEFOLD) == 0;
}

bool matches(const plan::KnobInfo& knob, const std::string& pattern) {
  return matches(knob.name, pattern) ||
         std::ranges::any_of(knob.spellings, [&](const std::string& other) { return matches(other, pattern); });
}

// The knobs whose names are most similar to `pattern`; without a dot, the last part of a name is compared.
std::string similar_knobs(const std::string& pattern, const std::vector<plan::KnobInfo>& knobs) {
  const bool is_path = pattern.find('.') != std::string::npos;
  std::vector<std::string_view> names;
  for (const plan::KnobInfo& knob : knobs)
    names.push_back(std::string_view(knob.name).substr(is_path ? 0 : knob.name.rfind('.') + 1));
  return did_you_mean(pattern, names);
}

void list_knobs(const std::string& pattern) {
  const std::vector<plan::KnobInfo> knobs = plan::known_knobs();
  bool is_any = false;
  for (const plan::KnobInfo& knob : knobs) {
    if (!matches(knob, pattern)) continue;
    is_any = true;
    const std::string text =
        fmt::format("    {} ({}); default: {}; {}", knob.about, knob.type, knob.default_rule, knob.status);
    print_text("{}\n{}", knob.name, wrap(text, terminal_width(STDOUT_FILENO), "    "));
  }
  if (!is_any)
    throw std::invalid_argument(fmt::format("no knob matches {}{}\n  underlap list knobs shows all of them",
                                            yaml::in_quotes(pattern), similar_knobs(pattern, knobs)));
}

std::vector<std::string> hardware_lines(const sim::Hardware& hardware) {
  const sim::Gpu& gpu = hardware.gpu;
  std::vector<std::string> lines{
      fmt::format("bf16 {:g} TFLOP/s, fp8 {}, HBM {:g} GB at {:g} GB/s, {:g} SMs, NVLink {:g} GB/s, network {:g} GB/s",
                  gpu.bf16_tflops.value, gpu.fp8_tflops ? fmt::format("{:g} TFLOP/s", gpu.fp8_tflops->value) : "none",
                  gpu.hbm_gb.value, gpu.hbm_gb_per_s.value, gpu.sms.value, hardware.node.nvlink_gb_per_s.value,
                  hardware.node.network_gb_per_s.value),
      fmt::format("unverified: {} of {} figures", hardware.unverified.size(), hardware.num_figures)};
  if (hardware.base.empty()) return lines;  // a description; a measured file has more
  lines.push_back(fmt::format("based on {}; measured: {}", hardware.base, fmt::join(hardware.measured, ", ")));
  for (const sim::QueueObservation& seen : hardware.hardware_queues)
    lines.push_back(fmt::format("{} connections, {}, {}: {} (held {:.2f})", seen.connections, seen.behind,
                                seen.same_queue ? "same queue" : "next stream", seen.holds() ? "blocks" : "passes",
                                seen.held));
  for (const sim::Interference& during : hardware.interference)
    lines.push_back(
        fmt::format("{} x {:.3f} during transfers by {}{}{}", during.of, during.slowdown,
                    during.copy_engine ? "a copy engine" : fmt::format("{} SMs", during.sms),
                    during.gb_per_s > 0 ? fmt::format(" at {:g} GB/s", during.gb_per_s) : ", not paced",
                    during.carried_gb_per_s ? fmt::format(" (carried {:.1f})", *during.carried_gb_per_s) : ""));
  return lines;
}

void print_hardware(const std::string& name) {
  const std::string indent(13, ' ');
  const sim::Hardware hardware = sim::load_hardware(name);
  print_text("{:<12} {}\n", name, hardware.description);
  for (const std::string& line : hardware_lines(hardware))
    print_text("{}", wrap(indent + line, terminal_width(STDOUT_FILENO), indent));
}

void list_libraries() {
  Table table{{{"library", Align::left}, {"version", Align::left}, {"where", Align::left}}, {}};
  for (const GpuLibrary& library : find_gpu_libraries())
    table.rows.push_back({{library.name}, {library.version.empty() ? "missing" : library.version}, {library.where}});
  print(table);
}

// The driver and a desktop use less than this.
constexpr std::int64_t kBusyBytes = std::int64_t{1} << 29;
constexpr std::int32_t kBusyPercent = 10;

std::string use_of(const GpuFacts& gpu) {
  if (!gpu.has_nvml) return "unknown: no NVML";
  if (gpu.is_mig) return "divided (MIG): CUPTI cannot trace it";
  if (gpu.used_bytes >= kBusyBytes || gpu.utilization_percent >= kBusyPercent) return "busy: times will be wrong";
  return "ready";
}

void list_gpus() {
  Table table{{{"GPU"},
               {"name", Align::left},
               {"driver", Align::left},
               {"SM MHz"},
               {"of"},
               {"memory MHz"},
               {"power W"},
               {"deg C"},
               {"memory", Align::left},
               {"used", Align::left},
               {"load %"},
               {"use", Align::left}},
              {}};
  for (const GpuFacts& gpu : find_gpus()) {
    const auto known = [&](const std::string& text) -> TableCell { return {gpu.has_nvml ? text : "-"}; };
    table.rows.push_back({{std::to_string(gpu.index)},
                          {gpu.name},
                          {gpu.driver},
                          known(std::to_string(gpu.state.sm_mhz)),
                          known(std::to_string(gpu.most_sm_mhz)),
                          known(std::to_string(gpu.state.memory_mhz)),
                          known(fmt::format("{:.0f}", gpu.state.power_w)),
                          known(std::to_string(gpu.state.temperature_c)),
                          {in_bytes(gpu.memory_bytes)},
                          known(in_bytes(gpu.used_bytes)),
                          known(std::to_string(gpu.utilization_percent)),
                          {use_of(gpu)}});
  }
  if (table.rows.empty()) throw MachineError("the driver sees no GPU on this machine");
  print(table);
}

// Adds a list without arguments.
void add_list(CLI::App& lists, int& exit_code, const char* what, const char* about, void (*print_list)()) {
  lists.add_subcommand(what, about)->callback([&exit_code, print_list] {
    print_list();
    exit_code = kOk;
  });
}

void add_hardware_list(CLI::App& lists, int& exit_code) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* list = lists.add_subcommand("hardware", "machines that the sim backend can simulate");
  list->add_option("FILE", *files, "hardware descriptions or measured files (default: the built-in ones)");
  list->callback([&exit_code, files] {
    for (const std::string& name : files->empty() ? sim::hardware_names() : *files) print_hardware(name);
    exit_code = kOk;
  });
}

void add_knob_list(CLI::App& lists, int& exit_code) {
  auto pattern = std::make_shared<std::string>();
  CLI::App* list = lists.add_subcommand("knobs", "all keys of a configuration");
  list->add_option("PATTERN", *pattern, "part of a name, or a glob pattern; case-insensitive (default: all)");
  list->footer(
      "Columns: name; description (accepted values); what sets its default; and whether\n`run` honors it (honoured), "
      "only the plan resolves it (planned), or only its name\nis known (known).\n\nExample: underlap list knobs "
      "overlap\n         underlap list knobs 'ddp.*'");
  list->callback([&exit_code, pattern] {
    list_knobs(*pattern);
    exit_code = kOk;
  });
}

}  // namespace

void add_list_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("list", "List techniques, presets, matrices, formats, hardware, libraries and knobs");
  command->require_subcommand(1);
  command->footer(
      "Example: underlap list techniques\n"
      "         underlap list knobs grad_reduce");
  add_list(*command, exit_code, "techniques", "overlap techniques, and what each leaves exposed", list_techniques);
  add_list(*command, exit_code, "kernels", "operations and what they cost", list_kernels);
  add_list(*command, exit_code, "kernel-names", "rules for kernels of communication libraries, as a mode map",
           [] { print_text(std::string(attribution::kernel_names_text())); });
  add_list(*command, exit_code, "formats", "trace formats", list_formats);
  add_list(*command, exit_code, "presets", "models and their shapes, and userbuffers presets for tp_comm_overlap_cfg",
           list_presets);
  add_list(*command, exit_code, "matrices", "matrices shipped with the program; `run` accepts their names",
           list_matrices);
  add_hardware_list(*command, exit_code);
  add_list(*command, exit_code, "gpus", "GPUs of this machine: clocks, power, memory, load", list_gpus);
  add_list(*command, exit_code, "libraries", "GPU driver and libraries of this machine, and their paths",
           list_libraries);
  add_knob_list(*command, exit_code);
}

}  // namespace underlap::bench
