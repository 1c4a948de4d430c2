// SPDX-License-Identifier: Apache-2.0
// What most tests need: matchers by their bare names, names of cases, and what a call throws.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <exception>
#include <string>

namespace underlap {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

/// Names each case of INSTANTIATE_TEST_SUITE_P by its member `name`, or by itself where it is a text.
struct CaseName {
  template <class Case>
  std::string operator()(const testing::TestParamInfo<Case>& test) const {
    if constexpr (requires { test.param.name; })
      return valid(test.param.name);
    else
      return valid(test.param);
  }

 private:
  static std::string valid(std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return std::string_view("-/. ").find(c) != std::string_view::npos; }, '_');
    return name;
  }
};

/// The message of the Error that `call` throws; empty where it throws nothing.
template <class Error = std::exception, class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace underlap
