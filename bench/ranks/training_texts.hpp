// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "impl/model/text_data.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap::bench {

/// The training texts of a matrix, each read once. Thread-safe.
class Texts {
 public:
  /// The text of `config`; it lives as long as this. Throws std::invalid_argument as model::TextData::open() does.
  const model::TextData& of(const plan::Config& config);

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::string, std::int64_t, std::uint64_t>, std::unique_ptr<model::TextData>> texts_;
};

}  // namespace underlap::bench
