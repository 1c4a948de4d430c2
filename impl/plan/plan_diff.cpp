// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_diff.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/plan_words.hpp"
#include "platform/fields/json_schema.hpp"
#include "platform/memory_room.hpp"

namespace underlap::plan {

void visit_fields(fields::Is<Difference> auto& difference, auto&& field) {
  field("name", difference.what);
  field("first", difference.before);
  field("second", difference.after);
  field("reason", difference.why);
}

namespace {

constexpr const char* kDifferencesSchema = "underlap.plan_diff/1";

struct Differences {
  std::vector<Difference> differences;
};

void visit_fields(fields::Is<Differences> auto& all, auto&& field) { field("differences", all.differences); }

/// A compared value, and its reason.
struct Effect {
  std::string value, why;
  bool is_default = false;
};

class Effects {
 public:
  explicit Effects(const Plan& plan) {
    for (const Knob& knob : plan.knobs) add(knob.name, {value_text(knob.effective), knob.reason, is_left_alone(knob)});
    for (const EnvironmentVariable& variable : plan.environment) add(variable.name, {variable.value, variable.reason});
    for (const ChunkBuckets& chunk : plan.buckets)
      add(fmt::format("buckets of stage {}, chunk {}", chunk.stage, chunk.chunk), {buckets_text(chunk), ""});
    add("predicted peak memory", {in_bytes(plan.peak_memory.total()), ""});
  }

  const std::vector<std::string>& names() const { return names_; }
  const Effect* find(const std::string& name) const {
    const auto found = effects_.find(name);
    return found == effects_.end() ? nullptr : &found->second;
  }

 private:
  static std::string buckets_text(const ChunkBuckets& chunk) {
    if (chunk.elements.empty()) return "none";
    const auto [least, most] = std::ranges::minmax_element(chunk.elements);
    return fmt::format("{} of {} to {} elements", chunk.elements.size(), *least, *most);
  }

  void add(const std::string& name, Effect effect) {
    names_.push_back(name);
    effects_[name] = std::move(effect);
  }

  std::vector<std::string> names_;
  std::map<std::string, Effect> effects_;
};

/// A knob that one plan alone reports, at its default, is no difference: the other has no use for it.
bool is_same(const Effect* a, const Effect* b) {
  if (a == nullptr || b == nullptr) return (a == nullptr ? b : a)->is_default;
  return a->value == b->value;
}

std::string value_or_none(const Effect* effect) { return effect == nullptr ? "-" : effect->value; }

}  // namespace

std::vector<Difference> differences(const Plan& before, const Plan& after) {
  const Effects first(before), second(after);
  std::vector<std::string> names = first.names();
  for (const std::string& name : second.names())
    if (first.find(name) == nullptr) names.push_back(name);
  std::vector<Difference> all;
  for (const std::string& name : names) {
    const Effect *a = first.find(name), *b = second.find(name);
    if (!is_same(a, b)) all.push_back({name, value_or_none(a), value_or_none(b), b == nullptr ? "" : b->why});
  }
  return all;
}

std::string differences_text(const std::vector<Difference>& differences, const TableFormat& format) {
  constexpr int kWidest = 28;
  if (differences.empty()) return "no difference in effect\n";
  Table table{{{"in effect", Align::left},
               {"first", Align::left, 0, kWidest},
               {"second", Align::left, 0, kWidest},
               {"why (second)", Align::left, 1}},
              {}};
  for (const Difference& d : differences) table.rows.push_back({{d.what}, {d.before}, {d.after}, {d.why}});
  return render(table, format);
}

std::string differences_json(const std::vector<Difference>& differences) {
  return json_text(fields::document(kDifferencesSchema, Differences{differences}), 2);
}

std::string differences_json_schema() { return fields::schema_text<Differences>(kDifferencesSchema); }

}  // namespace underlap::plan
