// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/api.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/other_client.hpp"
#include "tests/profiler/collect/cupti/fake_cupti.hpp"
#include "tests/profiler/error_of.hpp"

namespace underlap::cupti {
namespace {

using ::testing::HasSubstr;
using testing_support::error_of;

TEST(CuptiApi, FindsTheInstalledLibraryAndItsVersion) {
  Api api;
  try {
    api = Api::load();
  } catch (const MachineError& error) {
    GTEST_SKIP() << "no CUPTI here: " << error.what();
  }
  EXPECT_TRUE(std::filesystem::exists(api.library)) << api.library;
#if CUPTI_API_VERSION >= 130200
  if (api.driver_version() == 0) GTEST_SKIP() << "without a driver CUPTI answers nothing from CUDA 13.2 on";
#endif
  EXPECT_GE(api.version(), 22U);
}

TEST(CuptiApi, LoadsOneCopyHoweverOftenItIsAsked) {
  try {
    EXPECT_EQ(Api::load().get_version, Api::load().get_version);
  } catch (const MachineError& error) {
    GTEST_SKIP() << "no CUPTI here: " << error.what();
  }
}

TEST(CuptiApi, NamesResultCodes) {
  EXPECT_EQ(result_name(CUPTI_ERROR_NOT_COMPATIBLE), "CUPTI_ERROR_NOT_COMPATIBLE");
  EXPECT_EQ(result_name(static_cast<CUptiResult>(777)), "CUPTI_ERROR_777");
}

// Up to CUDA 12 CUPTI's versions are small numbers, which say nothing beside a runtime's.
TEST(CuptiApi, IsOlderOnlyThanARuntimeWhoseNumberItsOwnIsLike) {
  for (const std::uint32_t version : {22U, 24U, 26U, 28U}) {
    for (const int runtime : {12040, 12060, 12080, 12090}) EXPECT_FALSE(is_older_than_runtime(version, runtime));
    EXPECT_TRUE(is_older_than_runtime(version, 13000));
  }
  EXPECT_FALSE(is_older_than_runtime(130001, 12080));
  EXPECT_FALSE(is_older_than_runtime(130001, 13000));
  EXPECT_FALSE(is_older_than_runtime(130001, 13020));
  EXPECT_TRUE(is_older_than_runtime(130500, 14000));
}

TEST(CuptiApi, CheckSaysWhatFailedWhyAndWhatToDo) {
  FakeCupti cupti;
  const auto error = [&](CUptiResult result) {
    return error_of<MachineError>([&] { check(cupti.api(), result, "cuptiActivityEnable"); });
  };
  EXPECT_EQ(error(CUPTI_SUCCESS), "");
  EXPECT_EQ(error(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
            "cuptiActivityEnable failed: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (not enough rights)\n"
            "run as an administrator, or load the driver with NVreg_RestrictProfilingToAdminUsers=0");
  EXPECT_EQ(error(CUPTI_ERROR_INVALID_KIND), "cuptiActivityEnable failed: CUPTI_ERROR_INVALID_KIND");
}

TEST(CuptiApi, AVersionThatCannotBeAskedIsAnError) {
  FakeCupti cupti;
  cupti.fail("version", CUPTI_ERROR_NOT_INITIALIZED);
  EXPECT_THAT(error_of<MachineError>([&] { cupti.api().version(); }), HasSubstr("driver"));
}

TEST(OtherClient, IsNamedByTheLibraryItLoadedOrTheInjectionThatCudaWasGiven) {
  EXPECT_EQ(name_other_client("7f00 r-xp 0 /opt/nvidia/nsight-systems/2025.1/libToolsInjection64.so\n", ""),
            "Nsight Systems");
  EXPECT_EQ(name_other_client("7f00 r-xp 0 /usr/lib/python3/torch/lib/libtorch_cpu.so\n", ""), "PyTorch's profiler");
  EXPECT_EQ(name_other_client("7f00 r-xp 0 /lib/libc.so.6\n", "/opt/tool.so"), "/opt/tool.so");
  EXPECT_EQ(name_other_client("", ""), "");
}

}  // namespace
}  // namespace underlap::cupti
