// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/name.hpp"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace underlap {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::deque<std::string> names{std::string{}};  // a deque never moves its strings, so views stay valid
  std::unordered_map<std::string_view, NameId> ids{{std::string_view{}, kNoName}};
};

Registry& registry() {
  static auto* const instance = new Registry;  // never destroyed: names outlive static destruction
  return *instance;
}

}  // namespace

NameId intern(std::string_view name) {
  Registry& r = registry();
  {
    const std::shared_lock lock(r.mutex);
    if (const auto found = r.ids.find(name); found != r.ids.end()) return found->second;
  }
  const std::unique_lock lock(r.mutex);
  if (const auto found = r.ids.find(name); found != r.ids.end()) return found->second;
  const NameId id{static_cast<std::uint32_t>(r.names.size())};
  r.ids.emplace(r.names.emplace_back(name), id);
  return id;
}

std::string_view name_of(NameId id) {
  Registry& r = registry();
  const std::shared_lock lock(r.mutex);
  return r.names.at(static_cast<std::uint32_t>(id));
}

}  // namespace underlap
