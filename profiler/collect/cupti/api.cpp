// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/api.hpp"

#include <fmt/format.h>

#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::cupti {
namespace {

// Of later releases than the oldest whose headers this is built with.
constexpr auto kMigDeviceNotSupported = static_cast<CUptiResult>(43);
constexpr auto kWslDeviceNotSupported = static_cast<CUptiResult>(45);

struct ResultName {
  CUptiResult code;
  std::string_view name;
};

// Those that the calls in use can answer with.
constexpr ResultName kResultNames[] = {
    {CUPTI_SUCCESS, "CUPTI_SUCCESS"},
    {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
    {CUPTI_ERROR_INVALID_DEVICE, "CUPTI_ERROR_INVALID_DEVICE"},
    {CUPTI_ERROR_INVALID_CONTEXT, "CUPTI_ERROR_INVALID_CONTEXT"},
    {CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
    {CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI_ERROR_OUT_OF_MEMORY"},
    {CUPTI_ERROR_HARDWARE, "CUPTI_ERROR_HARDWARE"},
    {CUPTI_ERROR_API_NOT_IMPLEMENTED, "CUPTI_ERROR_API_NOT_IMPLEMENTED"},
    {CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
    {CUPTI_ERROR_NOT_READY, "CUPTI_ERROR_NOT_READY"},
    {CUPTI_ERROR_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE"},
    {CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
    {CUPTI_ERROR_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
    {CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
    {CUPTI_ERROR_DISABLED, "CUPTI_ERROR_DISABLED"},
    {CUPTI_ERROR_HARDWARE_BUSY, "CUPTI_ERROR_HARDWARE_BUSY"},
    {CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED"},
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
    {CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED"},
    {kMigDeviceNotSupported, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED"},
    {kWslDeviceNotSupported, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED"},
    {CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
};

std::string_view what_to_do(CUptiResult result) {
  constexpr std::string_view kUntraced = "run without tracing: this device cannot be traced";
  if (result == kMigDeviceNotSupported || result == kWslDeviceNotSupported) return kUntraced;
  switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "stop the other profiler or run without tracing: CUPTI allows one client per process";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "run as an administrator, or load the driver with NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN: return "is a driver installed, and as new as this CUPTI? nvidia-smi shows its version";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED: return kUntraced;
    default: return {};
  }
}

std::string words_of(const Api& api, CUptiResult result) {
  const char* text = nullptr;
  if (api.get_result_string == nullptr || api.get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr)
    return {};
  // Most libraries answer with the code's name once more.
  return text == result_name(result) ? std::string{} : fmt::format(" ({})", text);
}

// A machine that only parses recorded buffers has no driver, and needs none.
void find_driver(Api& api) {
  try {
    open_library(NvidiaLibrary::driver).find("cuDriverGetVersion", api.driver_get_version);
  } catch (const MachineError&) {
    api.driver_get_version = nullptr;
  }
}

}  // namespace

Api Api::load() {
  const SharedLibrary library = open_library(NvidiaLibrary::cupti);
  Api api;
  api.library = library.path().string();
  library.require("cuptiGetVersion", api.get_version);
  library.require("cuptiGetResultString", api.get_result_string);
  library.require("cuptiGetTimestamp", api.get_timestamp);
  library.require("cuptiSubscribe", api.subscribe);
  library.require("cuptiUnsubscribe", api.unsubscribe);
  library.require("cuptiActivityEnable", api.activity_enable);
  library.require("cuptiActivityDisable", api.activity_disable);
  library.require("cuptiActivityRegisterCallbacks", api.activity_register_callbacks);
  library.require("cuptiActivityFlushAll", api.activity_flush_all);
  library.require("cuptiActivityGetNextRecord", api.activity_get_next_record);
  library.require("cuptiActivityGetNumDroppedRecords", api.activity_get_num_dropped_records);
  library.require("cuptiActivityPushExternalCorrelationId", api.activity_push_external_correlation_id);
  library.require("cuptiActivityPopExternalCorrelationId", api.activity_pop_external_correlation_id);
  library.find("cuptiActivityEnableRuntimeApi", api.activity_enable_runtime_api);
  library.find("cuptiActivityEnableDriverApi", api.activity_enable_driver_api);
  library.find("cuptiActivityEnableAllSyncRecords", api.activity_enable_all_sync_records);
  find_driver(api);
  return api;
}

std::uint32_t Api::version() const {
  std::uint32_t version = 0;
  check(*this, get_version(&version), "cuptiGetVersion");
  return version;
}

int Api::driver_version() const {
  int version = 0;
  return driver_get_version != nullptr && driver_get_version(&version) == CUDA_SUCCESS ? version : 0;
}

bool is_older_than_runtime(std::uint32_t cupti_version, int runtime_version) {
  constexpr int kFirstAlike = 13000;  // since then CUPTI's version begins with its toolkit's
  return runtime_version >= kFirstAlike && cupti_version < static_cast<std::uint32_t>(runtime_version) / 1000 * 10000;
}

std::string result_name(CUptiResult result) {
  for (const ResultName& known : kResultNames)
    if (known.code == result) return std::string(known.name);
  return fmt::format("CUPTI_ERROR_{}", static_cast<int>(result));
}

void check(const Api& api, CUptiResult result, std::string_view call) {
  if (result == CUPTI_SUCCESS) return;
  std::string message = fmt::format("{} failed: {}{}", call, result_name(result), words_of(api, result));
  if (const std::string_view advice = what_to_do(result); !advice.empty()) message += fmt::format("\n{}", advice);
  throw MachineError(message);
}

}  // namespace underlap::cupti
