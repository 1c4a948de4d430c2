// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/config.hpp"
#include "impl/tp/technique.hpp"
#include "kernels/gemm/gemm.hpp"
#include "tests/impl/virtual_time.hpp"

namespace underlap::tp {

enum class SlotKind : std::uint8_t {
  gather,          ///< all-gather, then GEMM
  scatter,         ///< GEMM, then reduce-scatter
  reduce,          ///< GEMM, then all-reduce
  gather_beside,   ///< all-gather beside a GEMM that does not need it
  scatter_beside,  ///< reduce-scatter likewise
  reduce_beside,   ///< all-reduce likewise
  drain,           ///< weight gradients that were put off, of three microbatches
};

/// The least sizes of a slot whose parts, or four splits, travel as fp8.
inline constexpr std::int64_t kFp8Tokens = 8, kFp8Features = 32, kFp8Others = 16;

/// One slot of a layer on a group of ranks, with something before and after it. Durations in nanoseconds, each alone;
/// gemm_ns and collective_ns are those of one microbatch.
struct SlotCase {
  SlotKind kind = SlotKind::gather;
  plan::TensorSlotOverlap overlap;
  std::int32_t num_ranks = 4;
  std::int64_t tokens_of_part = 2;  ///< of each rank's rows
  std::int64_t features = 8;        ///< of what is gathered or reduced
  std::int64_t others = 8;          ///< of the weight's other side
  bool copy_engine = false;         ///< carries the hops of rings
  std::int64_t gemm_ns = 0;         ///< of the whole, a multiple of wave_ns; of a part its share, in whole waves
  std::int64_t wave_ns = 0;         ///< 0: a rank's part of the GEMM is one wave
  std::int64_t hop_ns = 0;          ///< of one rank's part between two ranks
  std::int64_t collective_ns = 0;   ///< of the whole, by NCCL; parts take their share
  std::int64_t copy_ns = 0;         ///< of one rank's part
  std::int64_t sum_ns = 0;          ///< of the partial results for one rank
  std::int64_t cast_ns = 0;         ///< of one rank's part; with fp8_buf, where what moves takes half its time
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
  std::int32_t connections = 0;

  std::int64_t tokens() const { return tokens_of_part * num_ranks; }
  /// Rows that a rank holds between layers.
  std::int64_t tokens_here() const {
    return kind == SlotKind::reduce || kind == SlotKind::reduce_beside ? tokens() : tokens_of_part;
  }
  std::int64_t part_bytes() const { return tokens_of_part * features * 2; }
  std::int64_t gemm_wave_ns() const { return wave_ns > 0 ? wave_ns : gemm_ns / num_ranks; }
};

/// The times of a SlotCase on a device of 100 multiprocessors. Nothing but these is shared out.
class SlotTimes final : public testing_support::UnsharedTimes {
 public:
  static constexpr int kOwn = 1;  ///< marks an operation around the slot, whose flops are its nanoseconds

  explicit SlotTimes(const SlotCase& c) : case_(c) {}

  sim::KernelTime kernel(const Cost& cost) const override {
    using Kind = sim::KernelTime::Kind;
    if (cost.work == Work::gemm) return gemm(cost);
    if (cost.sms == kOwn) return {.kind = Kind::persistent, .alone_ns = cost.flops, .sms = 1};
    if (is_of_scales(cost.bytes_written)) return {.kind = Kind::copy};
    const auto written = static_cast<double>(cost.bytes_written);
    if (case_.overlap.fp8_buf && cost.flops == written)  // a cast works once for each byte, a sum more
      return {.kind = Kind::copy, .alone_ns = 2 * parts(cost.bytes_written) * static_cast<double>(case_.cast_ns)};
    const bool is_sum = cost.bytes_read > cost.bytes_written;
    const std::int64_t ns_of_part = is_sum ? case_.sum_ns : case_.copy_ns;
    return {.kind = Kind::copy, .alone_ns = parts(cost.bytes_written) * static_cast<double>(ns_of_part)};
  }
  sim::TransferTime transfers(std::span<const sim::TransferShape> group, std::span<const std::int32_t>,
                              const CommunicatorHints& hints) const override {
    sim::TransferTime time{.sms = hints.copy_engine ? 0 : hints.sms};
    for (const sim::TransferShape& shape : group) {
      if (is_of_scales(shape.bytes)) continue;
      const bool is_message = shape.collective == Collective::send || shape.collective == Collective::receive;
      time.alone_ns += is_message ? parts(shape.bytes) * static_cast<double>(case_.hop_ns)
                                  : parts(shape.bytes) * static_cast<double>(case_.collective_ns) / case_.num_ranks;
    }
    return time;
  }

 private:
  // One for each rank at most.
  bool is_of_scales(std::int64_t bytes) const { return case_.overlap.fp8_buf && bytes <= 4 * case_.num_ranks; }
  double parts(std::int64_t bytes) const {
    return static_cast<double>(bytes) / static_cast<double>(case_.part_bytes());
  }

  sim::KernelTime gemm(const Cost& cost) const {
    const double whole = case_.tokens() * case_.features * case_.others;
    const double share = static_cast<double>(cost.extent[0] * cost.extent[1] * cost.extent[2]) / whole;
    const auto tiles = static_cast<std::int64_t>(share * kSms * (case_.gemm_ns / case_.gemm_wave_ns()) + 0.5);
    const int sms = kSms - cost.sm_margin;
    return {.kind = sim::KernelTime::Kind::waves,
            .alone_ns = static_cast<double>((tiles + sms - 1) / sms * case_.gemm_wave_ns()),
            .tiles = tiles,
            .sms = sms};
  }

  const SlotCase& case_;
};

/// Records and plays a SlotCase.
class VirtualSlot {
 public:
  explicit VirtualSlot(const SlotCase& c) : case_(c) {}

  /// The programs of `num_data` tensor-parallel groups, tensor-parallel ranks next to each other. With more than one
  /// the members of a data-parallel group reduce what they computed, so that they count as equals.
  std::vector<Program> record(std::int32_t num_steps, std::int32_t num_data = 1) const {
    std::vector<Program> programs;
    for (std::int32_t rank = 0; rank < num_data * case_.num_ranks; ++rank)
      programs.push_back(record_rank(rank, num_steps, num_data));
    return programs;
  }

  /// Two steps, the first of which settles, with durations of `times`.
  Trace play(const sim::TimeModel& times) const { return testing_support::play(record(2), times, case_.connections); }
  Trace play() const { return play(SlotTimes(case_)); }

 private:
  /// One rank and what its layer works on. T tokens, n ranks.
  struct Rank {
    RecordingDevice device;
    std::unique_ptr<Communicators> communicators;
    Communicator data;
    View shard;   // [T/n, F]: of the sequence, or where it is not cut [T, F]; F are the features, N the others
    View full;    // [T, N]: the GEMM's output, or its input where that is reduced
    View weight;  // [N, F], or [F, N] where the output is reduced
    View input;   // [T, F]: of a GEMM beside a collective
    View scale;   // [1, 1] f32: of the operands of an fp8 GEMM
    std::vector<View> made, used;
  };

  static View allocate(Rank& rank, const char* name, std::int64_t rows, std::int64_t cols,
                       DataType dtype = DataType::bf16) {
    return allocate_matrix(rank.device, name, dtype, rows, cols);
  }
  DataType operand_type() const { return case_.overlap.fp8_buf ? DataType::f8e4m3 : DataType::bf16; }

  Program record_rank(std::int32_t index, std::int32_t num_steps, std::int32_t num_data) const {
    Rank rank;
    const std::int32_t n = case_.num_ranks;
    const Group tensor = testing_support::group_of(n, index % n, index / n * n, 1);
    const Stream compute = rank.device.create_stream("compute");
    if (num_data > 1)
      rank.data = rank.device.declare("dp", testing_support::group_of(num_data, index / n, index % n, n));
    plan::Config config;
    if (case_.copy_engine) config.extensions.tp_ring_transport = "copy_engine";
    rank.communicators = std::make_unique<Communicators>(rank.device, tensor, compute, config);
    const bool makes_features = case_.kind == SlotKind::scatter || case_.kind == SlotKind::reduce;
    rank.shard = allocate(rank, "shard", case_.tokens_here(), case_.features);
    rank.full = allocate(rank, "full", case_.tokens(), case_.others, makes_features ? operand_type() : DataType::bf16);
    rank.weight = makes_features ? allocate(rank, "weight", case_.features, case_.others, operand_type())
                                 : allocate(rank, "weight", case_.others, case_.features);
    rank.input = allocate(rank, "input", case_.tokens(), case_.features);
    if (case_.overlap.fp8_buf) rank.scale = allocate(rank, "scale", 1, 1, DataType::f32);
    const auto run = make_run(rank);
    around(rank, "weights", 0, -1, {{rank.weight, Access::out}});
    if (case_.overlap.fp8_buf) around(rank, "scale", 0, -1, {{rank.scale, Access::out}});
    for (std::int32_t step = 0; step < num_steps; ++step) record_step(rank, run, step, num_data > 1);
    return rank.device.take_program();
  }

  void record_step(Rank& rank, const std::function<void(const Tag&)>& run, std::int32_t step, bool reduces) const {
    for (const View& view : rank.made) around(rank, "before", case_.before_ns, step, {{view, Access::out}});
    run({.direction = Direction::forward, .purpose = intern("gemm"), .layer = 0, .step = step});
    for (const View& view : rank.used) {
      around(rank, "after", case_.after_ns, step, {{view, Access::in}});
      if (reduces) reduce(rank, view, step);
    }
    rank.device.mark(rank.communicators->compute(), 0, step);
  }

  // Over data-parallel ranks.
  static void reduce(Rank& rank, const View& view, std::int32_t step) {
    const View whole = flat(view.tensor, view.offset, view.elements());
    testing_support::reduce_over(rank.data, rank.device, rank.communicators->compute(), {whole}, step);
  }

  static void around(Rank& rank, const char* purpose, std::int64_t ns, std::int32_t step,
                     std::initializer_list<Use> uses) {
    const Cost cost{.flops = static_cast<double>(ns), .sms = SlotTimes::kOwn};
    rank.device.launch(rank.communicators->compute(), {.purpose = intern(purpose), .step = step},
                       Operation(intern(purpose), nothing, cost, uses));
  }
  static void nothing(const Arguments&) {}

  static Collective collective_of(SlotKind kind) {
    switch (kind) {
      case SlotKind::scatter:
      case SlotKind::scatter_beside: return Collective::reduce_scatter;
      case SlotKind::reduce:
      case SlotKind::reduce_beside: return Collective::all_reduce;
      default: return Collective::all_gather;
    }
  }

  /// What enqueues the slot. Says in rank.made what it needs before, and in rank.used what is there after it.
  std::function<void(const Tag&)> make_run(Rank& rank) const {
    const Context context{.communicators = rank.communicators.get(),
                          .slot = "slot",
                          .overlap = case_.overlap,
                          .tokens = case_.tokens(),
                          .features = case_.features,
                          .dtype = operand_type(),
                          .collective = collective_of(case_.kind)};
    switch (case_.kind) {
      case SlotKind::gather: {
        const std::shared_ptr technique = GatherGemms::make(case_.overlap, context);
        rank.made = {rank.shard};
        rank.used = {rank.full, technique->gathered()};
        return [&rank, technique, context](const Tag& tag) {
          technique->run(gemm_of(rank, tag, context), rank.shard, rank.full);
        };
      }
      case SlotKind::scatter:
      case SlotKind::reduce: {
        const std::shared_ptr technique = GemmScatters::make(case_.overlap, context);
        rank.made = {rank.full};
        rank.used = {rank.shard};
        return [&rank, technique, context](const Tag& tag) {
          technique->run(gemm_of(rank, tag, context), rank.full, rank.shard);
        };
      }
      case SlotKind::drain: return make_drain(rank, context);
      default: return make_beside(rank, context);
    }
  }

  static std::function<void(const Tag&)> make_drain(Rank& rank, const Context& context) {
    const std::shared_ptr drain = WgradDrains::make(context.overlap, context);
    const std::int64_t n = rank.weight.rows, f = rank.weight.cols;
    const View main_grad = matrix(rank.device.allocate("main_grad", DataType::f32, n * f), n, f);
    std::vector<DeferredWgrad> wgrads;
    rank.made = {main_grad};
    for (std::int32_t microbatch = 0; microbatch < 3; ++microbatch) {
      const View dy = allocate(rank, "dy", context.tokens, n), x = allocate(rank, "x", context.tokens_of_part(), f);
      wgrads.push_back({.tag = {.microbatch = microbatch}, .dy = dy, .x = x});
      rank.made.insert(rank.made.end(), {dy, x});
    }
    rank.used = {main_grad};
    return [drain, wgrads, main_grad](const Tag& tag) {
      std::vector<DeferredWgrad> of_step = wgrads;
      for (DeferredWgrad& wgrad : of_step) wgrad.tag.step = tag.step;
      drain->run(of_step, main_grad);
    };
  }

  static TokenGemm gemm_of(const Rank& rank, const Tag& tag, const Context& context) {
    return {.tag = tag,
            .weight = {rank.weight, rank.scale},
            .sm_margin = context.sm_margin(),
            .in_inverse_scale = rank.scale};
  }

  static std::function<void(const Tag&)> make_beside(Rank& rank, const Context& context) {
    const std::shared_ptr technique = CollectivesDuringGemm::make(context.overlap, context);
    const View collected = context.is_in_place() ? rank.shard : technique->full();
    rank.made = {rank.input, context.gathers() ? rank.shard : collected};
    rank.used = {rank.full, context.gathers() ? collected : rank.shard};
    return [&rank, technique, context](const Tag& tag) {
      technique->run(tag, rank.shard, [&](Stream stream) {
        rank.device.launch(stream, tag, gemm_of(rank, tag, context).rows(rank.input, rank.full));
      });
    };
  }

  const SlotCase& case_;
};

}  // namespace underlap::tp
