// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace underlap {

/// A technique of one kind as `underlap list` shows it and as a configuration chooses it. `Choice` is what decides
/// whether it is in effect, `Context` what it works with.
template <class Interface, class Choice, class Context>
struct Technique {
  std::string_view name;
  std::string_view summary;  ///< what it does, in one line
  std::string_view exposed;  ///< what it leaves exposed
  bool (*in_effect)(const Choice&);
  std::unique_ptr<Interface> (*make)(const Context&);
};

/// All techniques of one kind that are linked in, sorted by name. Technique files lie in OBJECT libraries, so that no
/// linker drops what registers itself.
template <class Interface, class Choice, class Context>
class Techniques {
 public:
  using Info = Technique<Interface, Choice, Context>;

  static std::span<const Info> all() { return registry(); }

  static void add(const Info& info) {
    auto& techniques = registry();
    const auto place =
        std::find_if(techniques.begin(), techniques.end(), [&](const Info& t) { return t.name > info.name; });
    techniques.insert(place, info);
  }

  /// The one that `choice` puts in effect; exactly one is, for every choice.
  static std::unique_ptr<Interface> make(const Choice& choice, const Context& context) {
    const Info* chosen = nullptr;
    for (const Info& technique : all()) {
      if (!technique.in_effect(choice)) continue;
      if (chosen != nullptr) throw std::logic_error("two techniques are in effect for one configuration");
      chosen = &technique;
    }
    if (chosen == nullptr) throw std::logic_error("no technique is in effect for this configuration");
    return chosen->make(context);
  }

  /// Adds a technique when its file is linked in.
  struct Register {
    explicit Register(const Info& info) { add(info); }
  };

 private:
  static std::vector<Info>& registry() {
    static std::vector<Info> techniques;
    return techniques;
  }
};

}  // namespace underlap
