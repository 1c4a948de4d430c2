// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace underlap::cupti {

/// The functions of CUPTI that are used, as pointers: the library is found when a program runs, and a test puts its own
/// functions here. Pointers after `optional:` are null where the library is too old to have them.
struct Api {
  std::string library;  ///< where it was found

  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiActivityEnable) activity_enable = nullptr;
  decltype(&cuptiActivityDisable) activity_disable = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) activity_register_callbacks = nullptr;
  decltype(&cuptiActivityFlushAll) activity_flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) activity_get_next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) activity_get_num_dropped_records = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) activity_push_external_correlation_id = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) activity_pop_external_correlation_id = nullptr;

  // optional:
  // Spelled out, because headers of CUDA 12.4 do not declare them.
  CUptiResult (*activity_enable_runtime_api)(CUpti_CallbackId, std::uint8_t) = nullptr;  // CUDA 12.5
  CUptiResult (*activity_enable_driver_api)(CUpti_CallbackId, std::uint8_t) = nullptr;   // CUDA 12.5
  CUptiResult (*activity_enable_all_sync_records)(std::uint8_t) = nullptr;               // CUDA 12.8
  decltype(&cuDriverGetVersion) driver_get_version = nullptr;  // of libcuda: null where there is no driver

  /// Opens libcupti: the copy that this process has already, else the one that SharedLibrary finds.
  /// Throws MachineError where there is none, or where it lacks a function that CUDA 12.4 has.
  static Api load();

  /// The version of the library itself: 22 to 28 for CUDA 12.4 to 12.9, xxyyzz from 13.0.
  /// Throws MachineError if the library does not report it: since CUDA 13.2 it needs a driver for that.
  std::uint32_t version() const;

  /// The newest CUDA version that the driver supports, 1000 * major + 10 * minor; 0 where there is no driver.
  int driver_version() const;
};

/// Whether CUPTI of version `cupti_version` is of an older major release of CUDA than a runtime of `runtime_version`
/// (CUDART_VERSION). False if this is unknown: up to CUDA 12 CUPTI has its own version numbers.
bool is_older_than_runtime(std::uint32_t cupti_version, int runtime_version);

/// The name of a result code, such as CUPTI_ERROR_NOT_INITIALIZED; CUPTI_ERROR_<number> for one that the header lacks.
std::string result_name(CUptiResult);

/// Throws MachineError unless `result` is CUPTI_SUCCESS: one line with the call, the code's name and CUPTI's own
/// message, and a second line with the fix, if there is one.
void check(const Api&, CUptiResult result, std::string_view call);

}  // namespace underlap::cupti
