// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/link_setting.hpp"

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

std::optional<EmulatedLink> link_of(std::string_view text) {
  std::vector<std::string> errors;
  const auto link = parse_link(text, errors);
  EXPECT_THAT(errors, IsEmpty()) << text;
  return link;
}

std::vector<std::string> mistakes_of(std::string_view text) {
  std::vector<std::string> errors;
  parse_link(text, errors);
  return errors;
}

TEST(Link, RealIsTheOneThatIsThere) { EXPECT_EQ(link_of("real"), std::nullopt); }

TEST(Link, KernelsOfSoManyBlocks) {
  const EmulatedLink link = link_of("emulated:450GB/s,sms=8").value();
  EXPECT_EQ(link.gb_per_s, 450);
  EXPECT_EQ(link.sms, 8);
  EXPECT_FALSE(link.copy_engine);
  EXPECT_EQ(link.latency_us, 0);
  EXPECT_EQ(to_words(link), "emulated 450 GB/s, 8 SMs");
}

TEST(Link, CopyEnginesLeaveReductionsToKernels) {
  const EmulatedLink link = link_of("emulated:400Gbit/s,copy_engine,latency=2.5us").value();
  EXPECT_EQ(link.gb_per_s, 50);
  EXPECT_TRUE(link.copy_engine);
  EXPECT_EQ(link.sms, 16);
  EXPECT_EQ(link.latency_us, 2.5);
  EXPECT_EQ(to_words(link), "emulated 50 GB/s, copy engines (reductions: 16 SMs), 2.5 us latency");
  EXPECT_EQ(link_of("emulated:50GB/s,sms=4,copy_engine")->sms, 4);
}

TEST(Link, EveryMistakeIsTold) {
  EXPECT_THAT(
      mistakes_of("emulated:450GB,sms=0,latency=5,sms=2,fast"),
      ElementsAre(HasSubstr("the rate of each direction is \"450GB\""), HasSubstr("sms is \"0\""),
                  HasSubstr("latency is \"5\""), HasSubstr("has \"sms\" twice"), HasSubstr("unknown option \"fast\"")));
}

TEST(Link, RefusesWhatIsNoLink) {
  for (const char* rate :
       {"", "GB/s", "0GB/s", "-1GB/s", "nanGB/s", "infGB/s", "1e9GB/s", "450", "450 GB/s", "450gb/s"})
    EXPECT_THAT(mistakes_of("emulated:" + std::string(rate) + ",sms=1"), Only("the rate")) << rate;
  for (const char* option : {"sms", "sms=", "sms=65", "sms=1.5", "sms=-1", "sms=x"})
    EXPECT_THAT(mistakes_of("emulated:1GB/s," + std::string(option)), Only("sms is")) << option;
  for (const char* option : {"latency", "latency=us", "latency=-1us", "latency=1ms"})
    EXPECT_THAT(mistakes_of("emulated:1GB/s,sms=1," + std::string(option)), Only("latency is")) << option;
  EXPECT_THAT(mistakes_of("emulated:1GB/s,sms=1,copy_engine=1"), Only("unknown option"));
  EXPECT_THAT(mistakes_of("emulated:1GB/s"), Only("needs sms=K or copy_engine"));
  for (const char* text : {"emulated", "Real", "", "fast", "emulate:1GB/s,sms=1"})
    EXPECT_THAT(mistakes_of(text), Only("run.link must be real or emulated:")) << text;
}

}  // namespace
}  // namespace underlap::plan
