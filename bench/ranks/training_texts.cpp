// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/training_texts.hpp"

#include "impl/plan/config.hpp"

namespace underlap::bench {

const model::TextData& Texts::of(const plan::Config& config) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<model::TextData>& text = texts_[{config.train.data, config.model.seq_length, config.run.seed}];
  if (text == nullptr)
    text = std::make_unique<model::TextData>(
        model::TextData::open(config.train.data, config.model.seq_length, config.run.seed));
  return *text;
}

}  // namespace underlap::bench
