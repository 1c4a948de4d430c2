// SPDX-License-Identifier: Apache-2.0
#include "platform/json.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

nlohmann::ordered_json json_of(const std::string& yaml) {
  return parse_json(to_json(parse(yaml, "config.yaml").cells.at(0).plan));
}

TEST(PlanJson, HasTheSchemasFields) {
  const auto json = json_of(
      "model: {preset: tiny}\ncomm_overlap: {tp_comm_overlap: true, bucket_size: 5}\n"
      "data_parallel_size: 2");
  EXPECT_EQ(json["schema"], "underlap.plan/1");
  EXPECT_EQ(json["knobs"][0],
            (nlohmann::ordered_json{{"name", "comm_overlap.tp_comm_overlap"},
                                    {"requested", true},
                                    {"effective", false},
                                    {"source", "gate"},
                                    {"reason", "tensor_model_parallel_size is 1; TP overlap needs at least 2"}}));
  EXPECT_EQ(json["environment"][0]["name"], "CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_EQ(json["environment"][0]["value"], "8");
  EXPECT_TRUE(json["errors"].empty());
  EXPECT_GT(json["peak_memory_bytes"]["total"], 0);
}

TEST(PlanJson, ErrorsCarryTheirPlace) {
  const auto json = json_of("model: {preset: tiny}\nrun: {stepz: 3}");
  EXPECT_EQ(json["errors"][0]["where"], "config.yaml:2:7");
}

TEST(PlanJson, SurvivesBytesThatAreNotUtf8) {
  const auto json = json_of("model: {preset: tiny}\ntrain: {data: \"\\xff\xfe\"}\n\xff: 1");
  EXPECT_TRUE(json.is_object());
}

TEST(PlanText, ShowsGatedRequestsFirst) {
  const std::string text = text_of(plan_of("model: {preset: tiny}\ncomm_overlap: {tp_comm_overlap: true}"));
  EXPECT_THAT(text, StartsWith("NOT AS REQUESTED: comm_overlap.tp_comm_overlap was requested as true but is false"));
}

}  // namespace
}  // namespace underlap::plan
