// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/rules/tensor_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/schema/paths.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {
namespace {

bool is_of_userbuffers(TensorMethod method) { return method != TensorMethod::nccl && method != TensorMethod::waited; }

/// One slot: what was asked for beside what is in effect.
class SlotCheck {
 public:
  SlotCheck(Resolution& resolution, const TensorConfig& config, std::size_t i)
      : r_(resolution),
        path_(kTensorSlotPaths[i]),
        request_(config.slots[i]),
        overlap_(resolution.config().tensor_overlap.slots[i]) {}

  void check() const {
    check_splits();
    check_aggregate();
    check_fp8_buf();
    check_num_sm();
    check_cga_size();
  }

 private:
  /// The field as it was written; null where it was not, or in a preset.
  const Entry* written(std::string_view field) const {
    return r_.settings.given(path_) ? find_entry(*r_.settings[path_].node, field) : nullptr;
  }

  void notice(std::string message) const { r_.notice({path_, kTensorOverlapConfig}, std::move(message)); }

  void check_splits() const {
    const Entry* entry = written("num_splits");
    const std::int64_t features = r_.config().model.hidden_size;
    if (overlap_.method != TensorMethod::pipeline) {
      if (entry != nullptr && request_.num_splits)
        r_.plan.notices.push_back(
            {r_.problems.text(entry->value->place), fmt::format("{}.num_splits has no effect: {} is not cut in splits",
                                                                path_, kTensorMethodNames[overlap_.method])});
    } else if (features > 0 && features % overlap_.num_splits != 0) {
      r_.problems.add(
          entry != nullptr ? entry->value->place : r_.place_of({path_, kTensorOverlapConfig, "model.hidden_size"}),
          fmt::format("{}.num_splits is {}, which does not divide the {} output features of the GEMM "
                      "(model.hidden_size); set it to a divisor",
                      path_, overlap_.num_splits, features));
    }
  }

  void check_aggregate() const {
    if (request_.aggregate.value_or(false) && !overlap_.aggregate)
      notice(fmt::format("{}.aggregate has no effect: only a ring that gathers moves parts in pairs", path_));
  }

  void check_fp8_buf() const {
    if (request_.fp8_buf_is_tuple && overlap_.fp8_buf)
      notice(
          fmt::format("{}.fp8_buf is left at the default of PipelineOverlapCfg, the tuple (False,), which counts as "
                      "true: what is reduced travels as fp8",
                      path_));
  }

  void check_num_sm() const {
    const bool is_copied =
        overlap_.method == TensorMethod::ring_exchange && r_.config().extensions.tp_ring_transport == "copy_engine";
    if (is_copied && !overlap_.set_sm_margin && written("num_sm") != nullptr && request_.num_sm.value_or(1) != 1)
      notice(
          fmt::format("{}.num_sm has no effect: copy engines move the parts of a ring, and set_sm_margin, which "
                      "would leave multiprocessors free, is false",
                      path_));
  }

  void check_cga_size() const {
    if (overlap_.method == TensorMethod::ring_exchange && written("cga_size") != nullptr &&
        request_.cga_size.value_or(1) != 1)
      notice(
          fmt::format("{}.cga_size has no effect: the hops of a ring are copies, or sends and receives that NCCL "
                      "lays out",
                      path_));
  }

  Resolution& r_;
  std::string_view path_;
  const TensorSlotRequest& request_;
  const TensorSlotOverlap& overlap_;
};

/// Why no kernel of a collective runs in clusters; empty where NCCL is asked for them.
std::string why_no_clusters(const Config& c) {
  if (!c.run.traits().runs_on_gpus)
    return fmt::format("run.backend is {}, and clusters are of NCCL's kernels (cuda)", to_string(c.run.backend));
  if (c.run.link) return "run.link emulates a link, whose kernels have none";
  if (architecture_of(c.environment.gpu_arch) < 90)
    return fmt::format("{} has no thread-block clusters", c.environment.gpu_arch);
  return "";
}

/// One notice stands for every slot that asks and whose collective runs beside a GEMM. A preset is not a person.
void tell_of_cga_size(Resolution& r, const TensorConfig& config) {
  const std::string why = why_no_clusters(r.config());
  if (why.empty() || !r.has_backend()) return;
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    const TensorSlotOverlap& overlap = r.config().tensor_overlap.slots[i];
    const bool is_collective = overlap.method == TensorMethod::bulk || overlap.method == TensorMethod::pipeline;
    const bool is_written = r.settings.given(kTensorSlotPaths[i]) && config.slots[i].cga_size;
    if (is_written && overlap.cga_size > 1 && is_collective)
      return r.notice({kTensorSlotPaths[i], kTensorOverlapConfig}, "cga_size has no effect: " + why);
  }
}

}  // namespace

void check_tensor_slots(Resolution& r, const TensorConfig& config) {
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) SlotCheck(r, config, i).check();
  tell_of_cga_size(r, config);
}

void check_tensor_nodes(Resolution& r, std::int64_t gpus_per_node) {
  constexpr std::string_view kNode = "run.gpus_per_node";
  const ParallelConfig& p = r.config().parallel;
  const std::int64_t tp = p.tensor_model_parallel_size;
  const std::int64_t groups =
      std::int64_t{p.pipeline_model_parallel_size} * p.context_parallel_size * p.data_parallel_size;
  if (gpus_per_node < 1 || tp < 2) return;
  // The ranks of a group are consecutive. Where the first ones of all groups begin repeats after gpus_per_node groups.
  bool crosses = false;
  for (std::int64_t group = 0; group < std::min(groups, gpus_per_node); ++group)
    crosses |= group * tp / gpus_per_node != ((group + 1) * tp - 1) / gpus_per_node;
  if (!crosses) return;
  const auto& slots = r.config().tensor_overlap.slots;
  if (std::any_of(slots.begin(), slots.end(), [](const auto& slot) { return is_of_userbuffers(slot.method); }))
    r.error({kNode, kTp}, fmt::format("{} is {}, and its groups cross nodes of {} GPUs: userbuffers need the ranks of "
                                      "a group in one NVLink domain; lower it, or leave tp_comm_overlap out",
                                      kTp, tp, gpus_per_node));
  else
    r.notice({kNode, kTp}, fmt::format("{} is {}, and its groups cross nodes of {} GPUs: every collective of a layer "
                                       "goes over the network",
                                       kTp, tp, gpus_per_node));
}

}  // namespace underlap::plan
