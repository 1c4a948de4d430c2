// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/kineto/strings.hpp"

namespace underlap::formats {

/// Reads the arguments of XLA's and Ascend's events, which PyTorch's profiler does not write.
class KinetoForeignArguments {
 public:
  explicit KinetoForeignArguments(KinetoNames& names) : names_(names) {}

  void clear();
  /// Takes one argument; false for one that it does not know. `key` begins after its opening quote.
  bool take(const char* key, simdjson::ondemand::value value);
  /// Whether the event has such arguments.
  bool has_any() const { return has_any_; }
  const KinetoForeign& foreign() const { return foreign_; }

 private:
  bool take_of_xla(const char* key, simdjson::ondemand::value value);
  bool take_of_ascend(const char* key, simdjson::ondemand::value value);

  KinetoNames& names_;
  KinetoForeign foreign_;
  bool has_any_ = false;
};

}  // namespace underlap::formats
