// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace underlap::formats::nsys {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::array<std::string_view, 4> kRankVariables{"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
constexpr std::array<std::string_view, 4> kSizeVariables{"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE",
                                                         "PMI_SIZE"};

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < 0 || number > kMostRanks) return std::nullopt;
  return number;
}

// Lines as RANK="3".
std::map<std::string, std::string, std::less<>> environment_of(const Import& import) {
  std::map<std::string, std::string, std::less<>> environment;
  Rows rows(import.database(), "META_DATA_CAPTURE", {"value"}, "name LIKE '%:ENVIRONMENT_VARIABLE'");
  while (rows.next()) {
    const std::string_view line = rows.text(0);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view value = line.substr(equals + 1);
    if (value.size() > 1 && value.starts_with('"') && value.ends_with('"')) value = value.substr(1, value.size() - 2);
    environment.emplace(line.substr(0, equals), value);
  }
  return environment;
}

template <class Names>
std::optional<std::int64_t> first_number(const std::map<std::string, std::string, std::less<>>& environment,
                                         const Names& names) {
  for (const std::string_view name : names)
    if (const auto found = environment.find(name); found != environment.end())
      if (const auto number = number_in(found->second)) return number;
  return std::nullopt;
}

}  // namespace

Communicators communicators_of(const std::vector<NcclCall>& calls) {
  Communicators communicators;
  for (const NcclCall& call : calls) {
    if (!call.payload || call.payload->num_ranks <= 0 || call.payload->num_ranks > kMostRanks) continue;
    Communicator& communicator = communicators[call.payload->communicator];
    communicator.num_ranks = call.payload->num_ranks;
    const std::int64_t rank = call.payload->rank;
    if (rank < 0 || rank >= call.payload->num_ranks) continue;
    const bool has_device = call.payload->cuda_device >= 0 && call.payload->cuda_device < (1 << 16);
    communicator.members.try_emplace(
        rank,
        Owner{process_of(call.global_tid), has_device ? static_cast<std::int32_t>(call.payload->cuda_device) : -1});
  }
  return communicators;
}

Ranks::Ranks(Import& import, const Communicators& communicators) {
  find_units(import);
  ranks_.resize(units_.size());
  for (std::size_t i = 0; i < units_.size(); ++i) ranks_[i] = static_cast<std::int32_t>(i);
  if (!take_environment(import) && !take_payloads(import, communicators) && !take_labels(import))
    import.trace.metadata["rank"] = "assumed";
  if (world_size_ > 0) import.trace.metadata["world_size"] = fmt::format("{}", world_size_);
}

// A process that sets memory on another's device is not a rank there: where some devices of a process run kernels, the
// others go with the one that runs most. Fails when a rank of such a process only copies: it is then no rank.
void Ranks::find_units(const Import& import) {
  std::map<Owner, std::pair<std::int64_t, std::int64_t>> work;  // kernels, other work
  for (const Owner& owner : import.owners)
    if (owner.device >= 0) work[owner];
  for (const DeviceWork& each : import.device_work) {
    const Owner& owner = import.owners[static_cast<std::size_t>(import.trace.track_of(each.slice).rank)];
    auto& [kernels, others] = work[owner];
    ++(import.trace.tag(each.slice).kind == Kind::compute ? kernels : others);
  }
  std::map<Process, Owner> main;
  for (const auto& [owner, amount] : work) {
    const auto [found, is_new] = main.try_emplace(owner.process, owner);
    if (!is_new && work[found->second] < amount) found->second = owner;
  }
  for (const auto& [owner, amount] : work)
    if (amount.first > 0 || main.at(owner.process) == owner) units_.push_back(owner);
  if (work.empty())
    for (const Owner& owner : import.owners) units_.push_back(owner);
  std::ranges::sort(units_, {}, [](const Owner& owner) { return std::pair(owner.device, owner.process); });
  for (std::size_t i = 0; i < units_.size(); ++i) {
    unit_of_.emplace(units_[i], i);
    unit_of_.try_emplace({units_[i].process, -1}, i);
  }
  for (const auto& [owner, amount] : work)
    if (!unit_of_.contains(owner)) unit_of_.emplace(owner, unit_of_.at(main.at(owner.process)));
}

// The environment is that of the process which was started, so it speaks for one rank alone.
bool Ranks::take_environment(Import& import) {
  const auto environment = environment_of(import);
  world_size_ = first_number(environment, kSizeVariables).value_or(0);
  const auto rank = first_number(environment, kRankVariables);
  if (!rank || units_.size() != 1) return false;
  ranks_[0] = static_cast<std::int32_t>(*rank);
  import.trace.metadata["rank"] = "environment";
  return true;
}

// The largest communicator is taken for all ranks, where every process of the file is in it once. Fails when the file
// lacks the one of all ranks: the ranks are then those in a smaller one.
bool Ranks::take_payloads(Import& import, const Communicators& communicators) {
  if (communicators.empty() || units_.empty()) return false;
  const auto largest =
      std::ranges::max_element(communicators, {}, [](const auto& each) { return each.second.num_ranks; });
  const Communicator& world = largest->second;
  if (world_size_ > 0 && world.num_ranks != world_size_) return false;
  std::vector<std::int32_t> ranks(units_.size(), -1);
  for (const auto& [rank, member] : world.members) {
    const auto unit = unit_of_.find(unit_of_.contains(member) ? member : Owner{member.process, -1});
    if (unit == unit_of_.end() || ranks[unit->second] >= 0) return false;
    ranks[unit->second] = static_cast<std::int32_t>(rank);
  }
  if (std::ranges::count(ranks, -1) > 0) return false;
  ranks_ = std::move(ranks);
  world_ = &world;
  world_size_ = world.num_ranks;
  import.trace.metadata["rank"] = "NCCL";
  return true;
}

bool Ranks::take_labels(const Import& import) {
  std::vector<std::int32_t> ranks;
  for (const Owner& unit : units_) {
    const auto found = import.labels.find(unit.process);
    if (found == import.labels.end() || found->second.size() != 1) return false;
    ranks.push_back(*found->second.begin());
  }
  if (ranks.empty() || std::set(ranks.begin(), ranks.end()).size() != ranks.size()) return false;
  ranks_ = std::move(ranks);
  return true;
}

std::int32_t Ranks::of(const Owner& owner) const {
  const auto found = unit_of_.find(unit_of_.contains(owner) ? owner : Owner{owner.process, -1});
  if (found != unit_of_.end()) return ranks_[found->second];
  return ranks_.empty() ? 0 : ranks_.front();
}

std::vector<std::int32_t> Ranks::members_of(const Communicator& communicator) const {
  std::vector<std::int32_t> ranks;
  if (&communicator != world_ && static_cast<std::int64_t>(communicator.members.size()) != communicator.num_ranks)
    return ranks;
  for (std::int64_t i = 0; i < communicator.num_ranks; ++i)
    ranks.push_back(&communicator == world_ ? static_cast<std::int32_t>(i) : of(communicator.members.at(i)));
  return ranks;
}

void Ranks::apply(Import& import) const {
  Trace& trace = import.trace;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int64_t> launches;  // of a thread's track on a rank
  std::set<Process> with_several;
  for (std::size_t i = 1; i < units_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (units_[i].process == units_[j].process) with_several.insert(units_[i].process);
  const auto owner_of = [&](std::uint32_t track) -> const Owner& {
    return import.owners[static_cast<std::size_t>(trace.tracks[track].rank)];
  };
  for (const Flow& flow : trace.flows)
    if (!with_several.empty() && flow.kind == FlowKind::launch &&
        with_several.contains(owner_of(trace.track(flow.from)).process))
      ++launches[{trace.track(flow.from), of(owner_of(trace.track(flow.to)))}];
  std::map<std::pair<Process, std::int32_t>, std::pair<std::int64_t, std::int32_t>> most;  // by process and thread
  for (const auto& [key, count] : launches) {
    auto& [number, rank] = most[{owner_of(key.first).process, trace.tracks[key.first].stream}];
    if (count > number) std::tie(number, rank) = std::pair(count, key.second);
  }
  for (Track& track : trace.tracks) {
    const Owner& owner = import.owners[static_cast<std::size_t>(track.rank)];
    const auto found = most.find({owner.process, track.stream});
    track.rank = owner.device < 0 && found != most.end() ? found->second.second : of(owner);
  }
}

}  // namespace underlap::formats::nsys
