// SPDX-License-Identifier: Apache-2.0
// A fuzzer without coverage, for compilers that have none: mutate NUMBER hands the seeds of one reader to it, and
// NUMBER inputs made of them, always the same. Where one ends the program, its bytes are in the file that is named
// first.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "tests/fuzz/harness.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::fuzz {
namespace {

// Words that mean something to a reader, or are at the end of a range.
constexpr std::array<std::string_view, 16> kWords{"0",
                                                  "-1",
                                                  "1e308",
                                                  "nan",
                                                  "9223372036854775807",
                                                  "99999999999999999999",
                                                  "null",
                                                  "[",
                                                  "{",
                                                  "]",
                                                  "}",
                                                  ":\n",
                                                  "- ",
                                                  "\"",
                                                  "&a *a",
                                                  std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9)};

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string input = any_seed();
    for (std::size_t edits = 1 + below(5); edits > 0; --edits) edit(input);
    return input;
  }

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  const std::string& any_seed() { return seeds_[below(seeds_.size())]; }

  void edit(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = std::min(input.size() - at, 1 + below(below(8) == 0 ? 500 : 9));
    switch (below(6)) {
      case 0:
        if (at < input.size()) input[at] ^= static_cast<char>(1 << below(8));
        break;
      case 1: input.erase(at, length); break;
      case 2: input.insert(at, kWords[below(kWords.size())]); break;
      case 3: input.replace(at, length, kWords[below(kWords.size())]); break;
      case 4: repeat(input, at, length); break;
      default: {
        const std::string& other = any_seed();
        input.replace(at, length, other, below(other.size()), length);
      }
    }
  }

  void repeat(std::string& input, std::size_t at, std::size_t length) {
    const std::string piece = input.substr(at, length);
    for (std::size_t times = 1 + below(below(20) == 0 ? 2000 : 3); times > 0; --times) input.insert(at, piece);
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_{1};
};

void hand_over(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

int run(std::size_t number) {
  const testing_support::TemporaryFolder folder;
  std::printf("the last input is in %s\n", (folder / "input").c_str());
  std::fflush(stdout);
  for (const std::string& seed : seeds()) hand_over(seed);
  Mutator mutator(seeds());
  for (std::size_t i = 0; i < number; ++i) {
    const std::string input = mutator.next();
    testing_support::write_text(folder / "input", input);
    hand_over(input);
  }
  std::printf("%zu inputs\n", number);
  return 0;
}

}  // namespace
}  // namespace underlap::fuzz

int main(int argc, char** argv) { return underlap::fuzz::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000); }
