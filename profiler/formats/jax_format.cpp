// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "profiler/formats/format.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/kineto/reader.hpp"

namespace underlap::formats {
namespace jax {
namespace {

constexpr std::string_view kGpu = "/device:GPU:";
constexpr std::string_view kTpu = "/device:TPU:";
constexpr std::int64_t kMostDevices = 1 << 16;

// "all-reduce-start.1" is an all-reduce. "reduce-scatter.3" is a collective, "reduce.3" is compute.
std::optional<std::string_view> collective_of(std::string_view instruction) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kCollectives{
      {{"all-reduce", "all_reduce"},
       {"all-gather", "all_gather"},
       {"reduce-scatter", "reduce_scatter"},
       {"all-to-all", "all_to_all"},
       {"ragged-all-to-all", "all_to_all"},
       {"collective-permute", "collective_permute"},
       {"collective-broadcast", "broadcast"},
       {"send", "send"},
       {"recv", "receive"}}};
  for (const auto& [word, purpose] : kCollectives) {
    if (!instruction.starts_with(word)) continue;
    const std::string_view rest = instruction.substr(word.size());
    if (rest.empty() || rest.front() == '.' || rest.starts_with("-start") || rest.starts_with("-done")) return purpose;
  }
  return std::nullopt;
}

bool is_copy(std::string_view name) { return name.starts_with("Memcpy") || name.starts_with("Memset"); }

// Rows that are not in the order of the stream, or that a graph's kernels repeat.
bool is_no_work(std::string_view name) {
  return name.starts_with("MemoryAlloc") || name.starts_with("MemoryFree") || name.starts_with("CudaGraph");
}

// The kernels that an instruction launched in one execution, and its copies to other devices, communicate. Without any,
// its copies within the device do, as drivers report those to other devices if processes share memory.
struct Communicating {
  std::vector<std::uint32_t> kernels, copies;
};

Communicating communicating(const Trace& trace, std::span<const std::uint32_t> slices) {
  Communicating found;
  std::vector<std::uint32_t> inside;
  for (const std::uint32_t slice : slices) {
    const std::string_view name = name_of(trace.name(slice));
    if (trace.tag(slice).kind == Kind::compute)
      found.kernels.push_back(slice);
    else if (name.starts_with("MemcpyP2P"))
      found.copies.push_back(slice);
    else if (name.starts_with("MemcpyD2D"))
      inside.push_back(slice);
  }
  if (found.kernels.empty() && found.copies.empty()) found.copies = std::move(inside);
  return found;
}

// A name that step_name() recognizes: "train step 3", or for another name "step 3 (eval)".
NameId step_name(std::string_view name, std::int64_t step) {
  if (name == "train" || name == "training") return intern(fmt::format("{} step {}", name, step));
  return intern(name.empty() ? fmt::format("step {}", step) : fmt::format("step {} ({})", step, name));
}

// The traces of JAX and of XLA's profiler, `plugins/profile/TIME/HOST.trace.json.gz`: a process for each device, which
// is a rank, with a thread for each stream; and the host's process. Their metadata comes before all other events.
class Dialect : public KinetoDialect {
 public:
  std::string_view format() const override { return "jax"; }
  std::string_view advice() const override {
    return "give the HOST.trace.json.gz that jax.profiler.stop_trace() wrote below plugins/profile";
  }

  void interpret(KinetoSlice& slice, const KinetoForeign& foreign, const KinetoParts& parts) override {
    const Lane& lane = lane_of(slice, parts);
    slice.work.device = lane.device;
    switch (lane.row) {
      case Row::stream: return interpret_work(slice, foreign, lane.device, parts);
      case Row::host: return interpret_host(slice, foreign);
      case Row::steps:
        slice.row.category = KinetoCategory::gpu_annotation;
        if (const auto number = integer_of(name_of(slice.row.name))) slice.row.name = step_name({}, *number);
        return;
      case Row::repeated: slice.row.category = KinetoCategory::gpu_annotation;
    }
  }

  // Each device takes part in each step, so each rank has the steps of the host.
  void finish(KinetoParts& parts, KinetoHeader& header) override {
    header.rank_of_process = devices_;
    add_collectives(parts);
    if (steps_.empty()) return;
    for (const auto& [process, device] : devices_) {
      const auto track = static_cast<std::uint32_t>(parts.trace.tracks.size());
      parts.trace.tracks.push_back({.name = "steps", .kind = TrackKind::range});
      parts.lane_of_track.push_back({.pid = process, .tid = {}, .category = KinetoCategory::annotation});
      for (const Step& step : steps_)
        parts.trace.add({.track = track,
                         .start_ns = step.start_ns,
                         .duration_ns = step.duration_ns,
                         .name = step.name,
                         .tag = {.kind = Kind::none},
                         .attribution = kNotAttributed});
    }
  }

  std::string refusal(const Trace&) const override {
    if (!devices_.empty()) return {};
    if (has_tpu_)
      return "a JAX trace of a TPU, whose JSON lacks the asynchronous collectives, so overlap is unknown; record the "
             "program on GPUs";
    if (has_host_executor_)
      return "a JAX trace of the CPU backend, whose rows do not cover the whole time that an operation runs; record "
             "the program on a GPU (JAX_PLATFORMS=cuda or rocm) with jax.profiler.trace()";
    return "a JAX trace without a GPU; record with jax.profiler.trace() while steps run on a GPU";
  }

 private:
  enum class Row : std::uint8_t { stream, steps, repeated, host };
  struct Lane {
    Row row = Row::host;
    std::int32_t device = -1;
  };
  struct Step {
    std::int64_t start_ns, duration_ns;
    NameId name;
  };
  // Work of an instruction.
  struct Work {
    std::int32_t device;
    std::uint32_t slice;
    std::int64_t correlation;
    NameId instruction;
  };

  // {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}}
  // {"ph": "M", "pid": 1, "tid": 13, "name": "thread_name", "args": {"name": "Stream #13(Compute,MemcpyD2D)"}}
  // Rows such as "XLA Ops" and "XLA Modules" repeat the kernels; the viewer of the profiler adds them.
  const Lane& lane_of(const KinetoSlice& slice, const KinetoParts& parts) {
    const auto [found, is_new] = lanes_.try_emplace(slice.lane);
    Lane& lane = found->second;
    if (!is_new) return lane;
    const auto named = parts.process_names.find(slice.lane.pid);
    const std::string_view process = named == parts.process_names.end() ? std::string_view() : name_of(named->second);
    has_tpu_ = has_tpu_ || process.starts_with(kTpu);
    if (!process.starts_with("/device:")) return lane;
    const std::string_view thread = parts.thread_name(slice.lane);
    lane.row = thread == "Steps" ? Row::steps : Row::repeated;
    if (!process.starts_with(kGpu)) return lane;
    const std::int64_t number = integer_of(process.substr(kGpu.size())).value_or(-1);
    if (number < 0 || number >= kMostDevices) return lane;
    lane.device = static_cast<std::int32_t>(number);
    if (!thread.starts_with("Stream #")) return lane;
    lane.row = Row::stream;
    devices_[slice.lane.pid] = lane.device;
    return lane;
  }

  // {"ph": "X", "pid": 1, "tid": 24, "ts": 500.0, "dur": 400.0, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)",
  //  "args": {"correlation_id": "4", "hlo_op": "all-reduce-start.1", "kernel_details": "grid:24,1,1 block:512,1,1"}}
  void interpret_work(KinetoSlice& slice, const KinetoForeign& foreign, std::int32_t device, const KinetoParts& parts) {
    const std::string_view name = name_of(slice.row.name);
    slice.row.category = is_copy(name)      ? KinetoCategory::copy
                         : is_no_work(name) ? KinetoCategory::sync
                                            : KinetoCategory::kernel;
    slice.row.id = foreign.correlation;
    slice.work.device = device;
    slice.work.shape = foreign.shape;
    if (slice.row.category == KinetoCategory::sync || foreign.operation == kNoName) return;
    work_.push_back({.device = device,
                     .slice = static_cast<std::uint32_t>(parts.trace.size()),
                     .correlation = foreign.correlation,
                     .instruction = foreign.operation});
  }

  // One execution of an instruction is a run of work that was launched without another instruction's in between, as
  // correlations are in the order of launches; the work of a graph has one correlation. Fails for a program that is one
  // collective made of copies: its executions count as one communication.
  void add_collectives(KinetoParts& parts) {
    const Trace& trace = parts.trace;
    std::ranges::sort(work_, {}, [&](const Work& work) {
      const std::string_view of_graph = work.correlation > 0 ? name_of(work.instruction) : std::string_view();
      return std::tuple(work.device, work.correlation, of_graph, trace.start_ns()[work.slice], work.slice);
    });
    std::int64_t num_runs = 0;
    std::vector<std::uint32_t> slices;
    for (auto begin = work_.begin(); begin != work_.end();) {
      const auto end = std::find_if(begin, work_.end(), [&](const Work& work) {
        return work.device != begin->device || work.instruction != begin->instruction;
      });
      if (const auto purpose = collective_of(name_of(begin->instruction))) {
        slices.clear();
        for (auto work = begin; work != end; ++work) slices.push_back(work->slice);
        const auto [kernels, copies] = communicating(trace, slices);
        const std::int64_t id = copies.empty() ? -1 : num_runs++;
        for (const auto& part : {kernels, copies})
          for (const std::uint32_t slice : part) parts.stated.push_back({slice, {.name = intern(*purpose)}, id});
      }
      begin = end;
    }
  }

  // {"ph": "X", "pid": 701, "tid": 9001, "ts": 60.0, "dur": 940.0, "name": "train", "args": {"step_num": "0"}}
  // {"ph": "X", "pid": 701, "tid": 583, "ts": 80.0, "dur": 2.0, "name": "cuLaunchKernelEx",
  //  "args": {"correlation_id": "2", "device_id": "0", "hlo_module": "jit_train_step"}}
  void interpret_host(KinetoSlice& slice, const KinetoForeign& foreign) {
    const std::string_view name = name_of(slice.row.name);
    slice.is_dropped = name.starts_with("ThreadpoolListener::") || name.starts_with("end: ");
    has_host_executor_ = has_host_executor_ || foreign.is_of_host_executor;
    if (foreign.step >= 0) steps_.push_back({slice.row.time_ns, slice.row.duration_ns, step_name(name, foreign.step)});
    if (foreign.correlation <= 0) return;
    slice.row.category = KinetoCategory::call;
    slice.row.id = foreign.correlation;
  }

  std::map<KinetoLane, Lane> lanes_;
  std::map<KinetoId, std::int32_t> devices_;  // with work, by process
  std::vector<Step> steps_;                   // of the host, which drives all devices
  std::vector<Work> work_;
  bool has_tpu_ = false;
  bool has_host_executor_ = false;
};

// {"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[{"ph":"M","pid":1,"name":"process_name",
//  "args":{"name":"/device:GPU:0"}}, ...: the names of processes come first.
bool is_jax(std::string_view text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return text.starts_with('{') && has("\"traceEvents\"") && (has("\"/device:") || has("\"/host:"));
}

Trace read_jax(const std::filesystem::path& path, Reading& reading) {
  Dialect dialect;
  return read_chrome_trace(path, reading, dialect);
}

}  // namespace
}  // namespace jax

Format jax_format() {
  return {.name = "jax",
          .extension = ".json",
          .description = "JAX and XLA on GPUs: HOST.trace.json.gz; may be compressed (.gz, .zst)",
          .sniff = jax::is_jax,
          .read = jax::read_jax,
          .write = nullptr};
}

}  // namespace underlap::formats
