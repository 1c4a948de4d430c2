// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/virtual_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "impl/device/private_copy.hpp"
#include "impl/device/reduce.hpp"

namespace underlap::sim {
namespace {

constexpr std::byte kNaN{0xFF};

}  // namespace

// One operation between its begin and its end.
struct VirtualMemory::InWork {
  std::int32_t rank = 0;
  std::vector<Use> uses;
  std::vector<PrivateCopy> copies;  // by use; of a group of transfers: input and output of each in turn
  std::vector<Transfer> transfers;
  std::int32_t my_index = 0;  // in the group of the transfers
  bool is_tainted = false;
};

VirtualMemory::VirtualMemory(std::size_t num_ranks) : memory_(num_ranks), in_flight_(num_ranks) {}

VirtualMemory::~VirtualMemory() = default;

void VirtualMemory::allocate(std::int32_t rank, const Program& program) {
  auto& tensors = memory_[static_cast<std::size_t>(rank)];
  for (std::size_t i = tensors.size(); i < program.tensors.size(); ++i)
    tensors.emplace_back(static_cast<std::size_t>(program.tensors[i].elements * size_of(program.tensors[i].dtype)),
                         kNaN);
}

BoundView VirtualMemory::bind(std::int32_t rank, const View& view) const {
  // Const callers only read through this view; the tensors themselves are not const.
  const auto& bytes = memory_[static_cast<std::size_t>(rank)].at(view.tensor.id - 1);
  if (view.offset < 0 || static_cast<std::size_t>(view.end() * size_of(view.tensor.dtype)) > bytes.size())
    throw std::invalid_argument("a view extends beyond its tensor");
  return {.data = const_cast<std::byte*>(bytes.data()) + view.offset * size_of(view.tensor.dtype),
          .dtype = view.tensor.dtype,
          .rows = view.rows,
          .cols = view.cols,
          .leading_dimension = view.leading_dimension};
}

VirtualMemory::Token VirtualMemory::begin(std::int32_t rank, const Program& program, const ProgramCommand& command) {
  auto work = std::make_unique<InWork>();
  work->rank = rank;
  work->transfers.assign(program.transfers(command).begin(), program.transfers(command).end());
  for (const Use& use : program.uses(command)) work->uses.push_back(use);
  for (const Transfer& t : work->transfers) {
    work->uses.push_back({t.input, Access::in});
    work->uses.push_back({t.output, Access::out});
  }
  for (const Use& use : work->uses)
    work->copies.emplace_back(use.view.elements() > 0 ? bind(rank, use.view) : BoundView{}, use.access);
  if (command.type == ProgramCommand::Type::launch)
    run_on_copies(program.operations[command.data], work->copies);
  else if (command.type == ProgramCommand::Type::upload)
    std::memcpy(work->copies[0].view().data, program.uploads[command.data].data(),
                program.uploads[command.data].size());
  else
    work->my_index = program.communicators[command.communicator].group.my_index;
  taint_conflicts(*work);
  const auto free = std::find(works_.begin(), works_.end(), nullptr);
  const auto token = static_cast<Token>(free - works_.begin());
  if (free == works_.end()) works_.emplace_back();
  works_[token] = std::move(work);
  in_flight_[static_cast<std::size_t>(rank)].push_back(token);
  return token;
}

void VirtualMemory::taint_conflicts(InWork& work) {
  const auto conflict = [](const Use& a, const Use& b) {
    return (a.access != Access::in || b.access != Access::in) && overlap(a.view, b.view);
  };
  for (const Token token : in_flight_[static_cast<std::size_t>(work.rank)]) {
    InWork& other = *works_[token];
    for (const Use& a : work.uses)
      for (const Use& b : other.uses)
        if (conflict(a, b)) work.is_tainted = other.is_tainted = true;
  }
}

void VirtualMemory::end(Token token) {
  const std::unique_ptr<InWork> work = std::move(works_[token]);
  std::erase(in_flight_[static_cast<std::size_t>(work->rank)], token);
  num_conflicts_ += work->is_tainted ? 1 : 0;
  for (PrivateCopy& copy : work->copies) {
    if (work->is_tainted) copy.poison();
    copy.write_back();
  }
}

// Transfers -----------------------------------------------------------------------------------------------------------

namespace {

struct Side {
  const Transfer* transfer = nullptr;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
};

std::int64_t element_bytes(const Transfer& t) { return size_of(t.input.tensor.dtype); }

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

// Sums what all members hold from element `begin` on, in rank order.
void reduce(std::span<const Side> sides, std::int64_t begin, std::int64_t elements, std::byte* out) {
  const Transfer& t = *sides[0].transfer;
  std::vector<const std::byte*> sources;
  for (const Side& side : sides) sources.push_back(side.input + begin * element_bytes(t));
  reduce_in_rank_order(sources, {.dtype = t.input.tensor.dtype, .accumulator = t.accumulator, .op = t.op}, elements,
                       out);
}

// Computes the result of one member of a collective.
void receive(std::span<const Side> sides, std::size_t me) {
  const Transfer& t = *sides[me].transfer;
  std::byte* const out = sides[me].output;
  const auto n = static_cast<std::int64_t>(sides.size());
  const std::int64_t input_piece = t.input.bytes() / n;
  switch (t.collective) {
    case Collective::all_gather:
      for (std::size_t i = 0; i < sides.size(); ++i)
        copy_bytes(out + static_cast<std::int64_t>(i) * t.input.bytes(), sides[i].input, t.input.bytes());
      return;
    case Collective::reduce_scatter:
      return reduce(sides, static_cast<std::int64_t>(me) * t.output.elements(), t.output.elements(), out);
    case Collective::all_reduce: return reduce(sides, 0, t.output.elements(), out);
    case Collective::all_to_all:
      for (std::size_t i = 0; i < sides.size(); ++i)
        copy_bytes(out + static_cast<std::int64_t>(i) * input_piece,
                   sides[i].input + static_cast<std::int64_t>(me) * input_piece, input_piece);
      return;
    case Collective::broadcast: return copy_bytes(out, sides[static_cast<std::size_t>(t.peer)].input, t.output.bytes());
    case Collective::send:
    case Collective::receive: return;
  }
}

}  // namespace

void VirtualMemory::exchange(std::span<const Member> members) {
  for (std::size_t i = 0; i < members[0].positions.size(); ++i) {
    std::vector<Side> sides;
    for (const Member& member : members) {
      InWork& work = *works_[member.token];
      const std::size_t position = member.positions[i];
      if (work.is_tainted) work.copies[2 * position].poison();  // its receivers then publish NaN too
      sides.push_back({&work.transfers[position], work.copies[2 * position].view().data,
                       work.copies[2 * position + 1].view().data});
    }
    if (sides[0].transfer->collective == Collective::send)
      copy_bytes(sides[1].output, sides[0].input, sides[0].transfer->input.bytes());
    else
      for (std::size_t me = 0; me < sides.size(); ++me) receive(sides, me);
  }
}

void VirtualMemory::download(std::int32_t rank, const View& source, std::span<std::byte> bytes) const {
  if (!source.is_dense() || std::cmp_not_equal(source.bytes(), bytes.size()))
    throw std::invalid_argument("a download needs a dense view of the same size");
  std::memcpy(bytes.data(), bind(rank, source).data, bytes.size());
}

}  // namespace underlap::sim
