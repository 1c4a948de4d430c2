// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/backend.hpp"

#include <gtest/gtest.h>

namespace underlap {
namespace {

TEST(Backend, IsFoundByItsName) {
  for (const Backend backend : {Backend::host, Backend::cuda, Backend::sim})
    EXPECT_EQ(backend_from(to_string(backend)), backend);
  EXPECT_EQ(to_string(Backend::sim), "sim");
  EXPECT_EQ(backend_from("gpu"), std::nullopt);
}

TEST(Backend, OnlyVirtualTimeIsNotMeasured) {
  EXPECT_TRUE(traits_of(Backend::host).measures_time);
  EXPECT_TRUE(traits_of(Backend::cuda).measures_time);
  EXPECT_FALSE(traits_of(Backend::sim).measures_time);
}

}  // namespace
}  // namespace underlap
