// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/nccl/nccl_config.hpp"

#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

constexpr NcclSite kHopper{.version = 22809, .compute_capability_major = 9};
constexpr NcclSite kAmpere{.version = 22809, .compute_capability_major = 8};
constexpr NcclSite kOldest{.version = 22005, .compute_capability_major = 9};
const std::string kPurpose = "dp";

TEST(NcclConfig, CarriesTheHints) {
  std::vector<std::string> notices;
  const ncclConfig_t plain = nccl_config({}, kHopper, kPurpose, notices);
  EXPECT_EQ(plain.blocking, 1);
  EXPECT_EQ(plain.maxCTAs, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(plain.cgaClusterSize, NCCL_CONFIG_UNDEF_INT);
  const ncclConfig_t bounded = nccl_config({.sms = 8}, kHopper, kPurpose, notices);
  EXPECT_EQ(bounded.minCTAs, 8);
  EXPECT_EQ(bounded.maxCTAs, 8);
  EXPECT_EQ(nccl_config({.sms = 16, .cga_size = 2}, kHopper, kPurpose, notices).cgaClusterSize, 2);
  EXPECT_EQ(nccl_config({.sms = 16, .cga_size = 2}, kOldest, kPurpose, notices).cgaClusterSize, 2);
  EXPECT_EQ(nccl_config({.sms = 16, .cga_size = 1}, kAmpere, kPurpose, notices).cgaClusterSize, 1);
  EXPECT_EQ(nccl_config({.cga_size = 8}, kHopper, kPurpose, notices).cgaClusterSize, 8);
  EXPECT_THAT(notices, IsEmpty());
}

TEST(NcclConfig, SaysWhichClustersItCannotHave) {
  std::vector<std::string> notices;
  EXPECT_EQ(nccl_config({.cga_size = 2}, kAmpere, kPurpose, notices).cgaClusterSize, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(nccl_config({.cga_size = 9}, kHopper, kPurpose, notices).cgaClusterSize, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(nccl_config({.sms = 3, .cga_size = 2}, kHopper, kPurpose, notices).cgaClusterSize, 2);
  EXPECT_THAT(notices, ElementsAre(AllOf(HasSubstr("communicator dp: cga_size 2"), HasSubstr("compute capability 8.x")),
                                   HasSubstr("cga_size 9: NCCL's kernels have clusters of at most 8 blocks"),
                                   HasSubstr("no clusters: 3 blocks are not a multiple of the cluster size")));
}

TEST(NcclConfig, SaysWhichHintsItCannotHonour) {
  std::vector<std::string> notices;
  const NcclSite before{.version = 22703, .compute_capability_major = 9};
  (void)nccl_config({.copy_engine = true}, before, kPurpose, notices);
  (void)nccl_config({.sms = 48}, before, kPurpose, notices);
  EXPECT_THAT(notices, ElementsAre(HasSubstr("NCCL 2.27.3 has no"), HasSubstr("48 SMs were requested")));
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
TEST(NcclConfig, NamesACommunicatorWhereTheLibraryKnowsNames) {
  std::vector<std::string> notices;
  EXPECT_STREQ(nccl_config({}, kHopper, kPurpose, notices).commName, "dp");
  EXPECT_EQ(nccl_config({}, {.version = 22100}, kPurpose, notices).commName, nullptr) << "unknown to it";
}
#endif

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
TEST(NcclConfig, AsksForCopyEnginesByThePolicyOfNoBlocks) {
  std::vector<std::string> notices;
  EXPECT_EQ(nccl_config({}, kHopper, kPurpose, notices).CTAPolicy, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(nccl_config({.copy_engine = true}, kHopper, kPurpose, notices).CTAPolicy, NCCL_CTA_POLICY_ZERO);
  EXPECT_EQ(nccl_config({.copy_engine = true}, {.version = 22703}, kPurpose, notices).CTAPolicy, NCCL_CONFIG_UNDEF_INT);
  EXPECT_THAT(notices, ElementsAre(HasSubstr("2.27.3")));
}
#else
TEST(NcclConfig, SaysThatItsHeadersHaveNoCopyEngines) {
  std::vector<std::string> notices;
  (void)nccl_config({.copy_engine = true}, kHopper, kPurpose, notices);
  EXPECT_THAT(notices, ElementsAre(HasSubstr("built with headers of NCCL")));
}
#endif

}  // namespace
}  // namespace underlap::cuda
