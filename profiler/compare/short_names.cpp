// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "platform/text/escape.hpp"

namespace underlap::compare {
namespace {

constexpr std::string_view kCut = "...";
constexpr std::size_t kHead = 12;  // of a name that is cut to show where it differs
constexpr std::size_t kPiece = 5;
constexpr std::size_t kMostPlaces = 3;

std::string_view without_type(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name;
}

// "kernel<float>(float*, long)" without its arguments; "Memcpy HtoD (Pinned -> Device)" has none.
std::string_view without_arguments(std::string_view name) {
  if (!name.ends_with(')')) return name;
  std::size_t depth = 0, place = name.size();
  do {
    --place;
    if (name[place] == ')') ++depth;
    if (name[place] == '(') --depth;
  } while (depth > 0 && place > 0);
  const bool is_called = depth == 0 && place > 0 && name[place - 1] != ' ' && name[place - 1] != ':';
  return is_called ? name.substr(0, place) : name;
}

std::string_view without_namespaces(std::string_view name) {
  const std::size_t qualified = name.substr(0, name.find('<')).rfind("::");
  return qualified == std::string_view::npos || qualified + 2 == name.size() ? name : name.substr(qualified + 2);
}

std::string cut_in_the_middle(std::string_view name, std::size_t longest) {
  if (name.size() <= longest) return std::string(name);
  const std::size_t kept = longest - std::min(longest, kCut.size());
  const std::size_t head = kept - kept / 2;
  return fmt::format("{}{}{}", name.substr(0, head), kCut, name.substr(name.size() - kept / 2));
}

// The head of a name, and the text at each of the places. `places` is in order; the places share the remaining length.
std::string cut_to_places(std::string_view name, const std::set<std::size_t>& places, std::size_t longest) {
  const std::string_view base = without_namespaces(name);
  const std::size_t least = places.size() * (kCut.size() + kPiece);
  const std::size_t head = std::min({kHead, base.size(), longest - std::min(longest, least)});
  std::string cut(base.substr(0, head));
  std::size_t shown = name.size() - base.size() + head;  // of the name, up to here
  std::size_t left = places.size();
  for (const std::size_t place : places) {
    const std::size_t room = (longest - std::min(longest, cut.size())) / left--;
    const bool is_next = place <= shown;
    const std::size_t length = is_next ? room : room - std::min(room, kCut.size());
    const std::size_t from = is_next ? shown : place;
    if (!is_next) cut += kCut;
    cut += name.substr(std::min(from, name.size()), length);
    shown = std::max(shown, std::min(from + length, name.size()));
  }
  return cut;
}

std::size_t common_prefix(const std::set<std::string_view>& names) {
  const std::string_view first = *names.begin(), last = *names.rbegin();  // the others are between them
  return static_cast<std::size_t>(std::ranges::mismatch(first, last).in1 - first.begin());
}

class ShortNames {
 public:
  explicit ShortNames(const std::vector<LongName>& names) : names_(names), places_(names.size()) {
    for (const LongName& name : names) shorts_.push_back(short_name(name.name, name.longest));
  }

  std::vector<std::string> run() {
    for (std::size_t cut = 0; cut < kMostPlaces && tell_apart(); ++cut) {
    }
    number();
    return std::move(shorts_);
  }

 private:
  std::map<std::string, std::set<std::string_view>> equal() const {
    std::map<std::string, std::set<std::string_view>> names_of;
    for (std::size_t i = 0; i < names_.size(); ++i) names_of[shorts_[i]].insert(without_type(names_[i].name));
    std::erase_if(names_of, [](const auto& entry) { return entry.second.size() < 2; });
    return names_of;
  }

  // Also shows the first difference of equal short names.
  bool tell_apart() {
    const auto names_of = equal();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto found = names_of.find(shorts_[i]);
      if (found == names_of.end()) continue;
      places_[i].insert(common_prefix(found->second));
      shorts_[i] = cut_to_places(without_type(names_[i].name), places_[i], names_[i].longest);
    }
    return !names_of.empty();
  }

  void number() {
    const auto names_of = equal();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto found = names_of.find(shorts_[i]);
      if (found == names_of.end()) continue;
      const auto place = found->second.find(without_type(names_[i].name));
      const std::string number = fmt::format(" #{}", std::distance(found->second.begin(), place) + 1);
      shorts_[i].resize(std::min(shorts_[i].size(), names_[i].longest - std::min(names_[i].longest, number.size())));
      shorts_[i] += number;
    }
  }

  const std::vector<LongName>& names_;
  std::vector<std::string> shorts_;
  std::vector<std::set<std::size_t>> places_;  // of each name, where it differs from others
};

}  // namespace

std::string short_name(std::string_view name, std::size_t longest) {
  const std::string visible = visible_text(name);
  name = without_type(visible);
  if (name.size() > longest) name = without_arguments(name);
  if (name.size() > longest) name = without_namespaces(name);
  return cut_in_the_middle(name, longest);
}

std::vector<std::string> short_names(const std::vector<LongName>& names) { return ShortNames(names).run(); }

}  // namespace underlap::compare
