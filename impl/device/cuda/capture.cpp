// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/capture.hpp"

#include <fmt/format.h>

#include <utility>

#include "profiler/collect/cupti/activity_parser.hpp"
#include "profiler/collect/cupti/sm_budget.hpp"

namespace underlap::cuda {
namespace {

cupti::OperationRecord record_of(const EnqueuedOperation& operation) {
  cupti::OperationRecord record{.id = operation.id,
                                .tag = operation.tag,
                                .name = operation.name,
                                .number = operation.number,
                                .stream = static_cast<std::int32_t>(operation.stream),
                                .is_communication = operation.communication.has_value(),
                                .sm_budget = operation.sm_budget};
  if (operation.communication) record.communication = *operation.communication;
  if (operation.mark) record.mark = cupti::MarkOfStep{operation.mark->block, operation.mark->step};
  return record;
}

std::vector<Capture::Fault> faults_of(const cupti::Drained& drained, const cupti::Assembled& assembled) {
  std::vector<Capture::Fault> faults;
  const auto add = [&](const char* cause, std::int64_t count, std::string example) {
    if (count > 0) faults.push_back({cause, count, std::move(example)});
  };
  add("dropped", drained.num_dropped, fmt::format("CUPTI dropped {} records", drained.num_dropped));
  add("no buffer", drained.num_refused,
      fmt::format("CUPTI requested a buffer {} times when none was available", drained.num_refused));
  for (const auto& [reason, count] : cupti::lost_records(drained.activities)) add("unreadable", count, reason);
  for (const auto& [name, total] : assembled.untagged)
    add("untagged", total.count, fmt::format("{} records of {} belong to no operation", total.count, name));
  for (const auto& [what, count] : assembled.lost)
    add("lost", count, fmt::format("CUPTI has no record of the device work of {}", what));
  for (const std::string& error : assembled.errors) add("inconsistent", 1, error);
  return faults;
}

}  // namespace

Capture::Capture(cupti::Collector* collector, std::int32_t rank) : collector_(collector) { rank_.rank = rank; }

void Capture::add_stream(std::uint32_t stream, std::string_view name) {
  rank_.streams[static_cast<std::int32_t>(stream)] = name;
}

void Capture::add_group(std::uint32_t communicator, const GroupRecord& group) {
  if (rank_.groups.size() <= communicator) rank_.groups.resize(communicator + 1);
  rank_.groups[communicator] = group;
}

void Capture::push(const EnqueuedOperation& operation) {
  ranges_.push(operation.name, operation.tag, operation.id, operation.number);
  if (!is_on_) return;
  operations_.push_back(record_of(operation));
  collector_->push(operation.id);
}

void Capture::pop() noexcept {
  if (is_on_) collector_->pop();
  ranges_.pop();
}

void Capture::start() {
  if (collector_ == nullptr) return;
  operations_.clear();
  collector_->start();
  is_on_ = true;
}

Capture::Taken Capture::take() {
  if (collector_ == nullptr) return {};
  is_on_ = false;
  collector_->stop();
  cupti::Drained drained = collector_->drain();
  Taken taken{.assembled = cupti::assemble(drained.activities, operations_, rank_),
              .faults = {},
              .notices = {},
              .recording = std::move(drained.recording)};
  taken.assembled.trace.clocks = drained.clocks;
  taken.faults = faults_of(drained, taken.assembled);
  taken.notices = cupti::warn_sm_budgets(taken.assembled.kernels);
  operations_.clear();
  return taken;
}

}  // namespace underlap::cuda
