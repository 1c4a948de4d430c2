// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/short_names.hpp"

#include <gmock/gmock.h>

namespace underlap::compare {
namespace {

using ::testing::ElementsAre;

TEST(ShortNames, AreWholeWhereTheyFit) {
  EXPECT_EQ(short_name("fc1_fprop"), "fc1_fprop");
  EXPECT_EQ(short_name("void gemm<float, 4>(float*, int)"), "gemm<float, 4>(float*, int)");
}

TEST(ShortNames, AreCutInTheMiddle) {
  EXPECT_EQ(short_name("Memcpy HtoD (Pinned -> Device)"), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(short_name("void at::native::(anonymous namespace)::scan<float, 4>(float*, float const*, long)"),
            "scan<float, 4>");
  EXPECT_EQ(short_name("split_embedding_backward_codegen_rowwise_kernel<float, Half, 64>(long)"),
            "split_embedding_...loat, Half, 64>");
  EXPECT_EQ(short_name("at::native::", 8).size(), 8U);
  EXPECT_EQ(short_name(")("), ")(");
}

TEST(ShortNames, BesideEachOtherAreNeverEqual) {
  const std::string before = "void at::native::vectorized_elementwise_kernel<4, at::native::",
                    after = "<float>, at::detail::Array<char*, 3> >(int, at::detail::Array<char*, 3>)";
  EXPECT_THAT(short_names({{before + "AddFunctor" + after}, {before + "FillFunctor" + after}, {"fc1"}, {"fc1"}}),
              ElementsAre("vectorized_e...AddFunctor<float>, ", "vectorized_e...FillFunctor<float>,", "fc1", "fc1"));
  std::vector<LongName> four;
  for (const char* per : {"cta", "warp"})
    for (const char* size : {"2ul", "5ul"})
      four.push_back(
          {"split_embedding_kernel_" + std::string(per) + "_per_row_1<float, float, " + size + ">(long)", 27});
  EXPECT_THAT(short_names(four), ElementsAre("split_embed...cta_p...2ul>(", "split_embed...cta_p...5ul>(",
                                             "split_embed...warp_...2ul>(", "split_embed...warp_...5ul>("));
  const auto numbered = short_names({{before + "A" + after, 12}, {before + "B" + after, 12}});
  EXPECT_THAT(numbered, ElementsAre(testing::SizeIs(12), testing::SizeIs(12)));
  EXPECT_NE(numbered[0], numbered[1]);
  const std::string word(100, 'a');
  EXPECT_THAT(short_names({{word + "b" + word}, {word + "c" + word}}),
              ElementsAre("aaaaaaaaaaaa...baaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaa...caaaaaaaaaaaaaaaaaa"));
}

}  // namespace
}  // namespace underlap::compare
