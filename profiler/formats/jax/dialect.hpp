// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/formats/kineto/dialect.hpp"

namespace underlap::formats::jax {

/// The traces of JAX and of XLA's profiler, `plugins/profile/TIME/HOST.trace.json.gz`: a process for each device, which
/// is a rank, with a thread for each stream; and the host's process. Their metadata comes before all other events.
class Dialect : public KinetoDialect {
 public:
  std::string_view format() const override { return "jax"; }
  std::string_view advice() const override {
    return "give the HOST.trace.json.gz that jax.profiler.stop_trace() wrote below plugins/profile";
  }
  void interpret(KinetoSlice&, const KinetoForeign&, const KinetoParts&) override;
  void finish(KinetoParts&, KinetoHeader&) override;
  std::string refusal(const Trace&) const override;

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
  /// Work of an instruction.
  struct Work {
    std::int32_t device;
    std::uint32_t slice;
    std::int64_t correlation;
    NameId instruction;
  };

  const Lane& lane_of(const KinetoSlice&, const KinetoParts&);
  void interpret_work(KinetoSlice&, const KinetoForeign&, std::int32_t device, const KinetoParts&);
  void interpret_host(KinetoSlice&, const KinetoForeign&);
  void add_collectives(KinetoParts&);

  std::map<KinetoLane, Lane> lanes_;
  std::map<KinetoId, std::int32_t> devices_;  ///< with work, by process
  std::vector<Step> steps_;                   ///< of the host, which drives all devices
  std::vector<Work> work_;
  bool has_tpu_ = false;
  bool has_host_executor_ = false;
};

}  // namespace underlap::formats::jax
