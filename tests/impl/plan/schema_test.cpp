// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/schema.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

TEST(Schema, NoPathIsWrittenTwice) {
  std::set<std::string_view> seen;
  for (const std::string_view path : all_paths()) EXPECT_TRUE(seen.insert(path).second) << path;
}

TEST(Schema, EveryRowSaysWhatItDoesAndWhatHoldsWithoutIt) {
  for (const Row& row : rows()) {
    EXPECT_FALSE(row.about.empty()) << row.path;
    EXPECT_FALSE(row.rule.empty()) << row.path;
    EXPECT_TRUE(row.slot.store != nullptr || nlohmann::json::accept(row.fallback)) << row.path;
    EXPECT_EQ(row.slot.store == nullptr, row.slot.read == nullptr) << row.path;
  }
}

/// A value that the row accepts and that differs from most defaults.
std::string example(const Row& row) {
  switch (row.type) {
    case Type::boolean: return "true";
    case Type::integer:
    case Type::number: return row.path == "model.vocab_size" ? "256" : row.range.most <= 1 ? "0.5" : "2";
    case Type::text: return row.choices.empty() ? "words" : std::string(split_words(row.choices).back());
    case Type::any: return "[1, {a: b}]";
  }
  return "";
}

TEST(Schema, EveryKeyIsReadUnderEverySpellingAndReported) {
  for (const std::string_view path : all_paths()) {
    const Row& row = rows()[find_row(path).value()];
    const auto dot = path.find('.');
    const std::string key = dot == path.npos ? std::string(path) : std::string(path.substr(0, dot));
    const std::string value =
        dot == path.npos ? example(row) : "{" + std::string(path.substr(dot + 1)) + ": " + example(row) + "}";
    const Plan plan = parse(key + ": " + value, "f").cells.at(0).plan;
    for (const Message& error : plan.errors)
      EXPECT_THAT(error.message, testing::Not(testing::HasSubstr("unknown key"))) << path;
    EXPECT_NE(knob_of(plan, std::string(row.path)).requested, "null") << path;
  }
}

TEST(Schema, KnowsEveryFieldOfBridgesCommOverlapConfig) {
  for (const char* field :
       {"tp_comm_overlap", "tp_comm_overlap_cfg", "tp_comm_bootstrap_backend", "overlap_p2p_comm", "batch_p2p_comm",
        "overlap_grad_reduce", "overlap_param_gather", "overlap_param_gather_with_optimizer_step", "align_param_gather",
        "bucket_size", "defer_embedding_wgrad_compute", "wgrad_deferral_limit", "data_parallel_size",
        "overlap_moe_expert_parallel_comm", "delay_wgrad_compute"})
    EXPECT_TRUE(find_row(std::string("comm_overlap.") + field)) << field;
}

TEST(Schema, KnownKnobsListEveryRow) {
  const auto knobs = known_knobs();
  ASSERT_EQ(knobs.size(), rows().size());
  const auto steps = std::find_if(knobs.begin(), knobs.end(), [](const KnobInfo& k) { return k.name == "run.steps"; });
  ASSERT_NE(steps, knobs.end());
  EXPECT_EQ(steps->status, "honoured");
  EXPECT_EQ(steps->type, "a whole number from 1 to 4095");
  EXPECT_EQ(steps->default_rule, std::to_string(RunConfig{}.steps) + "; 1 with backend sim");
}

}  // namespace
}  // namespace underlap::plan
