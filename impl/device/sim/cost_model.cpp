// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "impl/device/sim/transfer_model.hpp"

namespace underlap::sim {
namespace {

constexpr std::int64_t kSmallestTileSide = 32;
constexpr std::int64_t kAttentionBlockRows = 128;  // of one block in FlashAttention's kernels

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double bytes_of(const Cost& cost) { return static_cast<double>(cost.bytes_read + cost.bytes_written); }

double hbm_ns(const Hardware& hardware, double bytes) {
  return bytes / (hardware.gpu.hbm_gb_per_s.value * hardware.kernels.memory.curve(bytes));
}

double overhead_ns(const Hardware& hardware) { return hardware.gpu.kernel_overhead_us.value * 1000; }

double gemm_overhead_ns(const Hardware& hardware) {
  const auto& overhead = hardware.kernels.gemm_overhead_us;
  return overhead ? overhead->value * 1000 : overhead_ns(hardware);
}

double clock_of(const Hardware& hardware) {
  return hardware.gpu.sustained_clock ? hardware.gpu.sustained_clock->value : 1;
}

int sms_of(const Hardware& hardware) { return static_cast<int>(hardware.gpu.sms.value); }

// The SMs that a margin leaves; `what` is the margin's name for the error.
int sms_left(const Hardware& hardware, std::string_view what, int margin) {
  const int all = sms_of(hardware);
  if (margin >= 0 && margin < all) return all - margin;
  throw std::invalid_argument(
      fmt::format("{} is {}, must be from 0 to {}: {} has {} SMs", what, margin, all - 1, hardware.name, all));
}

// An operation may want fewer SMs than the device has, or leave some of them free.
int sms_for(const Hardware& hardware, const Cost& cost) {
  const int sms = sms_left(hardware, "sm_margin", cost.sm_margin);
  return cost.sms > 0 ? std::min(cost.sms, sms) : sms;
}

// Time to move the bytes at the device's bandwidth, which a few SMs saturate; with fewer SMs it is proportionally
// slower.
KernelTime memory_bound(const Hardware& hardware, const Cost& cost) {
  const int saturation = static_cast<int>(hardware.gpu.memory_saturation_sms.value);
  const int sms = std::min(sms_for(hardware, cost), saturation);
  const double bytes = bytes_of(cost);
  return {.kind = KernelTime::Kind::elastic,
          .alone_ns = overhead_ns(hardware) + hbm_ns(hardware, bytes) * (static_cast<double>(saturation) / sms),
          .fixed_ns = overhead_ns(hardware),
          .tiles = 0,
          .sms = sms,
          .hbm_bytes = bytes};
}

// One block for each multiprocessor. Kernels whose rows fit one block are launched normally, and excess blocks run
// after the others. Longer rows are split among blocks that wait for each other, which need a cooperative launch: all
// at once or not at all.
// Source: Transformer Engine, normalization/rmsnorm/rmsnorm_{fwd,bwd}_*_cuda_kernel.cu: one CTA a row up to 8192
// columns, above that cudaLaunchCooperativeKernel.
KernelTime persistent_norm(const Hardware& hardware, const Cost& cost, int margin) {
  constexpr std::int64_t kColumnsOfBlock = 8192;
  const int sms = sms_left(hardware, "layernorm_sm_margin", margin);
  Cost limited = cost;
  limited.sms = sms;
  KernelTime time = memory_bound(hardware, limited);
  const bool is_one_block_a_row = cost.extent[1] > 0 && cost.extent[1] <= kColumnsOfBlock;
  time.kind = is_one_block_a_row ? KernelTime::Kind::waves : KernelTime::Kind::persistent;
  time.tiles = sms;
  time.sms = sms;
  return time;
}

struct Tiles {
  std::int64_t rows, cols, count;
};

// If whole tiles leave SMs without work, libraries use smaller tiles. Fails when a library splits K over blocks
// instead: the time is then too long.
Tiles tiles_of(const Hardware& hardware, std::int64_t m, std::int64_t n, int sms) {
  std::int64_t rows = static_cast<std::int64_t>(hardware.kernels.gemm_tile_rows.value);
  std::int64_t cols = static_cast<std::int64_t>(hardware.kernels.gemm_tile_cols.value);
  const auto count = [&] { return ceil_divide(m, rows) * ceil_divide(n, cols); };
  while (count() < sms && std::max(rows, cols) >= 2 * kSmallestTileSide) (rows >= cols ? rows : cols) /= 2;
  return {rows, cols, count()};
}

struct GemmPeak {
  double flops_per_ns;  // of the device
  const Curve& efficiency;
};

double bf16_flops_per_ns(const Hardware& hardware) {
  return hardware.gpu.bf16_tflops.value * 1000 * clock_of(hardware);
}

GemmPeak peak_of(const Hardware& hardware, Precision precision) {
  if (precision == Precision::bf16) return {bf16_flops_per_ns(hardware), hardware.kernels.gemm_bf16.curve};
  if (!hardware.gpu.fp8_tflops || !hardware.kernels.gemm_fp8)
    throw std::invalid_argument(fmt::format("{} has no fp8 GEMM", hardware.name));
  return {hardware.gpu.fp8_tflops->value * 1000 * clock_of(hardware), hardware.kernels.gemm_fp8->curve};
}

KernelTime gemm(const Hardware& hardware, const Cost& cost) {
  const auto [m, n, k] = cost.extent;
  const int sms = sms_for(hardware, cost);
  const GemmPeak peak = peak_of(hardware, cost.precision);
  const Tiles tiles = tiles_of(hardware, m, n, sms);
  const double sm_flops_per_ns = peak.flops_per_ns / sms_of(hardware) * peak.efficiency(static_cast<double>(k));
  const double tile_ns = 2.0 * static_cast<double>(tiles.rows) * static_cast<double>(tiles.cols) *
                         static_cast<double>(k) / sm_flops_per_ns;
  const double compute_ns = static_cast<double>(ceil_divide(tiles.count, sms)) * tile_ns;
  const double fixed_ns = gemm_overhead_ns(hardware);
  KernelTime of_memory = memory_bound(hardware, cost);
  of_memory.alone_ns += fixed_ns - of_memory.fixed_ns;
  of_memory.fixed_ns = fixed_ns;
  if (fixed_ns + compute_ns < of_memory.alone_ns) return of_memory;
  return {.kind = KernelTime::Kind::waves,
          .alone_ns = fixed_ns + compute_ns,
          .fixed_ns = fixed_ns,
          .tiles = tiles.count,
          .sms = sms,
          .hbm_bytes = bytes_of(cost)};
}

// Efficiency is interpolated between the curves of two head sizes; outside, the nearest curve applies.
double attention_efficiency(const std::vector<AttentionCurve>& curves, double sequence, double head_size) {
  std::vector<Curve::Point> at_sequence;
  for (const AttentionCurve& curve : curves)
    at_sequence.push_back({static_cast<double>(curve.head_size), curve.over_sequence.curve(sequence)});
  return Curve(std::move(at_sequence))(head_size);
}

// The length of the causal sequence whose rows attend on average to as many positions as those of `cost`: the loop of a
// block then has the same length. A tile without a diagonal is as efficient as a causal sequence of twice its length,
// and slightly more by FlashAttention's published figures (Dao 2023, Shah et al. 2024).
double causal_length(const Cost& cost) {
  const auto [rows, head_size, sequences_times_heads] = cost.extent;
  const double products = cost.work == Work::attention_forward ? 2 : 5;
  const double pairs = cost.flops / (2 * products * static_cast<double>(head_size));
  return 2 * pairs / (static_cast<double>(rows) * static_cast<double>(sequences_times_heads)) - 1;
}

KernelTime attention(const Hardware& hardware, const Cost& cost) {
  const auto [rows, head_size, sequences_times_heads] = cost.extent;
  const auto& curves =
      cost.work == Work::attention_forward ? hardware.kernels.attention_forward : hardware.kernels.attention_backward;
  const int sms = sms_for(hardware, cost);
  // The curves were measured with more blocks than SMs; with fewer blocks, some SMs have no work.
  const std::int64_t blocks = ceil_divide(rows, kAttentionBlockRows) * sequences_times_heads;
  const int busy = static_cast<int>(std::clamp<std::int64_t>(blocks, 1, sms));
  const double efficiency = attention_efficiency(curves, causal_length(cost), static_cast<double>(head_size));
  const double peak = bf16_flops_per_ns(hardware) * (static_cast<double>(busy) / sms_of(hardware));
  const double compute_ns = cost.flops / (peak * efficiency);
  return {.kind = KernelTime::Kind::elastic,
          .alone_ns = overhead_ns(hardware) + std::max(compute_ns, hbm_ns(hardware, bytes_of(cost))),
          .fixed_ns = overhead_ns(hardware),
          .tiles = 0,
          .sms = busy,
          .hbm_bytes = bytes_of(cost)};
}

void check_extent(const Cost& cost) {
  const auto& extent = cost.extent;
  if (std::any_of(extent.begin(), extent.end(), [](std::int64_t e) { return e < 1; }))
    throw std::invalid_argument(
        fmt::format("the cost of this work needs positive sizes, not {} x {} x {}", extent[0], extent[1], extent[2]));
}

}  // namespace

CostModel::CostModel(Hardware hardware, Placement placement, int layernorm_sm_margin)
    : hardware_(std::move(hardware)),
      gpus_per_node_(placement.gpus_per_node),
      layernorm_sm_margin_(layernorm_sm_margin) {
  const auto most = static_cast<std::int32_t>(hardware_.node.gpus.value);
  if (gpus_per_node_ == 0) gpus_per_node_ = most;
  if (gpus_per_node_ < 1 || gpus_per_node_ > most)
    throw std::invalid_argument(
        fmt::format("{} GPUs per node, but nodes of {} have 1 to {}", placement.gpus_per_node, hardware_.name, most));
}

KernelTime CostModel::kernel(const Cost& cost) const {
  switch (cost.work) {
    case Work::memory: return memory_bound(hardware_, cost);
    case Work::norm: return persistent_norm(hardware_, cost, layernorm_sm_margin_);
    case Work::gemm: check_extent(cost); return gemm(hardware_, cost);
    case Work::attention_forward:
    case Work::attention_backward: check_extent(cost); return attention(hardware_, cost);
  }
  return {};
}

KernelTime CostModel::copy(std::int64_t bytes) const {
  return {.kind = KernelTime::Kind::copy,
          .alone_ns = overhead_ns(hardware_) + static_cast<double>(bytes) / hardware_.gpu.host_link_gb_per_s.value,
          .fixed_ns = overhead_ns(hardware_),
          .tiles = 0,
          .sms = 0,
          .hbm_bytes = static_cast<double>(bytes)};
}

TransferTime CostModel::transfers(std::span<const TransferShape> call, std::span<const std::int32_t> members,
                                  std::int32_t my_index, const CommunicatorHints& hints) const {
  return time_of_call(hardware_, gpus_per_node_, {call, members, my_index, hints});
}

TransferTime CostModel::transfers(std::span<const TransferShape> call, std::span<const std::int32_t> members,
                                  const CommunicatorHints& hints) const {
  const bool receives = call.size() == 1 && call[0].collective == Collective::receive;
  return transfers(call, members, receives ? 1 : 0, hints);
}

HostCosts CostModel::host() const {
  const HostFigures& host = hardware_.host;
  const auto ns = [](const Figure& us) { return whole_ns(us.value * 1000); };
  const auto optional_ns = [&](const std::optional<Figure>& us) { return us ? ns(*us) : 0; };
  return {.launch_ns = ns(host.kernel_launch_us),
          .communicate_ns = ns(host.collective_launch_us),
          .copy_ns = ns(host.copy_launch_us),
          .event_ns = ns(host.event_record_us) + ns(host.event_wait_us),
          .start_ns = 0,
          .queue_depth = static_cast<std::int64_t>(host.launch_queue_depth.value),
          .pass_ns = optional_ns(host.schedule_call_us),
          .iteration_ns = optional_ns(host.iteration_us),
          .synchronize_ns = optional_ns(host.synchronize_us),
          .synchronizes = host.synchronize_us.has_value()};
}

DeviceLimits CostModel::limits() const {
  return {.sms = sms_of(hardware_),
          .copy_engines = static_cast<int>(hardware_.gpu.copy_engines.value),
          .hbm_bytes_per_ns = hardware_.gpu.hbm_gb_per_s.value,
          .nvlink_bytes_per_ns = hardware_.node.nvlink_gb_per_s.value,
          .network_bytes_per_ns = hardware_.node.network_gb_per_s.value};
}

}  // namespace underlap::sim
