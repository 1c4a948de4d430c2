// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace underlap::testing_support {

/// The message of the error that `run` throws; "" where it throws none.
template <class Error = std::invalid_argument, class Run>
std::string error_of(Run run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace underlap::testing_support
