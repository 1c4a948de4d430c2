// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/cuda_gpu.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <stdexcept>

#include "impl/device/cuda/emulated_link/emulated_link.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/implementations.hpp"
#include "platform/errors.hpp"
#include "platform/numbers/median.hpp"
#include "research/calibrate/background.hpp"
#include "research/calibrate/device_handles.hpp"
#include "research/calibrate/nccl_pair.hpp"
#include "research/calibrate/probe.hpp"

namespace underlap::bench {
namespace {

using cuda::check;

/// Grows only when an operation runs for the first time, which is never timed.
class OneWorkspace final : public cuda::Workspace {
 public:
  OneWorkspace(std::int64_t bytes, cudaStream_t stream)
      : bytes_(bytes), memory_(make_filled_bytes(bytes, stream)), stream_(stream) {}
  std::byte* take(std::int64_t bytes) override {
    if (bytes > bytes_) {
      bytes_ = 0;
      memory_.reset();  // waits until the memory is no longer in use
      memory_ = make_filled_bytes(bytes, stream_);
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  std::int64_t bytes_;
  cuda::DeviceBytes memory_;
  cudaStream_t stream_;
};

/// Throws std::invalid_argument if an operation would not be timed with the library that training uses for it.
void require_library(const Operation& operation, const cuda::LaunchContext& context) {
  if (name_of(operation.name()).starts_with("gemm") && context.products == nullptr)
    throw std::invalid_argument("matrix products need cuBLASLt, which was not found");
  if (is_attention(operation) && context.attention == nullptr)
    throw std::invalid_argument("attention needs cuDNN; the built-in attention kernels are only for numerics");
}

/// Random tokens below `limit`, the same in every run.
std::vector<std::int32_t> make_tokens(std::int64_t count, std::int32_t limit) {
  std::mt19937 random(1);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::int32_t& token : tokens)
    token = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(std::max(limit, 1)));
  return tokens;
}

/// An operation with several copies of its memory.
class BoundWork {
 public:
  BoundWork(const Work& work, CudaGpu::Implementation implementation, std::int64_t rotated_bytes,
            cuda::LaunchContext& context)
      : operation_(work.operation), enqueue_(std::move(implementation)) {
    std::int64_t bytes = 0;
    for (const Use& use : operation_.uses()) bytes += use.view.tensor.elements * size_of(use.view.tensor.dtype);
    const std::int64_t sets = std::clamp<std::int64_t>(rotated_bytes / std::max<std::int64_t>(bytes, 1) + 1, 1, 16);
    for (std::int64_t i = 0; i < sets; ++i) add_set(work, context);
  }

  void enqueue(cuda::LaunchContext& context) {
    enqueue_(Arguments(sets_[next_ % sets_.size()], operation_.parameters()), context);
    ++next_;
  }

 private:
  using Memory = std::map<std::uint32_t, std::byte*>;

  void add_set(const Work& work, cuda::LaunchContext& context) {
    Memory memory;
    sets_.push_back(bind(operation_, memory, work.num_tokens, context));
    for (const Operation& first : work.prepare)
      cuda::cuda_implementation(first.name())(
          Arguments(bind(first, memory, work.num_tokens, context), first.parameters()), context);
  }

  std::vector<BoundView> bind(const Operation& operation, Memory& memory, std::int32_t num_tokens,
                              cuda::LaunchContext& context) {
    std::vector<BoundView> views;
    for (const Use& use : operation.uses()) {
      const Tensor& tensor = use.view.tensor;
      std::byte*& at = memory[tensor.id];
      if (at == nullptr) at = add_tensor(tensor, num_tokens, context);
      views.push_back({.data = at + use.view.offset * size_of(tensor.dtype),
                       .dtype = tensor.dtype,
                       .rows = use.view.rows,
                       .cols = use.view.cols,
                       .leading_dimension = use.view.leading_dimension});
    }
    return views;
  }

  /// Random numbers, never zeros: a GPU's power and clocks depend on the data.
  std::byte* add_tensor(const Tensor& tensor, std::int32_t num_tokens, cuda::LaunchContext& context) {
    const std::int64_t bytes = tensor.elements * size_of(tensor.dtype);
    owned_.push_back(make_filled_bytes(bytes, context.stream));
    std::byte* const at = owned_.back().get();
    if (tensor.dtype == DataType::i32) {
      check(cudaStreamSynchronize(context.stream));
      check(cudaMemcpy(at, make_tokens(tensor.elements, num_tokens).data(), static_cast<std::size_t>(bytes),
                       cudaMemcpyHostToDevice));
      check(cudaStreamSynchronize(nullptr));  // a copy from pageable memory may end after the call returns
      return at;
    }
    const Operation values = filling(tensor);
    const BoundView view{at, tensor.dtype, 1, tensor.elements, tensor.elements};
    cuda::cuda_implementation(values.name())(Arguments({&view, 1}, values.parameters()), context);
    return at;
  }

  Operation operation_;
  CudaGpu::Implementation enqueue_;
  std::vector<cuda::DeviceBytes> owned_;
  std::vector<std::vector<BoundView>> sets_;
  std::size_t next_ = 0;
};

constexpr double kHeadStartUs = 50;
constexpr double kHeadStartOfACallUs = 10;  // for each further call
constexpr int kTransfersOfARate = 4;
constexpr int kMostTogether = 64;  // a stream holds about a thousand launches, and a call may be several

int connections() {
  const char* const text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const int value = text == nullptr ? 0 : std::atoi(text);
  return value >= 1 && value <= 32 ? value : 8;  // 8: CUDA's default
}

}  // namespace

struct CudaGpu::State {
  CudaGpuOptions options;
  cudaDeviceProp properties{};
  cuda::StreamHandle stream;
  cuda::StreamHandle communication;
  std::optional<OneWorkspace> workspace;
  cuda::DeviceBytes faults;
  cuda::DeviceBytes stamps;

  explicit State(const CudaGpuOptions& wanted) : options(wanted) {
    int count = 0;
    check(cudaGetDeviceCount(&count));
    if (count == 0) throw MachineError("no GPU to measure");
    int device = 0;
    check(cudaGetDevice(&device));
    check(cudaGetDeviceProperties(&properties, device));
    stream = cuda::make_stream(0);
    communication = make_priority_stream();
    workspace.emplace(options.workspace_bytes, stream.get());
    faults = make_filled_bytes(256, stream.get());
    stamps = make_filled_bytes(256, stream.get());
    synchronize();
  }

  /// Keeps the stream busy for a while, so that the host can enqueue the timed work before it starts.
  void head_start(double us) {
    launch_probe(reinterpret_cast<unsigned long long*>(stamps.get()), static_cast<unsigned long long>(us * 1e3),
                 stream.get());
  }

  struct Timing {
    int calls = 1;
    double head_start_us = kHeadStartUs;
    int uncounted = 1;  // first samples
  };
  /// Microseconds on the device of what `enqueue` puts on the stream, averaged over the calls of a sample.
  template <class Enqueue>
  std::vector<double> time(int samples, const Timing& timing, const Enqueue& enqueue) {
    const cuda::EventHandle begin = cuda::make_timing_event();
    const cuda::EventHandle end = cuda::make_timing_event();
    std::vector<double> us;
    for (int i = -timing.uncounted; i < samples; ++i) {
      head_start(timing.head_start_us);
      check(cudaEventRecord(begin.get(), stream.get()));
      for (int call = 0; call < timing.calls; ++call) enqueue();
      check(cudaEventRecord(end.get(), stream.get()));
      synchronize();
      if (i >= 0) us.push_back(elapsed_us(begin, end) / timing.calls);
    }
    return us;
  }

  /// Of an operation, after three samples that are not counted.
  template <class Enqueue>
  std::vector<double> time(int samples, const Enqueue& enqueue, int calls = 1) {
    return time(samples, {calls, kHeadStartUs + kHeadStartOfACallUs * (calls - 1), 3}, enqueue);
  }

  /// How many calls of `enqueue` take options.together_us.
  template <class Enqueue>
  int calls_together(const Enqueue& enqueue) {
    if (options.together_us <= 0) return 1;
    const double us = std::max(time(1, enqueue).front(), 1.0);
    return static_cast<int>(std::clamp(std::ceil(options.together_us / us), 1.0, double{kMostTogether}));
  }

  void synchronize() const { check(cudaStreamSynchronize(stream.get())); }

  cuda::LaunchContext context() {
    return {.stream = stream.get(),
            .num_sms = properties.multiProcessorCount,
            .workspace = &*workspace,
            .faults = reinterpret_cast<std::uint32_t*>(faults.get()),
            .products = options.libraries.products,
            .attention = options.libraries.attention};
  }
};

CudaGpu::CudaGpu(const CudaGpuOptions& options) : state_(std::make_unique<State>(options)) {}
CudaGpu::~CudaGpu() = default;

int CudaGpu::num_sms() const { return state_->properties.multiProcessorCount; }

std::vector<double> CudaGpu::host_call_us(HostCall call, int samples) {
  State& s = *state_;
  const cuda::EventHandle event = cuda::make_event();
  const cuda::StreamHandle other = cuda::make_stream(0);
  const cuda::DeviceBytes bytes = make_filled_bytes(2 << 12, s.stream.get());
  check(cudaEventRecord(event.get(), s.stream.get()));
  const auto once = [&] {
    switch (call) {
      case HostCall::launch: return launch_probe(nullptr, 0, s.stream.get());
      case HostCall::record: return check(cudaEventRecord(event.get(), s.stream.get()));
      case HostCall::wait: return check(cudaStreamWaitEvent(other.get(), event.get(), 0));
      case HostCall::copy:
        return check(
            cudaMemcpyAsync(bytes.get(), bytes.get() + (1 << 12), 1 << 12, cudaMemcpyDeviceToDevice, s.stream.get()));
    }
  };
  std::vector<double> us;
  for (int i = -1; i < samples; ++i) {  // the first sample is not counted
    check(cudaStreamSynchronize(other.get()));
    s.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (int j = 0; j < s.options.calls; ++j) once();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (i >= 0) us.push_back(took.count() / s.options.calls);
  }
  check(cudaStreamSynchronize(other.get()));
  s.synchronize();
  return us;
}

std::vector<double> CudaGpu::empty_kernel_us(int samples) {
  State& s = *state_;
  return s.time(samples, {.calls = s.options.calls, .head_start_us = 10.0 * s.options.calls},
                [&] { launch_probe(nullptr, 0, s.stream.get()); });
}

std::vector<double> CudaGpu::copy_us(std::int64_t bytes, int samples) {
  State& s = *state_;
  const std::int64_t pairs = std::clamp<std::int64_t>(s.options.rotated_bytes / (2 * bytes) + 1, 2, 64);
  const cuda::DeviceBytes memory = make_filled_bytes(2 * pairs * bytes, s.stream.get());
  std::int64_t next = 0;
  return s.time(samples, State::Timing{}, [&] {
    std::byte* const from = memory.get() + next++ % pairs * 2 * bytes;
    check(
        cudaMemcpyAsync(from + bytes, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, s.stream.get()));
  });
}

std::vector<double> CudaGpu::work_us(const Work& work, int samples) {
  require_library(work.operation, state_->context());
  return implementation_us(work, cuda::cuda_implementation(work.operation.name()), samples);
}

std::vector<double> CudaGpu::implementation_us(const Work& work, const Implementation& implementation, int samples) {
  State& s = *state_;
  cuda::LaunchContext context = s.context();
  check(cudaMemsetAsync(s.faults.get(), 0, sizeof(std::uint32_t), context.stream));
  BoundWork bound(work, implementation, s.options.rotated_bytes, context);
  const auto enqueue = [&] { bound.enqueue(context); };
  std::vector<double> us = s.time(samples, enqueue, s.calls_together(enqueue));
  std::uint32_t faults = 0;
  check(cudaMemcpy(&faults, s.faults.get(), sizeof faults, cudaMemcpyDeviceToHost));
  if (faults != 0) throw MachineError(fmt::format("{} was timed with invalid tokens", name_of(work.operation.name())));
  return us;
}

std::vector<double> CudaGpu::collective_us(Collective collective, const Communication& communication,
                                           std::int64_t bytes, int samples) {
  State& s = *state_;
  EmulatedBackground link({.communication = communication, .message_bytes = bytes, .collective = collective},
                          s.stream.get());
  return s.time(samples, [&] { link.enqueue(1); });
}

Beside CudaGpu::work_beside_us(const Work& work, const Communication& communication, int samples) {
  const std::string why_not = communication.copy_engine ? cuda::why_no_copy_engine() : "";
  if (!why_not.empty()) throw MachineError(why_not);
  State& s = *state_;
  EmulatedBackground background({.communication = communication, .message_bytes = s.options.message_bytes},
                                s.communication.get());
  return work_beside_us(work, background, samples);
}

Beside CudaGpu::work_beside_us(const Work& work, Background& background, int samples) {
  State& s = *state_;
  cuda::LaunchContext context = s.context();
  require_library(work.operation, context);
  BoundWork bound(work, cuda::cuda_implementation(work.operation.name()), s.options.rotated_bytes, context);
  background.synchronize();
  const cuda::EventHandle resident = cuda::make_timing_event();
  const cuda::EventHandle begin = cuda::make_timing_event();
  const cuda::EventHandle end = cuda::make_timing_event();
  const cuda::EventHandle gone = cuda::make_timing_event();
  Beside beside;
  int transfers = 2;
  for (int tries = 0; static_cast<int>(beside.us.size()) < samples; ++tries) {
    background.enqueue(1);
    check(cudaEventRecord(resident.get(), background.stream()));
    background.enqueue(transfers);
    check(cudaEventRecord(gone.get(), background.stream()));
    // The long one follows the short one within microseconds, and occupies its multiprocessors before the head start
    // ends.
    check(cudaStreamWaitEvent(s.stream.get(), resident.get(), 0));
    s.head_start(kHeadStartUs);
    check(cudaEventRecord(begin.get(), s.stream.get()));
    bound.enqueue(context);
    check(cudaEventRecord(end.get(), s.stream.get()));
    s.synchronize();
    background.synchronize();
    // If the communication ended before the operation, it did not run during all of it: retry with a longer one.
    if (elapsed_us(end, gone) < 0)
      transfers *= 2;
    else if (tries >= 2)
      beside.us.push_back(elapsed_us(begin, end));
    if (transfers > 4096) throw MachineError("the communication ends before the operation, even at its longest");
  }
  beside.gb_per_s = background.carried_gb_per_s();
  return beside;
}

std::vector<LinkRound> CudaGpu::link_rounds(const Work& work, const RankPair& pair, int rounds, int samples) {
  NcclPair nccl({.sms = pair.sms, .cga_size = pair.cga_size, .message_bytes = pair.message_bytes});
  const double rate = nccl.measure_gb_per_s();
  const auto emulated_pair = [&](double gb_per_s, bool polls) {
    return EmulatedPair({.communication = {.sms = pair.sms, .gb_per_s = gb_per_s},
                         .cga_size = pair.cga_size,
                         .message_bytes = nccl.message_bytes(),
                         .ranks = 2,
                         .polls = polls});
  };
  EmulatedPair emulated = emulated_pair(rate, false), polling = emulated_pair(rate, true),
               unpaced = emulated_pair(0, false);
  unpaced.enqueue(kTransfersOfARate);
  unpaced.synchronize();
  const double unpaced_rate = unpaced.carried_gb_per_s().value_or(0);
  std::vector<LinkRound> all;
  for (int round = 0; round < rounds; ++round)
    all.push_back({.alone_us = upper_median(work_us(work, samples)),
                   .nccl_us = upper_median(work_beside_us(work, nccl, samples).us),
                   .emulated_us = upper_median(work_beside_us(work, emulated, samples).us),
                   .polling_us = upper_median(work_beside_us(work, polling, samples).us),
                   .gb_per_s = rate,
                   .unpaced_gb_per_s = unpaced_rate,
                   .by_memory = nccl.is_by_memory()});
  return all;
}

void CudaGpu::warm_up(double seconds) {
  if (seconds <= 0) return;
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t side = state_->options.warm_up_side;
  const bool multiplies = state_->options.libraries.products != nullptr;
  const Work work = multiplies ? gemm_work(side, side, side) : norm_work(side, side);
  while (std::chrono::steady_clock::now() < until) (void)work_us(work, 20);
}

std::vector<double> CudaGpu::held(std::string_view behind, bool same_queue, int samples) {
  State& s = *state_;
  std::vector<cuda::StreamHandle> streams;
  for (int i = 0; i < connections() + 3; ++i) streams.push_back(cuda::make_stream(0));
  cudaStream_t first = streams[0].get();
  cudaStream_t second = streams[1].get();
  cudaStream_t victim = streams[same_queue ? static_cast<std::size_t>(connections()) + 1 : 2].get();
  const cuda::DeviceBytes memory = make_filled_bytes(64, s.stream.get());
  s.synchronize();
  auto* const stamps = reinterpret_cast<unsigned long long*>(memory.get());
  const cuda::EventHandle event = cuda::make_event();
  const auto long_ns = static_cast<unsigned long long>(s.options.probe_us * 1e3);
  std::vector<double> fractions;
  for (int i = -1; i < samples; ++i) {
    launch_probe(stamps, long_ns, first);
    if (behind == "kernel" || behind == "record") launch_probe(stamps + 4, long_ns, second);
    if (behind == "kernel") launch_probe(nullptr, 0, second);
    if (behind == "record") check(cudaEventRecord(event.get(), second));
    if (behind == "wait") {
      check(cudaEventRecord(event.get(), first));
      check(cudaStreamWaitEvent(second, event.get(), 0));
      launch_probe(nullptr, 0, second);
    }
    launch_probe(stamps + 2, 0, victim);
    for (const cuda::StreamHandle& stream : streams) check(cudaStreamSynchronize(stream.get()));
    std::array<unsigned long long, 4> seen{};
    check(cudaMemcpy(seen.data(), stamps, sizeof seen, cudaMemcpyDeviceToHost));
    const auto since = [&](unsigned long long moment) {
      return static_cast<double>(static_cast<long long>(moment - seen[0]));
    };
    if (i >= 0) fractions.push_back(std::clamp(since(seen[2]) / std::max(since(seen[1]), 1.0), -0.5, 1.5));
  }
  return fractions;
}

std::vector<std::pair<std::string, std::string>> CudaGpu::machine() const {
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  const auto version = [](int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); };
  return {{"gpu", state_->properties.name},
          {"cuda_of_driver", version(driver)},
          {"cuda_runtime", version(runtime)},
          {"sms", std::to_string(state_->properties.multiProcessorCount)}};
}

}  // namespace underlap::bench
