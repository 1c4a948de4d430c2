// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/slots/slot_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "impl/plan/rules/tensor_checks.hpp"
#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

template <class Member>
Value member_value(const Member& member) {
  return member;
}
Value member_value(TensorMethod method) { return std::string(kTensorMethodNames[method]); }

void assign_member(TensorMethod& method, const Value& value) {
  method = kTensorMethodNames.find(std::get<std::string>(value)).value();
}
void assign_member(int& number, const Value& value) { number = static_cast<int>(std::get<std::int64_t>(value)); }
void assign_member(bool& flag, const Value& value) { flag = is_true(value); }

template <auto member>
Value read_member(const TensorSlotOverlap& overlap) {
  return member_value(overlap.*member);
}
template <auto member>
void store_member(TensorSlotOverlap& overlap, const Value& value) {
  assign_member(overlap.*member, value);
}

template <auto member>
constexpr SlotMember kMember{&read_member<member>, &store_member<member>};

bool always(TensorSlot, TensorMethod) { return true; }

std::string refuse_odd_groups(const Config& config, const Value& aggregate) {
  const std::int64_t tp = config.parallel.tensor_model_parallel_size;
  if (!is_true(aggregate) || tp < 2 || tp % 2 == 0) return "";
  return fmt::format(" moves parts in pairs, but {} is {}; it must be even", kTp, tp);
}

void check_splits(const SlotInEffect& s) {
  const Entry* entry = s.written("num_splits");
  const std::int64_t features = s.r.config().model.hidden_size;
  if (s.overlap.method != TensorMethod::pipeline) {
    if (entry != nullptr && s.request.contains("num_splits"))
      s.r.plan.notices.push_back(
          {s.r.problems.text(entry->value->place),
           fmt::format("{}.num_splits has no effect: {} is not split", s.path, kTensorMethodNames[s.overlap.method])});
  } else if (features > 0 && features % s.overlap.num_splits != 0) {
    s.r.problems.add(
        entry != nullptr ? entry->value->place : s.r.place_of({s.path, kTensorOverlapConfig, "model.hidden_size"}),
        fmt::format("{}.num_splits is {}, which does not divide the {} output features of the GEMM "
                    "(model.hidden_size); set it to a divisor",
                    s.path, s.overlap.num_splits, features));
  }
}

/// Whether a number other than 1 was written.
bool is_written(const SlotInEffect& s, std::string_view name) {
  const auto number = s.request.find(name);
  return s.written(name) != nullptr && number != s.request.end() && number->second != Value(1);
}

void check_num_sm(const SlotInEffect& s) {
  const bool is_copied =
      s.overlap.method == TensorMethod::ring_exchange && s.r.config().extensions.tp_ring_transport == "copy_engine";
  if (is_copied && !s.overlap.set_sm_margin && is_written(s, "num_sm"))
    s.notice(
        ".num_sm has no effect: copy engines move the parts of a ring, and set_sm_margin, which would leave SMs free, "
        "is false");
}

void check_cga_size(const SlotInEffect& s) {
  if (s.overlap.method == TensorMethod::ring_exchange && is_written(s, "cga_size"))
    s.notice(".cga_size has no effect: the hops of a ring are copies, or sends and receives that NCCL schedules");
}

void check_fp8_buf(const SlotInEffect& s) {
  if (s.overlap.fp8_buf && is_left_at_tuple(s.request))
    s.notice(
        ".fp8_buf is left at the default of PipelineOverlapCfg, the tuple (False,), which counts as true: reduced data "
        "is sent as fp8");
}

// 32 is the most that userbuffers' kernels take, 8 the most blocks of a portable cluster.
std::vector<SlotField> transformer_engine_fields() {
  return {
      {.name = "method",
       .type = Type::text,
       .choices = "bulk ring_exchange pipeline nccl waited",
       .applies = always,
       .member = kMember<&TensorSlotOverlap::method>},
      {.name = "num_splits",
       .type = Type::integer,
       .range = {1, 1024},
       .word = "x",
       .applies = [](TensorSlot, TensorMethod method) { return method == TensorMethod::pipeline; },
       .check = check_splits,
       .member = kMember<&TensorSlotOverlap::num_splits>},
      {.name = "aggregate",
       .word = "+aggregate",
       .applies = [](TensorSlot slot, TensorMethod m) { return m == TensorMethod::ring_exchange && gathers(slot, m); },
       .chooses = SlotTechnique::gather_gemm,
       .no_effect = "only a ring that gathers moves parts in pairs",
       .refusal = refuse_odd_groups,
       .member = kMember<&TensorSlotOverlap::aggregate>},
      {.name = "num_sm",
       .type = Type::integer,
       .range = {1, 32},
       .word = "sm",
       .check = check_num_sm,
       .member = kMember<&TensorSlotOverlap::num_sm>},
      {.name = "cga_size",
       .type = Type::integer,
       .range = {1, 8},
       .word = "cga",
       .check = check_cga_size,
       .member = kMember<&TensorSlotOverlap::cga_size>},
      {.name = "set_sm_margin", .word = "margin", .member = kMember<&TensorSlotOverlap::set_sm_margin>},
      {.name = "fp8_buf",
       .word = "+fp8",
       .chooses = SlotTechnique::gemm_scatter,
       .check = check_fp8_buf,
       .member = kMember<&TensorSlotOverlap::fp8_buf>},
  };
}

std::size_t num_of_transformer_engine() {
  static const std::size_t num = transformer_engine_fields().size();
  return num;
}

std::vector<SlotField>& all_fields() {
  static std::vector<SlotField> fields = transformer_engine_fields();
  return fields;
}

}  // namespace

std::span<const SlotField> slot_fields() { return all_fields(); }

const SlotField* find_slot_field(std::string_view name) {
  const auto found = std::ranges::find(all_fields(), name, &SlotField::name);
  return found == all_fields().end() ? nullptr : &*found;
}

SlotField add_slot_field(const SlotField& field) {
  if (find_slot_field(field.name) != nullptr)
    throw std::logic_error(fmt::format("two fields of a slot are named {}", field.name));
  const auto first = all_fields().begin() + static_cast<std::ptrdiff_t>(num_of_transformer_engine());
  all_fields().insert(std::ranges::upper_bound(first, all_fields().end(), field.name, {}, &SlotField::name), field);
  return field;
}

Value read_field(const SlotField& field, const TensorSlotOverlap& overlap) {
  if (field.member.read != nullptr) return field.member.read(overlap);
  const auto found = overlap.own.find(field.name);
  return found == overlap.own.end() ? field.fallback : found->second;
}

void store_field(const SlotField& field, TensorSlotOverlap& overlap, const Value& value) {
  if (field.member.store != nullptr)
    field.member.store(overlap, value);
  else
    overlap.own[field.name] = value;
}

SlotKey slot_key(SlotTechnique kind, const TensorSlotOverlap& overlap) {
  SlotKey key{.method = overlap.method};
  for (const SlotField& field : slot_fields())
    if (field.chooses == kind && is_true(read_field(field, overlap))) key.with.insert(field.name);
  return key;
}

}  // namespace underlap::plan
