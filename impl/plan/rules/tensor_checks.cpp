// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/rules/tensor_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/schema/paths.hpp"
#include "impl/plan/slots/slot_fields.hpp"

namespace underlap::plan {
namespace {

/// The reason why collectives' kernels do not run in clusters; empty if NCCL is asked for clusters.
std::string why_no_clusters(const Config& c) {
  if (!c.run.traits().runs_on_gpus)
    return fmt::format("run.backend is {}, and only NCCL's kernels have clusters (cuda)", to_string(c.run.backend));
  if (c.run.link) return "run.link emulates a link, whose kernels have no clusters";
  if (architecture_of(c.environment.gpu_arch) < 90)
    return fmt::format("{} has no thread-block clusters", c.environment.gpu_arch);
  return "";
}

/// One notice covers all slots that request clusters and whose collective runs during a GEMM. Presets get no notice.
void warn_cga_size(Resolution& r, const TensorConfig& config) {
  const std::string why = why_no_clusters(r.config());
  if (why.empty() || !r.has_backend()) return;
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    const TensorSlotOverlap& overlap = r.config().tensor_overlap.slots[i];
    const bool is_collective = overlap.method == TensorMethod::bulk || overlap.method == TensorMethod::pipeline;
    const bool is_written = r.settings.given(kTensorSlotPaths[i]) && config.slots[i].contains("cga_size");
    if (is_written && overlap.cga_size > 1 && is_collective)
      return r.notice({kTensorSlotPaths[i], kTensorOverlapConfig}, "cga_size has no effect: " + why);
  }
}

}  // namespace

void SlotInEffect::notice(std::string_view what) const {
  r.notice({path, kTensorOverlapConfig}, fmt::format("{}{}", path, what));
}

void check_tensor_slots(Resolution& r, const TensorConfig& config) {
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    const SlotInEffect slot{r, kTensorSlotPaths[i], config.slots[i], r.config().tensor_overlap.slots[i]};
    for (const SlotField& field : slot_fields()) {
      if (field.check != nullptr) field.check(slot);
      const bool is_off = !field.no_effect.empty() && !is_true(read_field(field, slot.overlap));
      if (is_off && wants(slot.request, field.name))
        slot.notice(fmt::format(".{} has no effect: {}", field.name, field.no_effect));
    }
  }
  warn_cga_size(r, config);
}

void check_tensor_nodes(Resolution& r, std::int64_t gpus_per_node) {
  constexpr std::string_view kNode = "run.gpus_per_node";
  const ParallelConfig& p = r.config().parallel;
  const std::int64_t tp = p.tensor_model_parallel_size;
  const std::int64_t groups =
      std::int64_t{p.pipeline_model_parallel_size} * p.context_parallel_size * p.data_parallel_size;
  if (gpus_per_node < 1 || tp < 2) return;
  // The ranks of a group are consecutive. The position of a group in its node repeats after gpus_per_node groups.
  bool crosses = false;
  for (std::int64_t group = 0; group < std::min(groups, gpus_per_node); ++group)
    crosses |= group * tp / gpus_per_node != ((group + 1) * tp - 1) / gpus_per_node;
  if (!crosses) return;
  if (uses_userbuffers(r.config().tensor_overlap))
    r.error({kNode, kTp}, fmt::format("{} is {}, so its groups cross nodes of {} GPUs: userbuffers need the ranks of a "
                                      "group in one NVLink domain; lower it, or leave tp_comm_overlap out",
                                      kTp, tp, gpus_per_node));
  else
    r.notice({kNode, kTp},
             fmt::format("{} is {}, so its groups cross nodes of {} GPUs: every collective of a layer uses the network",
                         kTp, tp, gpus_per_node));
}

}  // namespace underlap::plan
