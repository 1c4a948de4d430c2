// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bench/commands/commands.hpp"
#include "bench/machine/gpu_libraries.hpp"
#include "impl/device/sim/hardware.hpp"
#include "impl/plan/plan.hpp"
#include "impl/plan/userbuffers.hpp"
#include "impl/step/techniques.hpp"
#include "kernels/registry.hpp"
#include "platform/exit_code.hpp"
#include "platform/table.hpp"
#include "platform/terminal.hpp"
#include "profiler/formats/format.hpp"

namespace underlap::bench {
namespace {

void print(const Table& table) { fmt::print("{}", render(table, terminal_format(STDOUT_FILENO))); }

void list_techniques() {
  Table table{{{"technique", Align::left},
               {"mode", Align::left},
               {"knob", Align::left},
               {"what it does", Align::left},
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
  Table table{{{"kernel", Align::left}, {"what it computes", Align::left}, {"cost", Align::left}}, {}};
  for (const kernels::KernelInfo& kernel : kernels::registered_kernels())
    table.rows.push_back({{std::string(kernel.name)}, {std::string(kernel.what)}, {std::string(kernel.cost)}});
  print(table);
}

void list_formats() {
  Table table{{{"format", Align::left}, {"file", Align::left}, {"can", Align::left}, {"what it is", Align::left}}, {}};
  for (const formats::Format& format : formats::formats())
    table.rows.push_back({{std::string(format.name)},
                          {std::string(format.extension)},
                          {format.write == nullptr ? "read" : "read, write"},
                          {std::string(format.description)}});
  print(table);
}

void list_presets() {
  for (const std::string& name : plan::preset_names()) fmt::print("{}\n", name);
  for (const std::string_view name : plan::userbuffers_preset_names()) fmt::print("{}\n", name);
}

void list_knobs() {
  for (const plan::KnobInfo& knob : plan::known_knobs())
    fmt::print("{}\n    {} ({}); default: {}; {}\n", knob.name, knob.about, knob.type, knob.default_rule, knob.status);
}

/// What a measured file says beyond a description; "" for a description.
std::string measured_text(const sim::Hardware& hardware) {
  if (hardware.base.empty()) return "";
  std::string text =
      fmt::format("{:<12} on top of {}; measured: {}\n", "", hardware.base, fmt::join(hardware.measured, ", "));
  for (const sim::QueueObservation& seen : hardware.hardware_queues)
    text +=
        fmt::format("{:<12} {} connections, {}, {}: {} (held {:.2f})\n", "", seen.connections, seen.behind,
                    seen.same_queue ? "same queue" : "next stream", seen.holds() ? "holds up" : "passes", seen.held);
  for (const sim::Interference& beside : hardware.interference)
    text += fmt::format("{:<12} {} x {:.3f} beside {}{}{}\n", "", beside.of, beside.slowdown,
                        beside.copy_engine ? "a copy engine" : fmt::format("{} SMs", beside.sms),
                        beside.gb_per_s > 0 ? fmt::format(" at {:g} GB/s", beside.gb_per_s) : ", not paced",
                        beside.carried_gb_per_s ? fmt::format(" (carried {:.1f})", *beside.carried_gb_per_s) : "");
  return text;
}

void print_hardware(const std::string& name) {
  const sim::Hardware hardware = sim::load_hardware(name);
  const sim::Gpu& gpu = hardware.gpu;
  fmt::print(
      "{:<12} {}\n{:<12} bf16 {:g} TFLOP/s, fp8 {}, HBM {:g} GB at {:g} GB/s, {:g} SMs, NVLink {:g} GB/s, network "
      "{:g} GB/s\n{:<12} unverified: {} of {} figures\n{}",
      name, hardware.description, "", gpu.bf16_tflops.value,
      gpu.fp8_tflops ? fmt::format("{:g} TFLOP/s", gpu.fp8_tflops->value) : "none", gpu.hbm_gb.value,
      gpu.hbm_gb_per_s.value, gpu.sms.value, hardware.node.nvlink_gb_per_s.value, hardware.node.network_gb_per_s.value,
      "", hardware.unverified.size(), hardware.num_figures, measured_text(hardware));
}

void list_hardware() {
  for (const std::string& name : sim::hardware_names()) print_hardware(name);
}

void list_libraries() {
  Table table{{{"library", Align::left}, {"version", Align::left}, {"where", Align::left}}, {}};
  for (const GpuLibrary& library : find_gpu_libraries())
    table.rows.push_back({{library.name}, {library.version.empty() ? "missing" : library.version}, {library.where}});
  print(table);
}

struct List {
  const char* what;
  const char* about;
  void (*print)();
};
constexpr std::array<List, 7> kLists{{
    {"techniques", "overlap techniques, and what each leaves exposed", list_techniques},
    {"kernels", "operations and what they cost", list_kernels},
    {"formats", "trace formats", list_formats},
    {"presets", "presets: models, and userbuffers of tp_comm_overlap_cfg", list_presets},
    {"hardware", "machines that the virtual-time backend knows", list_hardware},
    {"libraries", "the GPU driver and libraries that this machine has, and where", list_libraries},
    {"knobs", "every key that a configuration may hold", list_knobs},
}};

}  // namespace

void add_list_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("list", "List what this build has");
  command->require_subcommand(1);
  command->footer("Example: underlap list techniques");
  auto files = std::make_shared<std::vector<std::string>>();
  for (const List& list : kLists) {
    CLI::App* const what = command->add_subcommand(list.what, list.about);
    const bool takes_files = list.print == list_hardware;
    if (takes_files)
      what->add_option("FILE", *files, "descriptions or measured files, in place of those in the program");
    what->callback([&exit_code, files, print = list.print] {
      for (const std::string& file : *files) print_hardware(file);
      if (files->empty()) print();
      exit_code = kWell;
    });
  }
}

}  // namespace underlap::bench
