// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>  // ahead of the host's device code, whose macros have names of its members

#include "tests/cuda_host/machine.hpp"
#include "tests/profiler/collect/cupti/fake_cupti.hpp"

namespace underlap::cuda_host {

/// Reports what the simulated GPU does as CUPTI would: a launch and a kernel for each item that runs, tied to the
/// operation that was open when it was enqueued. One at a time watches the machine.
class SeenByCupti {
 public:
  /// What goes wrong with the records of a kernel.
  enum class Loss { none, record, tag, times };

  explicit SeenByCupti(cupti::FakeCupti& fake) : fake_(fake) {
    Machine::instance().watch = [this]() -> std::function<void(std::int64_t, std::int64_t)> {
      if (!is_on) return {};
      const std::uint64_t operation = fake_.operation();
      const std::uint32_t correlation = ++last_correlation_;
      const std::uint64_t launched = fake_.now();
      const Loss loss = operation != 0 ? std::exchange(next_loss_, Loss::none) : Loss::none;
      if (operation != 0 && every > 0 && last_correlation_ % every == 0) next_loss_ = loss_of_every;
      return [this, operation, correlation, launched, loss](std::int64_t start, std::int64_t end) {
        add(operation, correlation, launched, loss, start, end);
      };
    };
  }
  ~SeenByCupti() { Machine::instance().watch = {}; }
  SeenByCupti(const SeenByCupti&) = delete;
  SeenByCupti& operator=(const SeenByCupti&) = delete;

  /// Hands what ran so far to CUPTI's buffers.
  void hand_over() {
    for (const cupti::SyntheticBuffer& buffer : std::exchange(buffers_, {})) fake_.run(buffer);
  }
  void forget() { buffers_.clear(); }
  /// The next operation's first kernel has no record, or one that lacks its tag or its times.
  void lose_next(Loss loss = Loss::record) { next_loss_ = loss; }

  bool is_on = true;                ///< whether what is enqueued is recorded
  std::uint32_t every = 0;          ///< above 0: after each so many kernels the next suffers...
  Loss loss_of_every = Loss::none;  ///< ... this

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;  // well below that of the collector's

  void add(std::uint64_t operation, std::uint32_t correlation, std::uint64_t launched, Loss loss, std::int64_t start,
           std::int64_t end) {
    if (buffers_.empty() || buffers_.back().bytes().size() > kBufferBytes) buffers_.emplace_back();
    cupti::SyntheticBuffer& buffer = buffers_.back();
    if (operation != 0 && loss != Loss::tag) buffer.add(cupti::synthetic_external(correlation, operation));
    buffer.add(cupti::synthetic_call(correlation, launched));
    if (loss == Loss::record) return;
    const std::int64_t ahead = fake_.clock_is_ahead_ns;
    const bool has_times = loss != Loss::times;
    buffer.add(cupti::synthetic_kernel<>(correlation, has_times ? static_cast<std::uint64_t>(start + ahead) : 0,
                                         has_times ? static_cast<std::uint64_t>(end + ahead) + 1 : 0));
  }

  cupti::FakeCupti& fake_;
  std::vector<cupti::SyntheticBuffer> buffers_;
  Loss next_loss_ = Loss::none;
  std::uint32_t last_correlation_ = 0;
};

}  // namespace underlap::cuda_host
