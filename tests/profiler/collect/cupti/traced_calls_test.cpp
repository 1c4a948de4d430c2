// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/traced_calls.hpp"

#include <gmock/gmock.h>

#include <set>

namespace underlap::cupti {
namespace {

constexpr std::uint32_t kNewest = 130500;

TEST(TracedCalls, OnlyThoseOfEventsPutNothingOnTheDevice) {
  const std::set<CUpti_CallbackId> of_events_in_runtime{CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,
                                                        CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_ptsz_v7000,
                                                        CUPTI_RUNTIME_TRACE_CBID_cudaEventRecordWithFlags_v11010,
                                                        CUPTI_RUNTIME_TRACE_CBID_cudaEventRecordWithFlags_ptsz_v11010,
                                                        CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020,
                                                        CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_ptsz_v7000};
  const std::set<CUpti_CallbackId> of_events_in_driver{
      CUPTI_DRIVER_TRACE_CBID_cuEventRecord,          CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz,
      CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags, CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags_ptsz,
      CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent,      CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz};
  const TracedCalls calls = traced_calls(kNewest);
  for (const CUpti_CallbackId id : calls.runtime)
    EXPECT_EQ(work_of_call(true, id) == WorkOfCall::none, of_events_in_runtime.contains(id)) << id;
  for (const CUpti_CallbackId id : calls.driver)
    EXPECT_EQ(work_of_call(false, id) == WorkOfCall::none, of_events_in_driver.contains(id)) << id;
}

TEST(TracedCalls, LaunchesAreToldFromCopiesAndFromCallsThatAreNotTraced) {
  for (const CUpti_CallbackId id :
       {CUpti_CallbackId{CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
        CUpti_CallbackId{CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
        CUpti_CallbackId{CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000}, CUpti_CallbackId{505}})
    EXPECT_EQ(work_of_call(true, id), WorkOfCall::launch) << id;
  for (const CUpti_CallbackId id :
       {CUpti_CallbackId{CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020},
        CUpti_CallbackId{CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020}, CUpti_CallbackId{511}})
    EXPECT_EQ(work_of_call(true, id), WorkOfCall::copy) << id;
  EXPECT_EQ(work_of_call(false, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx), WorkOfCall::launch);
  EXPECT_EQ(work_of_call(false, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async), WorkOfCall::copy);
  EXPECT_EQ(work_of_call(false, 798), WorkOfCall::copy);
  EXPECT_EQ(work_of_call(true, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020), WorkOfCall::none);
  EXPECT_EQ(work_of_call(true, 100'000), WorkOfCall::none);
  EXPECT_EQ(work_of_call(false, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize), WorkOfCall::none);
}

TEST(TracedCalls, NoneIsNamedTwice) {
  const TracedCalls calls = traced_calls(kNewest);
  for (const auto& ids : {calls.runtime, calls.driver})
    EXPECT_EQ(std::set<CUpti_CallbackId>(ids.begin(), ids.end()).size(), ids.size());
}

}  // namespace
}  // namespace underlap::cupti
