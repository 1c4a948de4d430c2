// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "impl/plan/config.hpp"
#include "tests/impl/pp/virtual_pipeline.hpp"

namespace underlap::pp {

/// A technique of pipelines with its knobs.
struct TechniqueCase {
  std::string name;
  bool is_interleaved = false;
  plan::PipelineConfig pipeline;
  bool release_by_event = false;
  std::int32_t fewest_stages = 2;  ///< one group cannot tell apart what a peer sends from both sides
  std::int32_t num_tensor = 1;     ///< above 1: scatter_gather_tensors_in_pipeline
  std::optional<std::string> schedule = {};
  bool interleaves_one_chunk = false;

  PipelineCase of(std::int32_t num_stages, std::int32_t num_chunks, std::int64_t num_microbatches) const {
    return {.num_stages = num_stages,
            .num_chunks = num_chunks,
            .num_microbatches = num_microbatches,
            .pipeline = pipeline,
            .release_by_event = release_by_event,
            .interleaves_one_chunk = interleaves_one_chunk,
            .schedule = schedule,
            .num_tensor = num_tensor};
  }
  /// With two chunks where it has virtual stages.
  PipelineCase of(std::int32_t num_stages, std::int64_t num_microbatches) const {
    return of(num_stages, is_interleaved ? 2 : 1, num_microbatches);
  }
};

inline void PrintTo(const TechniqueCase& technique, std::ostream* out) { *out << technique.name; }

/// The schedules that run only where they are asked for, with each way to exchange that they take.
inline std::vector<TechniqueCase> asked_cases() {
  const TechniqueCase ways[] = {{"", false, {.batch_p2p_comm = false}},
                                {"_batched", false, {.batch_p2p_sync = false}},
                                {"_synchronized", false, {}},
                                {"_in_parts", false, {.batch_p2p_comm = false}, false, 2, 2}};
  std::vector<TechniqueCase> all;
  for (const plan::PipelineSchedule& schedule : plan::pipeline_schedules())
    for (TechniqueCase technique : ways)
      for (const bool is_interleaved : {false, true}) {
        technique.is_interleaved = is_interleaved;
        plan::Config config = technique.of(4, 4).config();
        if (plan::schedule_in_effect(config) == schedule.name || !schedule.refusal(config).empty()) continue;
        all.push_back(technique);
        all.back().name = std::string(schedule.name) + technique.name + (is_interleaved ? "_interleaved" : "");
        all.back().schedule = schedule.name;
        if (is_interleaved && technique.pipeline.batch_p2p_comm) all.back().fewest_stages = 3;
      }
  return all;
}

/// All techniques, with every knob that changes what they enqueue.
inline std::vector<TechniqueCase> technique_cases() {
  const plan::PipelineConfig unbatched{.batch_p2p_comm = false}, unsynchronized{.batch_p2p_sync = false}, batched;
  const plan::PipelineConfig overlap{.overlap_p2p_comm = true, .batch_p2p_comm = false};
  plan::PipelineConfig kept = overlap, flush = overlap, kept_flush = overlap;
  kept.deallocate_pipeline_outputs = kept_flush.deallocate_pipeline_outputs = false;
  flush.overlap_p2p_comm_warmup_flush = kept_flush.overlap_p2p_comm_warmup_flush = true;
  std::vector<TechniqueCase> all{{"Plain", false, unbatched},
                                 {"PlainBatched", false, unsynchronized},
                                 {"PlainSynchronized", false, batched},
                                 {"PlainOverlapped", false, overlap},
                                 {"Interleaved", true, unbatched},
                                 {"InterleavedBatched", true, unsynchronized, false, 3},
                                 {"InterleavedSynchronized", true, batched, false, 3},
                                 {"Overlapped", true, overlap},
                                 {"OverlappedKept", true, kept},
                                 {"OverlappedByEvent", true, overlap, true},
                                 {"OverlappedFlush", true, flush},
                                 {"OverlappedFlushKept", true, kept_flush},
                                 {"OverlappedFlushByEvent", true, flush, true},
                                 {"PlainInParts", false, unbatched, false, 2, 2},
                                 {"PlainSynchronizedInParts", false, batched, false, 2, 2},
                                 {"PlainOverlappedInParts", false, overlap, false, 2, 2},
                                 {"InterleavedBatchedInParts", true, unsynchronized, false, 3, 2},
                                 {"InterleavedSynchronizedInParts", true, batched, false, 3, 2},
                                 {"OverlappedInParts", true, overlap, false, 2, 2},
                                 {"OverlappedFlushByEventInParts", true, flush, true, 2, 2}};
  for (const auto& [name, pipeline] : {std::pair{"OneChunk", unbatched},
                                       {"OneChunkBatched", unsynchronized},
                                       {"OneChunkSynchronized", batched},
                                       {"OneChunkOverlapped", overlap},
                                       {"OneChunkOverlappedKept", kept},
                                       {"OneChunkOverlappedFlush", flush}})
    all.push_back({.name = name, .pipeline = pipeline, .interleaves_one_chunk = true});
  for (TechniqueCase& asked : asked_cases()) all.push_back(std::move(asked));
  return all;
}

}  // namespace underlap::pp
