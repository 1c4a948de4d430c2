// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>

#include "impl/device/sim/cost_model.hpp"
#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim {
namespace {

/// Pieces that readers and formulas trip over.
const std::vector<std::string> kPieces = {"0",          "-1",
                                          "1e999",      "nan",
                                          "inf",        "1e-300",
                                          "0.5",        "99999999999999999999",
                                          "true",       "null",
                                          "[",          "]",
                                          "{",          "}",
                                          ": ",         "\n  ",
                                          "- ",         "&a ",
                                          "*a",         "<<: *ring_in_node",
                                          "'",          "\"",
                                          "#",          "tree",
                                          "nvls",       "ll",
                                          "send",       "\xff",
                                          "[]",         "{}",
                                          "all_to_all", "p2p",
                                          "ampere",     "[[1, 1], [2, 0.1]]"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::size_t times = 1 + below(3); times > 0; --times) {
      const std::size_t at = below(text.size() + 1);
      const std::size_t length = std::min(below(10), text.size() - at);
      switch (below(4)) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, kPieces[below(kPieces.size())]); break;
        case 2: text.replace(at, length, kPieces[below(kPieces.size())]); break;
        default: text.insert(at, text.substr(below(text.size()), 60)); break;
      }
    }
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::mt19937_64 random_;
};

/// What is accepted can be computed with: times are finite and not negative.
void expect_usable(const Hardware& hardware) {
  const CostModel model(hardware);
  const Cost gemm{
      .flops = 2e9, .bytes_read = 1000, .bytes_written = 1000, .work = Work::gemm, .extent = {1000, 1000, 1000}};
  const Cost attention{.flops = 1e9, .work = Work::attention_backward, .extent = {1000, 80, 7}};
  for (const Cost& cost : {gemm, attention, Cost{}, Cost{.bytes_read = 1, .work = Work::norm}})
    EXPECT_TRUE(std::isfinite(model.kernel(cost).alone_ns) && model.kernel(cost).alone_ns >= 0);
  for (const Collective collective : {Collective::all_gather, Collective::all_reduce, Collective::broadcast,
                                      Collective::all_to_all, Collective::send})
    for (const auto& members : {std::vector<std::int32_t>{0, 1}, {0, 4096, 8192}, {0, 1, 4096, 4097}}) {
      const std::vector<TransferShape> call{{.collective = collective, .bytes = 1 << 20, .peer = 1}};
      const TransferTime time = model.transfers(call, members, 0);
      EXPECT_TRUE(std::isfinite(time.alone_ns) && time.alone_ns >= time.latency_ns && time.latency_ns >= 0);
    }
}

TEST(HardwareFuzz, MutatedDescriptionsAreRefusedOrUsable) {
  const std::string seed_text = test::round_yaml();
  std::size_t good = 0;
  constexpr std::uint64_t kCases = 3000;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const std::string yaml = Mutator(seed).mutate(seed_text);
    Hardware hardware;
    try {
      hardware = parse_hardware(yaml, "f");
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("f:"), std::string::npos);
      continue;
    }
    ++good;
    expect_usable(hardware);
  }
  EXPECT_GT(good, kCases / 50);
  EXPECT_LT(good, kCases);
}

}  // namespace
}  // namespace underlap::sim
