// SPDX-License-Identifier: Apache-2.0
#include "platform/nvidia_library.hpp"

#include <gmock/gmock.h>

#include "platform/errors.hpp"

namespace underlap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

TEST(NvidiaLibraries, HaveAnEntryEachWithTheNewestFileFirst) {
  EXPECT_STREQ(entry_of(NvidiaLibrary::driver).name, "driver");
  EXPECT_STREQ(entry_of(NvidiaLibrary::cudnn).name, "cuDNN");
  EXPECT_STREQ(entry_of(NvidiaLibrary::cupti).name, "CUPTI");
  EXPECT_EQ(entry_of(NvidiaLibrary::cublaslt).files.front(), "libcublasLt.so.13");
  EXPECT_EQ(entry_of(NvidiaLibrary::cupti).files.back(), "libcupti.so");
}

TEST(NvidiaLibraries, CountTenThousandAMajorAndAHundredAMinorRelease) {
  EXPECT_EQ(release_text(22809), "2.28.9");
  EXPECT_EQ(release_text(130'100), "13.1.0");
}

TEST(NvidiaLibraries, AreRefusedByTheirReleaseWhereTheyAreTooOld) {
  const SharedLibrary library = SharedLibrary::open({"libc.so.6"});
  EXPECT_NO_THROW(require_release(NvidiaLibrary::cudnn, 90'000, library));
  EXPECT_NO_THROW(require_release(NvidiaLibrary::cupti, 1, library)) << "any release";
  EXPECT_THAT([&] { require_release(NvidiaLibrary::cudnn, 89'907, library); },
              ThrowsMessage<MachineError>(
                  AllOf(StartsWith(library.path().string()), HasSubstr(" is cuDNN 8.99.7; 9.0.0 or newer is needed"))));
  EXPECT_THAT([&] { require_release(NvidiaLibrary::cublaslt, 120'404, library); },
              ThrowsMessage<MachineError>(HasSubstr(" is cuBLASLt 12.4.4; 12.4.5 or newer is needed")));
}

}  // namespace
}  // namespace underlap
