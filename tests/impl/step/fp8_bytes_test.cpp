// SPDX-License-Identifier: Apache-2.0
// What an fp8 recipe makes of the bytes that tensor parallelism moves: gathers are halved and nothing else.
#include "impl/plan/config.hpp"
#include "impl/step/record_programs.hpp"
#include "tests/impl/step/tensor_overlaps.hpp"

namespace underlap {
namespace {

using testing_support::tensor_overlap_cases;
using testing_support::TensorOverlapCase;
using BytesByPurpose = std::map<std::string, std::int64_t>;

// Of rank 1, in the second step of a layer.
BytesByPurpose tensor_parallel_bytes(const plan::Config& config, std::int32_t layer) {
  BytesByPurpose bytes;
  const std::vector<Program> programs = record_programs(config, 2);
  const Program& program = programs[1];
  for (const ProgramCommand& command : program.commands) {
    const bool is_tp = command.type == ProgramCommand::Type::communicate && command.tag.mode == Mode::tp;
    if (!is_tp || command.tag.step != 1 || command.tag.layer != layer) continue;
    for (std::uint32_t i = command.first; i < command.first + command.count; ++i)
      bytes[std::string(name_of(command.tag.purpose))] += message_bytes(program.all_transfers[i]);
  }
  return bytes;
}

bool is_gather(const std::string& purpose) {
  static constexpr std::array<std::string_view, 6> kGathers{
      "qkv_fprop", "fc1_fprop", "proj_dgrad", "fc2_dgrad", "qkv_dgrad_all_gather", "fc1_dgrad_all_gather"};
  return std::any_of(kGathers.begin(), kGathers.end(),
                     [&](std::string_view start) { return purpose.starts_with(start); });
}

class Fp8Bytes : public testing::TestWithParam<TensorOverlapCase> {};
INSTANTIATE_TEST_SUITE_P(Techniques, Fp8Bytes, testing::ValuesIn(tensor_overlap_cases()), CaseName());

TEST_P(Fp8Bytes, AreHalfForGathersAndTheSameForTheRest) {
  plan::Config config = testing_support::small_tensor_config(4, 1);
  testing_support::multiply_in_fp8(config);
  config.tensor_overlap = GetParam().overlap;
  const BytesByPurpose fp8 = tensor_parallel_bytes(config, 1);
  const BytesByPurpose first_layer = tensor_parallel_bytes(config, 0);
  config.mixed_precision = {};
  BytesByPurpose expected = tensor_parallel_bytes(config, 1);
  EXPECT_EQ(first_layer, expected) << "the first layer is bf16";
  std::int32_t num_gathers = 0;
  for (auto& [purpose, bytes] : expected) {
    if (!is_gather(purpose)) continue;
    bytes /= 2;
    ++num_gathers;
  }
  EXPECT_GE(num_gathers, 6);
  // One scale for what is gathered, once: the saved input has its scale already when it is gathered again.
  for (const char* const linear : {"qkv", "proj", "fc1", "fc2"}) expected[std::string(linear) + "_amax_all_reduce"] = 4;
  EXPECT_EQ(fp8, expected);
}

// Each message has its scale; a gather of four of them is as large as they are together.
TEST(Fp8BytesOfReductions, AreHalfWithFp8BufAndTheScales) {
  plan::Config config = testing_support::small_tensor_config(4, 1);
  testing_support::multiply_in_fp8(config);
  for (const TensorOverlapCase& one : testing_support::fp8_overlap_cases()) {
    config.tensor_overlap = one.overlap;
    const BytesByPurpose fp8 = tensor_parallel_bytes(config, 1);
    for (plan::TensorSlotOverlap& slot : config.tensor_overlap.slots) slot.fp8_buf = false;
    const BytesByPurpose bf16 = tensor_parallel_bytes(config, 1);
    if (one.name == "fp8_ring_scatter") {
      EXPECT_EQ(fp8.at("fc2_fprop_ring_hop"), bf16.at("fc2_fprop_ring_hop") / 2 + 4 * 2 * 3);
    } else {
      EXPECT_EQ(fp8.at("fc2_fprop_all_to_all"), bf16.at("fc2_fprop_reduce_scatter") / 2 + 4 * 4 * 2);
      EXPECT_EQ(fp8.at("qkv_dgrad_all_to_all"), bf16.at("qkv_dgrad_reduce_scatter") / 2 + 4 * 4 * 2);
    }
  }
}

}  // namespace
}  // namespace underlap
