// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace underlap {

/// In which order a reduction adds up, against NCCL's on the communicator of the whole group.
enum class SumOrder : std::uint8_t {
  same,
  may_differ,  ///< NCCL's elsewhere, for which it may choose another algorithm; of two ranks there is one order alone
  differs,
};

/// Properties of an active technique, for code that handles all kinds.
struct TechniqueFacts {
  std::string_view knob;           ///< that its overlap hangs on, whether it overlaps or is what runs without
  bool overlaps = true;            ///< something of it may be hidden; else everything is waited for
  SumOrder sums = SumOrder::same;  ///< where it reduces
  std::vector<std::string_view> purposes = {};  ///< how those of its communication begin; a slot's have its name before
};

/// A technique of one kind: how `underlap list` shows it, what a configuration must ask for to get it, and how it is
/// made. `Key` is the little of a configuration that decides, `Context` what a technique works with.
template <class Interface, class Key, class Context>
struct Technique {
  std::string_view name;
  std::string_view summary;  ///< what it does, in one line
  std::string_view exposed;  ///< what it leaves exposed
  std::vector<Key> keys;     ///< that put it in effect; empty: all that no other technique of the kind claims
  TechniqueFacts facts;
  std::function<std::unique_ptr<Interface>(const Context&)> make;
};

/// `make` of a technique whose class is constructed from its context and `more`.
template <class T, auto... more>
// NOLINTNEXTLINE(readability-identifier-naming): it is called as a function
constexpr auto make_of = [](const auto& context) { return std::make_unique<T>(context, more...); };

template <auto selector>
struct SelectorTypes;
template <class K, class C, K (*selector)(const C&)>
struct SelectorTypes<selector> {
  using Key = K;
  using Choice = C;
};

/// All techniques of one kind that are linked in, sorted by name. Technique files lie in OBJECT libraries, so that no
/// linker drops what registers itself.
///
/// `key_of` maps a configuration to a key, and a key belongs to one technique: so exactly one is in effect, and none
/// has to know the others.
template <class Interface, class Context, auto key_of>
class Techniques {
 public:
  using Key = typename SelectorTypes<key_of>::Key;
  using Choice = typename SelectorTypes<key_of>::Choice;
  using Info = Technique<Interface, Key, Context>;

  static std::span<const Info> all() { return registry(); }

  /// Throws std::logic_error where another technique has its name or one of its keys.
  static void add(const Info& info) {
    auto& techniques = registry();
    for (const Info& other : techniques)
      if (other.name == info.name || share_a_key(other, info))
        throw std::logic_error(fmt::format("no configuration distinguishes {} from {}", other.name, info.name));
    techniques.insert(std::ranges::upper_bound(techniques, info.name, {}, &Info::name), info);
  }

  /// The one that `choice` puts in effect.
  static const Info& in_effect(const Choice& choice) {
    const Key key = key_of(choice);
    const Info* otherwise = nullptr;
    for (const Info& technique : all()) {
      if (std::ranges::find(technique.keys, key) != technique.keys.end()) return technique;
      if (technique.keys.empty()) otherwise = &technique;
    }
    if (otherwise == nullptr) throw std::logic_error("no technique applies to this configuration");
    return *otherwise;
  }

  static std::unique_ptr<Interface> make(const Choice& choice, const Context& context) {
    return in_effect(choice).make(context);
  }

  /// Adds a technique when its file is linked in.
  struct Register {
    explicit Register(const Info& info) { add(info); }
  };

 private:
  static bool share_a_key(const Info& a, const Info& b) {
    if (a.keys.empty() || b.keys.empty()) return a.keys.empty() && b.keys.empty();
    return std::ranges::find_first_of(a.keys, b.keys) != a.keys.end();
  }

  static std::vector<Info>& registry() {
    static std::vector<Info> techniques;
    return techniques;
  }
};

}  // namespace underlap
