// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "impl/device/check/accesses.hpp"
#include "impl/device/check/clocks.hpp"
#include "impl/device/check/tensor_uses.hpp"

namespace underlap::check {
namespace {

using Type = ProgramCommand::Type;

std::string_view verb_of(const ProgramCommand& command, const MemoryAccess& access) {
  if (command.type == Type::acquire) return "acquires";
  if (command.type == Type::release) return "releases";
  if (access.reads && access.writes) return "updates";
  return access.writes ? "writes" : "reads";
}

class MemoryCheck {
 public:
  MemoryCheck(std::span<const ProgramIndex> ranks, std::int32_t rank)
      : ranks_(ranks),
        rank_(rank),
        index_(ranks[static_cast<std::size_t>(rank)]),
        program_(index_.program()),
        clocks_(index_),
        tensors_(program_.tensors.size()) {}

  std::vector<Finding> run() {
    for (current_ = 0; current_ < index_.num_commands(); ++current_) {
      clocks_.enter(current_);
      const std::vector<MemoryAccess> accesses = accesses_of(program_, command());
      if (accesses.empty() || !stay_inside(accesses)) continue;
      check_parts(accesses);
      check_order(accesses);
      if (command().type == Type::acquire || command().type == Type::release)
        for (const MemoryAccess& access : accesses) begin_or_end_life(access);
      else
        check_contents(accesses);
      for (const MemoryAccess& access : accesses) remember(access);
    }
    return std::move(findings_);
  }

 private:
  struct Conflict {
    PastUse past;
    MemoryAccess now;
  };

  const ProgramCommand& command() const { return index_.command(current_); }
  TensorUses& tensor(const View& view) { return tensors_[view.tensor.id - 1]; }
  std::string text_of(std::uint32_t command) const { return check::text_of(ranks_, {rank_, command}); }
  std::string text_of(const View& view) const { return check::text_of(program_, view); }

  std::string does(std::uint32_t command, const MemoryAccess& access) const {
    return fmt::format("{} {} {}", text_of(command), verb_of(index_.command(command), access), text_of(access.view));
  }

  void report(FindingKind kind, std::vector<std::uint32_t> commands, const std::string& what, std::string remedy) {
    Finding& finding = findings_.emplace_back();
    finding.kind = kind;
    for (const std::uint32_t c : commands) finding.commands.push_back({rank_, c});
    finding.what = fmt::format("rank {} {}", rank_, what);
    finding.remedy = std::move(remedy);
  }

  bool stay_inside(const std::vector<MemoryAccess>& accesses) {
    for (const MemoryAccess& access : accesses) {
      const Tensor& t = access.view.tensor;
      const std::int64_t elements =
          t.id == 0 || t.id > program_.tensors.size() ? -1 : program_.tensors[t.id - 1].elements;
      if (access.view.offset >= 0 && access.view.end() <= elements) continue;
      report(FindingKind::illegal_use, {current_},
             elements < 0 ? fmt::format("{} uses tensor {}, which was never allocated", text_of(current_), t.id)
                          : fmt::format("{}, which has {} elements", does(current_, access), elements),
             "declare views that lie inside their tensor");
      return false;
    }
    return true;
  }

  // The uses of one operation happen at the same time, as do the transfers of one group.
  void check_parts(const std::vector<MemoryAccess>& accesses) {
    for (std::size_t i = 0; i < accesses.size(); ++i)
      for (std::size_t j = i + 1; j < accesses.size(); ++j) {
        const MemoryAccess& a = accesses[i];
        const MemoryAccess& b = accesses[j];
        if (a.part == b.part || !conflict(a, b)) continue;
        report(FindingKind::race, {current_},
               fmt::format("{} and at the same time {} {}", does(current_, a), verb_of(command(), b), text_of(b.view)),
               command().type == Type::communicate ? "send them in two groups, one after the other"
                                                   : "declare both as one use, or pass views that do not overlap");
        return;
      }
  }

  void check_order(const std::vector<MemoryAccess>& accesses) {
    for (const auto& [stream, conflict] : unordered(accesses)) {
      // An order assumed for an earlier conflict may also order this one.
      if (clocks_.has_passed(stream, conflict.past.position)) continue;
      report_race(conflict);
      clocks_.assume(stream, conflict.past.position);
    }
  }

  // By stream, the last earlier use that conflicts with this command and may still run.
  std::map<std::uint32_t, Conflict> unordered(const std::vector<MemoryAccess>& accesses) {
    std::map<std::uint32_t, Conflict> last;
    for (const MemoryAccess& access : accesses)
      for (const PastUse& past : tensor(access.view).uses()) {
        if (clocks_.has_passed(past.stream, past.position) || !conflict(past.access, access)) continue;
        const auto [entry, is_new] = last.try_emplace(past.stream, Conflict{past, access});
        if (!is_new && entry->second.past.position < past.position) entry->second = {past, access};
      }
    return last;
  }

  void report_race(const Conflict& conflict) {
    const ProgramCommand& earlier = index_.command(conflict.past.command);
    const bool is_release = earlier.type == Type::release || command().type == Type::release;
    const std::string first = text_of(conflict.past.command);
    const std::string waits = command().is_on_stream() ? program_.streams[command().stream].name : "the host";
    report(is_release ? FindingKind::released_in_use : FindingKind::race, {conflict.past.command, current_},
           fmt::format("{} and {}, and nothing orders them", does(conflict.past.command, conflict.past.access),
                       does(current_, conflict.now)),
           fmt::format("let {} wait for {} before {}", waits, first, text_of(current_)));
  }

  void begin_or_end_life(const MemoryAccess& access) {
    if (const auto other = tensor(access.view).change_life(command().type == Type::acquire, access.view, current_))
      report(FindingKind::acquired_in_use, {*other, current_},
             fmt::format("{}, which has been held since {}", does(current_, access), text_of(*other)),
             "release it before acquiring it again");
  }

  void check_contents(const std::vector<MemoryAccess>& accesses) {
    for (const MemoryAccess& access : accesses) {
      if (const auto released = tensor(access.view).use_released(access.view))
        report(FindingKind::use_after_release, {*released, current_},
               fmt::format("{}, which {} freed", does(current_, access), text_of(*released)),
               fmt::format("acquire it before {}, or release it later", text_of(current_)));
      if (access.reads) check_written(access);
    }
    for (const MemoryAccess& access : accesses)
      if (access.writes) tensor(access.view).write(access.view);
  }

  void check_written(const MemoryAccess& access) {
    const auto missing = tensor(access.view).first_unwritten(access.view);
    if (!missing) return;
    const View gap = flat(access.view.tensor, missing->begin, missing->end - missing->begin);
    std::vector<std::uint32_t> commands{current_};
    std::string remedy = fmt::format("write {} before {}", text_of(gap), text_of(current_));
    if (const auto writer = adjacent_writer(gap)) {
      commands.insert(commands.begin(), writer->first);
      remedy += fmt::format("; perhaps declared too small: {}", does(writer->first, writer->second));
    }
    report(FindingKind::unwritten_read, commands,
           fmt::format("{}, but nothing wrote {}", does(current_, access), text_of(gap)), remedy);
    tensor(access.view).write(access.view);  // report unwritten memory once
  }

  // The last earlier write that would reach into `gap` with one more row or column.
  std::optional<std::pair<std::uint32_t, MemoryAccess>> adjacent_writer(const View& gap) const {
    for (std::uint32_t c = current_; c-- > 0;) {
      for (const Use& use : program_.uses(index_.command(c)))
        if (use.access != Access::in && is_adjacent(use.view, gap)) return {{c, {use.view, false, true, 0}}};
      for (const Transfer& transfer : program_.transfers(index_.command(c)))
        if (is_adjacent(transfer.output, gap)) return {{c, {transfer.output, false, true, 0}}};
    }
    return std::nullopt;
  }

  static bool is_adjacent(const View& view, const View& gap) {
    if (view.tensor.id != gap.tensor.id) return false;
    View taller = view;
    if (view.rows != 1) ++taller.rows;  // a single row grows along itself
    View wider = view;
    ++wider.cols;
    wider.rows = std::max<std::int64_t>(wider.rows, 1);
    wider.leading_dimension = std::max(wider.leading_dimension, wider.cols);
    return overlap(taller, gap) || overlap(wider, gap);
  }

  void remember(const MemoryAccess& access) {
    if (!command().is_on_stream()) return;  // later commands are enqueued after the host's read
    tensor(access.view).add({access, command().stream, index_.position(current_), current_}, clocks_);
  }

  std::span<const ProgramIndex> ranks_;
  std::int32_t rank_;
  const ProgramIndex& index_;
  const Program& program_;
  Clocks clocks_;
  std::vector<TensorUses> tensors_;  // by id - 1
  std::uint32_t current_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_memory(std::span<const ProgramIndex> ranks, std::int32_t rank) {
  return MemoryCheck(ranks, rank).run();
}

}  // namespace underlap::check
