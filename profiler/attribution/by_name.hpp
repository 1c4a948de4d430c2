// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "profiler/trace/name.hpp"

namespace underlap::attribution {

/// The meanings of names, each evaluated once. Ids count from 0, so millions of slices are looked up by index.
/// References to meanings stay valid.
template <class Meaning>
class ByName {
 public:
  /// What was read of `name`; read(name_of(name)) where that is the first time.
  template <class Read>
  const Meaning& of(NameId name, const Read& read) {
    const auto id = static_cast<std::size_t>(name);
    if (id >= known_.size()) known_.resize(std::max(id + 1, 2 * known_.size()));
    if (!known_[id]) known_[id] = std::make_unique<Meaning>(read(name_of(name)));
    return *known_[id];
  }

 private:
  std::vector<std::unique_ptr<Meaning>> known_;
};

}  // namespace underlap::attribution
