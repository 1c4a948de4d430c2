// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "impl/model/text_data.hpp"
#include "impl/plan/config.hpp"

namespace underlap::bench {

/// The training texts of a matrix, each read once. Thread-safe.
class Texts {
 public:
  /// The text of `config`; it lives as long as this. Throws std::invalid_argument as model::TextData::open() does.
  const model::TextData& of(const plan::Config& config) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<model::TextData>& text = texts_[{config.train.data, config.model.seq_length, config.run.seed}];
    if (text == nullptr)
      text = std::make_unique<model::TextData>(
          model::TextData::open(config.train.data, config.model.seq_length, config.run.seed));
    return *text;
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::string, std::int64_t, std::uint64_t>, std::unique_ptr<model::TextData>> texts_;
};

}  // namespace underlap::bench
