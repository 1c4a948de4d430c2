// SPDX-License-Identifier: Apache-2.0
// Plans beside what Megatron-Bridge's and Megatron Core's own code answers to the same configurations. The folder that
// UNDERLAP_MEGATRON_CASES names holds the answers.
#include <fmt/format.h>

#include <cstdlib>

#include "impl/plan/rules/resolution.hpp"
#include "platform/input/input_file.hpp"
#include "platform/json.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using Json = nlohmann::ordered_json;

/// The lines of a file of answers.
std::vector<Json> answers(const std::filesystem::path& file) {
  std::vector<Json> lines;
  const std::string text = read_input_file(file);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(parse_json(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

class Megatron : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("UNDERLAP_MEGATRON_CASES");
    if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_MEGATRON_CASES names no folder with Megatron's answers";
    folder_ = folder;
  }
  std::filesystem::path folder_;
};

/// A field says what was set, and a plan what comes of it. These words tell what Megatron's code does with it later.
constexpr std::array kLater = {"Transformer Engine", "tp_comm_overlap_rs_dgrad", "Megatron Core's DDP uses"};

/// What Megatron-Bridge takes and its training then stops at: in Megatron Core's parallel state, schedules, layers and
/// buckets, or in Transformer Engine.
constexpr std::array kStopsLater = {
    "overlap_p2p_comm and batch_p2p_comm are mutually exclusive",
    "the plain 1F1B schedule rejects it",
    "Transformer Engine's userbuffers support bf16",
    "needs at least 2 stages for virtual stages",
    "the same two ranks exchange several tensors in one batch",
    "fails in the first forward pass",
    "do not divide evenly among the",
    "does not divide",
    "is not divisible by",
    "needs ddp.use_distributed_optimizer",
    "virtual stages need a multiple",
    "Megatron Core fails because there is no second chunk",
    "and leave a remainder of 0",
    "num_distributed_optimizer_instances above 1 and ddp.reduce_scatter_with_fp32_accumulation are mutually exclusive"};

template <std::size_t n>
bool holds_any(std::string_view text, const std::array<const char*, n>& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != text.npos; });
}

/// Whether a slot that Megatron sets up is the slot of the plan. fp8_buf is computed again by Transformer Engine.
bool is_same_slot(const Value& planned, const Json& theirs) {
  const Value* method = find(planned, "method");
  const bool is_off = method == nullptr || *method == Value("nccl") || *method == Value("waited");
  if (theirs == "off") return is_off;
  if (is_off || !theirs.is_object()) return !is_off && theirs == "TE default";
  for (const auto& [field, value] : theirs.items()) {
    const Value* own = field == "fp8_buf" ? nullptr : find(planned, field);
    if (own != nullptr && parse_json(to_json_text(*own)) != value) return false;
  }
  return true;
}

/// Counts what agrees, and names what does not.
class Comparison {
 public:
  void compare(const Plan& plan, const Json& theirs, std::size_t line) {
    for (const auto& [name, value] : theirs.items()) {
      const bool is_slot = name.starts_with("slot.");
      const std::string path = is_slot ? "comm_overlap.tp_comm_overlap_cfg." + name.substr(5) : name;
      const auto row = find_row(path);
      const auto knob =
          std::ranges::find_if(plan.knobs, [&](const Knob& k) { return row && k.name == rows()[*row].path; });
      if (knob == plan.knobs.end()) continue;
      const bool is_same =
          is_slot ? is_same_slot(knob->effective, value) : parse_json(to_json_text(knob->effective)) == value;
      auto& [equal, explained] = counts_[path];
      if (is_same)
        ++equal;
      else if (holds_any(knob->reason, kLater))
        ++explained;
      else
        ADD_FAILURE() << "line " << line << ": " << path << " is " << value << ", planned "
                      << to_json_text(knob->effective) << ": " << knob->reason;
    }
  }

  int equal() const { return total(&std::pair<int, int>::first); }
  int explained() const { return total(&std::pair<int, int>::second); }

 private:
  int total(int std::pair<int, int>::*count) const {
    int sum = 0;
    for (const auto& [path, counts] : counts_) sum += counts.*count;
    return sum;
  }
  std::map<std::string, std::pair<int, int>> counts_;
};

TEST_F(Megatron, HasThePlansValuesOrAReasonSaysWhatItDoesLater) {
  Comparison comparison;
  std::size_t line = 0;
  for (const Json& answer : answers(folder_ / "effective_values.jsonl.gz")) {
    ++line;
    const Matrix matrix = parse(answer["config"], "f");
    const Json& theirs = answer["megatron"];
    if (!theirs["error"].is_null()) {
      EXPECT_TRUE(matrix.has_errors()) << "line " << line << ": Bridge refuses it: " << theirs["error"];
    } else if (matrix.has_errors()) {
      for (const Message& error : matrix.errors)
        EXPECT_TRUE(holds_any(error.message, kStopsLater)) << "line " << line << ": " << error.message;
    } else {
      comparison.compare(matrix.cells.front().plan, theirs["effective"], line);
    }
  }
  EXPECT_GT(comparison.equal(), 1000);
  RecordProperty("equal", comparison.equal());
  RecordProperty("explained", comparison.explained());
}

TEST_F(Megatron, HasTheEnvironmentOfThePlan) {
  std::size_t line = 0;
  for (const Json& answer : answers(folder_ / "effective_values.jsonl.gz")) {
    ++line;
    const Matrix matrix = parse(answer["config"], "f");
    if (!answer["megatron"]["error"].is_null() || matrix.has_errors()) continue;
    std::map<std::string, std::string> planned;
    for (const EnvironmentVariable& variable : matrix.cells.front().plan.environment)
      planned[variable.name] = variable.value;
    for (const auto& [name, value] : answer["megatron"]["environment"].items())
      EXPECT_EQ(planned[name], value.get<std::string>()) << "line " << line << ": " << name;
  }
}

/// A configuration of the case's sizes, whose buckets Megatron's own model and bucket code gave.
std::string config_of(const Json& of) {
  const std::string sizes = of["virtual_pipeline_model_parallel_size"] == 1
                                ? ""
                                : fmt::format(", virtual_pipeline_model_parallel_size: {}",
                                              json_text(of["virtual_pipeline_model_parallel_size"]));
  return fmt::format(
      "model: {{preset: {}, num_layers: {}, position_embedding_type: rope, normalization: RMSNorm, add_bias_linear: "
      "false, tensor_model_parallel_size: {}, "
      "pipeline_model_parallel_size: {}, context_parallel_size: {}{}}}\n"
      "data_parallel_size: {}\ntrain: {{num_microbatches: 64}}\n"
      "ddp: {{use_distributed_optimizer: {}, pad_buckets_for_high_nccl_busbw: {}, overlap_grad_reduce: {}, "
      "overlap_param_gather: {}, bucket_size: {}}}\n"
      "optimizer: {{overlap_param_gather_with_optimizer_step: {}}}\n",
      of["preset"].get<std::string>(), json_text(of["num_layers"]), json_text(of["tensor_model_parallel_size"]),
      json_text(of["pipeline_model_parallel_size"]), json_text(of["context_parallel_size"]), sizes,
      json_text(of["data_parallel_size"]), json_text(of["use_distributed_optimizer"]),
      json_text(of["pad_buckets_for_high_nccl_busbw"]), json_text(of["overlap"]),
      of["use_distributed_optimizer"].get<bool>() ? json_text(of["overlap"]) : "false", json_text(of["bucket_size"]),
      json_text(of["overlap_param_gather_with_optimizer_step"]));
}

TEST_F(Megatron, HasThePlansBuckets) {
  for (const Json& answer : answers(folder_ / "buckets.jsonl.gz")) {
    const Plan plan = plan_of(config_of(answer["case"]));
    const auto chunk = std::ranges::find_if(plan.buckets, [&](const ChunkBuckets& of) {
      return of.stage == answer["stage"].get<int>() && of.chunk == answer["chunk"].get<int>();
    });
    ASSERT_NE(chunk, plan.buckets.end());
    EXPECT_EQ(chunk->elements, answer["elements"].get<std::vector<std::int64_t>>()) << answer["case"];
  }
}

}  // namespace
}  // namespace underlap::plan
