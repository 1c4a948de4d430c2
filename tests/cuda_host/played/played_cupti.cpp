// SPDX-License-Identifier: Apache-2.0
// A CUPTI that sees what the simulated GPU does, for whole programs.
#include "tests/cuda_host/played/played_gpu.hpp"
#include "tests/cuda_host/seen_by_cupti.hpp"

namespace underlap::cuda_host {
namespace {

using Loss = SeenByCupti::Loss;

struct PlayedCupti {
  cupti::FakeCupti fake;
  cupti::Api api = fake.api();
  SeenByCupti seen{fake};

  PlayedCupti() {
    seen.is_on = false;
    for (const auto& [fault, loss] :
         {std::pair{"untagged", Loss::tag}, {"lost", Loss::record}, {"untimed", Loss::times}})
      if (const long every = PlayedGpu::instance().number(fault, 0); every > 0) {
        seen.every = static_cast<std::uint32_t>(every);
        seen.loss_of_every = loss;
      }
  }
};

PlayedCupti& played() {
  static auto* const instance = new PlayedCupti;  // never destroyed: CUPTI outlives what uses it
  return *instance;
}

CUptiResult enable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) played().seen.is_on = true;
  return played().api.activity_enable(kind);
}
CUptiResult disable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) played().seen.is_on = false;
  return played().api.activity_disable(kind);
}
CUptiResult flush(std::uint32_t flag) {
  played().seen.hand_over();
  if (const long records = PlayedGpu::instance().number("dropped", 0); records > 0)
    played().fake.drop(static_cast<std::size_t>(records));
  return played().api.activity_flush_all(flag);
}

}  // namespace

std::map<std::string, void*> played_cupti_functions() {
  const cupti::Api& api = played().api;
  return {{"cuptiGetVersion", address_of(api.get_version)},
          {"cuptiGetResultString", address_of(api.get_result_string)},
          {"cuptiGetTimestamp", address_of(api.get_timestamp)},
          {"cuptiSubscribe", address_of(api.subscribe)},
          {"cuptiUnsubscribe", address_of(api.unsubscribe)},
          {"cuptiActivityEnable", address_of(enable)},
          {"cuptiActivityDisable", address_of(disable)},
          {"cuptiActivityRegisterCallbacks", address_of(api.activity_register_callbacks)},
          {"cuptiActivityFlushAll", address_of(flush)},
          {"cuptiActivityGetNextRecord", address_of(api.activity_get_next_record)},
          {"cuptiActivityGetNumDroppedRecords", address_of(api.activity_get_num_dropped_records)},
          {"cuptiActivityPushExternalCorrelationId", address_of(api.activity_push_external_correlation_id)},
          {"cuptiActivityPopExternalCorrelationId", address_of(api.activity_pop_external_correlation_id)},
          {"cuptiActivityEnableRuntimeApi", address_of(api.activity_enable_runtime_api)},
          {"cuptiActivityEnableDriverApi", address_of(api.activity_enable_driver_api)},
          {"cuptiActivityEnableAllSyncRecords", address_of(api.activity_enable_all_sync_records)}};
}

}  // namespace underlap::cuda_host
