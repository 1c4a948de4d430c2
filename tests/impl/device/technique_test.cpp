// SPDX-License-Identifier: Apache-2.0
#include "impl/device/technique.hpp"

#include <gmock/gmock.h>

namespace underlap {
namespace {

/// A technique that says its name.
struct Named {
  std::string_view name;
};

int last_digit(const int& choice) { return choice % 10; }

struct First;
struct Second;

/// Techniques of a kind of their own for each test: what is added stays.
template <class Test>
struct Context {};
template <class Test>
using Kind = Techniques<Named, Context<Test>, last_digit>;

template <class Test>
typename Kind<Test>::Info technique(std::string_view name, std::vector<int> keys) {
  return {.name = name,
          .summary = "",
          .exposed = "",
          .keys = std::move(keys),
          .facts = {},
          .make = [name](const Context<Test>&) { return std::make_unique<Named>(Named{name}); }};
}

TEST(Techniques, OfAKindAreChosenByWhatTheyClaimAndOneMayHaveTheRest) {
  using Kinds = Kind<First>;
  EXPECT_THROW(Kinds::in_effect(1), std::logic_error) << "there is none";
  Kinds::add(technique<First>("odd", {1, 3, 5, 7, 9}));
  EXPECT_EQ(Kinds::make(23, {})->name, "odd");
  EXPECT_THROW(Kinds::in_effect(2), std::logic_error) << "nobody claims it";
  Kinds::add(technique<First>("even", {}));
  EXPECT_EQ(Kinds::make(2, {})->name, "even");
  Kinds::add(technique<First>("four", {4}));
  EXPECT_EQ(Kinds::make(14, {})->name, "four");
  EXPECT_EQ(Kinds::make(2, {})->name, "even");
}

TEST(Techniques, ThatNoConfigurationCouldTellApartAreRefused) {
  using Kinds = Kind<Second>;
  Kinds::add(technique<Second>("low", {1, 2}));
  Kinds::add(technique<Second>("rest", {}));
  EXPECT_THROW(Kinds::add(technique<Second>("other", {3, 2})), std::logic_error) << "both claim 2";
  EXPECT_THROW(Kinds::add(technique<Second>("other", {})), std::logic_error) << "both have the rest";
  EXPECT_THROW(Kinds::add(technique<Second>("low", {3})), std::logic_error) << "both have one name";
  EXPECT_EQ(Kinds::all().size(), 2U);
}

}  // namespace
}  // namespace underlap
