// SPDX-License-Identifier: Apache-2.0
// `underlap-calibrate rates` as a user calls it.
#include <gmock/gmock.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/registry.hpp"

namespace underlap {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

/// What the program prints, standard error too where `and_errors`.
std::string output_of(const std::string& arguments, bool and_errors = false) {
  const std::string command =
      std::string("'" UNDERLAP_CALIBRATE "' rates ") + arguments + (and_errors ? " 2>&1" : " 2>/dev/null");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  for (int c = 0; (c = std::fgetc(pipe.get())) != EOF;) output += static_cast<char>(c);
  return output;
}

nlohmann::json benchmarks(const std::string& filter) {
  const std::string arguments =
      "--benchmark_min_time=0.001 --benchmark_format=json --benchmark_filter='" + filter + "'";
  return nlohmann::json::parse(output_of(arguments)).at("benchmarks");
}

TEST(Rates, HasEveryRegisteredOperation) {
  const std::string list = output_of("--benchmark_list_tests");
  for (const kernels::KernelInfo& kernel : kernels::registered_kernels()) {
    EXPECT_THAT(list, HasSubstr("host/" + std::string(kernel.name) + "/"));
    if (list.find("cuda/") == std::string::npos) continue;
    EXPECT_THAT(list, AnyOf(HasSubstr("cuda/" + std::string(kernel.name) + "/"),
                            HasSubstr("cuda/" + std::string(kernel.name) + "_cudnn/")));
  }
}

TEST(Rates, HasCudaBenchmarksOrSaysWhyNot) {
  const std::string output = output_of("--benchmark_list_tests", true);
  EXPECT_THAT(output, AnyOf(HasSubstr("cuda/adam/"), HasSubstr("underlap-calibrate: no CUDA benchmarks: ")));
}

TEST(Rates, TakesTheShareOfWhatBoundsAnOperation) {
  const nlohmann::json memory = benchmarks("^host/residual_add/").at(0);
  double limit = 0;
  ASSERT_EQ(std::sscanf(memory.at("label").get<std::string>().c_str(), "bound: copy, %lf GB/s", &limit), 1);
  EXPECT_NEAR(memory.at("roofline_share").get<double>() / (memory.at("bytes/s").get<double>() / (limit * 1e9)), 1,
              1e-3);

  const nlohmann::json product = benchmarks("^host/gemm_fprop/M256_N1024_K1024").at(0);
  ASSERT_EQ(std::sscanf(product.at("label").get<std::string>().c_str(), "bound: bf16 GEMM, %lf TFLOP/s", &limit), 1);
  EXPECT_NEAR(product.at("roofline_share").get<double>() / (product.at("flops/s").get<double>() / (limit * 1e12)), 1,
              1e-3);
}

TEST(Rates, CountsBandwidthAsNcclTestsDo) {
  const nlohmann::json all = benchmarks("^host/(all_gather|reduce_scatter|all_reduce)/4096/");
  ASSERT_EQ(all.size(), 3U);
  for (const nlohmann::json& one : all) {
    const std::string name = one.at("name");
    const double algbw = one.at("algbw"), busbw = one.at("busbw"), us = one.at("real_time");
    EXPECT_NEAR(algbw * us * 1e-6, 4096, 1) << name;
    EXPECT_NEAR(busbw / algbw, name.find("all_reduce") != std::string::npos ? 1 : 0.5, 1e-6) << name;  // of 2 ranks
  }
}

TEST(Rates, HelpSaysWhatIsMeasuredAndWhatIsNot) {
  const std::string help = output_of("--help");
  EXPECT_THAT(help, StartsWith("underlap-calibrate rates: "));
  for (const char* said : {"roofline_share", "busbw", "NCCL is not measured", "--benchmark_filter"})
    EXPECT_THAT(help, HasSubstr(said));
}

}  // namespace
}  // namespace underlap
