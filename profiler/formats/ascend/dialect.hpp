// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/formats/ascend/companions.hpp"
#include "profiler/formats/kineto/dialect.hpp"

namespace underlap::formats::ascend {

/// `trace_view.json` of torch_npu and `msprof_TIME.json` of msprof: an array of events without categories, in which
/// names of rows may come after the rows.
///
/// A transfer appears up to three times: as one row of its group, as the parts of each plane, and as the tasks that do
/// it on the device's streams. Only the first counts as work. The rows of "Overlap Analysis" are msprof's own result;
/// they are kept as ranges.
class Dialect : public KinetoDialect {
 public:
  explicit Dialect(Companions companions) : companions_(std::move(companions)) {}

  std::string_view format() const override { return "ascend"; }
  std::string_view advice() const override {
    return "give trace_view.json of torch_npu, or msprof_TIME.json of `msprof --export=on`";
  }
  void interpret(KinetoSlice&, const KinetoForeign&, const KinetoParts&) override;
  void finish(KinetoParts&, KinetoHeader&) override;
  std::string refusal(const Trace&) const override;

 private:
  /// Work of a device, by slice.
  struct Task {
    std::uint32_t slice;
    KinetoId process;
    std::int32_t stream;
    std::int64_t connection;
    bool computes;  ///< on a matrix unit, which no transfer uses
  };

  void interpret_task(KinetoSlice&, const KinetoForeign&, const KinetoParts&);
  void interpret_collective(KinetoSlice&, const KinetoForeign&);
  void promote_groups(KinetoParts&);
  void number_devices();
  std::int32_t device_of(const KinetoId& process) const;
  void place_tracks(KinetoParts&, KinetoHeader&) const;
  void leave_out_repeated_tasks(KinetoParts&) const;
  void take_tasks_as_communication(KinetoParts&) const;
  void name_groups(KinetoParts&, KinetoHeader&) const;

  Companions companions_;
  std::vector<Task> tasks_;
  std::set<KinetoId> hardware_;                                ///< processes of devices
  std::set<KinetoId> communication_;                           ///< processes with rows of groups
  std::map<KinetoId, std::int32_t> devices_;                   ///< of both, by process
  std::set<std::pair<KinetoId, std::int64_t>> collectives_;    ///< their processes and connections
  std::set<std::pair<KinetoId, std::int32_t>> plane_streams_;  ///< with their processes
};

}  // namespace underlap::formats::ascend
