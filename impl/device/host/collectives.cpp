// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/collectives.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "impl/device/host/shared_clock.hpp"
#include "impl/device/reduce.hpp"

namespace underlap::host {
namespace {

using Exchange = Connection::Exchange;

struct Piece {
  std::int64_t begin = 0;  // in bytes
  std::int64_t size = 0;
};

// Piece `i` of `elements` elements cut into `n`, as even as it goes.
Piece piece(std::int64_t elements, std::int64_t element_bytes, std::int64_t i, std::int64_t n) {
  const std::int64_t begin = i * elements / n;
  const std::int64_t end = (i + 1) * elements / n;
  return {begin * element_bytes, (end - begin) * element_bytes};
}

std::span<std::byte> at(std::byte* base, const Piece& p) { return {base + p.begin, static_cast<std::size_t>(p.size)}; }

// One group of transfers in flight on one member.
class GroupRun {
 public:
  GroupRun(Connection& connection, NameId purpose, std::uint64_t sequence, std::span<const BoundTransfer> transfers,
           Scratch& scratch)
      : connection_(connection),
        id_{purpose, transfers.front().transfer.collective, sequence},
        transfers_(transfers),
        scratch_(scratch),
        n_(connection.group().size()),
        me_(connection.group().my_index) {}

  CommunicationOutcome run() {
    outcome_.bytes_sent.assign(transfers_.size(), 0);
    lay_out_scratch();
    Exchange arrivals(connection_, id_);
    Exchange data(connection_, id_);
    post_arrivals(arrivals);
    for (std::size_t i = 0; i < transfers_.size(); ++i) post(data, i);
    arrivals.wait();
    outcome_.last_arrival = own_time(*std::max_element(arrived_.begin(), arrived_.end()));
    data.wait();
    for (std::size_t i = 0; i < transfers_.size(); ++i) reduce(i);
    Exchange results(connection_, id_);
    for (std::size_t i = 0; i < transfers_.size(); ++i) post_results(results, i);
    results.wait();
    outcome_.total_sent = data.bytes_sent() + results.bytes_sent();
    outcome_.total_received = data.bytes_received() + results.bytes_received();
    return outcome_;
  }

 private:
  static std::int64_t element_bytes(const Transfer& t) { return size_of(dtype_of(t)); }
  Piece input_piece(const Transfer& t, std::int64_t i) const {
    return piece(t.input.elements(), element_bytes(t), i, n_);
  }
  Piece output_piece(const Transfer& t, std::int64_t i) const {
    return piece(t.output.elements(), element_bytes(t), i, n_);
  }

  // Every other member sends its share of this member's sum here: n - 1 slots for each reduction.
  void lay_out_scratch() {
    std::int64_t bytes = 0;
    for (const BoundTransfer& bound : transfers_) {
      slots_.push_back(bytes);
      if (is_reduction(bound.transfer.collective)) bytes += (n_ - 1) * input_piece(bound.transfer, me_).size;
    }
    if (static_cast<std::int64_t>(scratch_.size()) < bytes) scratch_.resize(static_cast<std::size_t>(bytes));
  }

  std::span<std::byte> slot(std::size_t i, std::int64_t peer) {
    const std::int64_t size = input_piece(transfers_[i].transfer, me_).size;
    return at(scratch_.data(), {slots_[i] + (peer < me_ ? peer : peer - 1) * size, size});
  }

  std::set<std::int32_t> peers() const {
    std::set<std::int32_t> result;
    for (const BoundTransfer& bound : transfers_) {
      if (is_message(bound.transfer.collective)) {
        result.insert(bound.transfer.peer);
      } else {
        for (std::int32_t peer = 0; peer < n_; ++peer) result.insert(peer);
      }
    }
    result.erase(me_);
    return result;
  }

  void post_arrivals(Exchange& exchange) {
    const std::set<std::int32_t> others = peers();
    arrived_.assign(others.size() + 1, 0);  // no growth below: messages point into it
    arrived_[0] = shared_ns(Clock::now());
    std::size_t i = 1;
    for (const std::int32_t peer : others) {
      exchange.send(peer, std::as_bytes(std::span(&arrived_[0], 1)));
      exchange.receive(peer, std::as_writable_bytes(std::span(&arrived_[i++], 1)));
    }
  }

  void send(Exchange& exchange, std::size_t i, std::int32_t peer, std::span<const std::byte> bytes) {
    exchange.send(peer, bytes);
    outcome_.bytes_sent[i] += static_cast<std::int64_t>(bytes.size());
  }

  void post(Exchange& exchange, std::size_t i) {
    const BoundTransfer& bound = transfers_[i];
    const Transfer& t = bound.transfer;
    switch (t.collective) {
      case Collective::send: return send(exchange, i, t.peer, at(bound.input, {0, t.input.bytes()}));
      case Collective::receive: return exchange.receive(t.peer, at(bound.output, {0, t.output.bytes()}));
      case Collective::broadcast: return post_broadcast(exchange, i);
      case Collective::all_gather: return post_all_gather(exchange, i);
      case Collective::all_to_all: return post_all_to_all(exchange, i);
      case Collective::reduce_scatter:
      case Collective::all_reduce: return post_reduction(exchange, i);
    }
  }

  void post_broadcast(Exchange& exchange, std::size_t i) {
    const BoundTransfer& bound = transfers_[i];
    const Piece all{0, bound.transfer.output.bytes()};
    if (me_ != bound.transfer.peer) return exchange.receive(bound.transfer.peer, at(bound.output, all));
    if (bound.input != bound.output) std::memcpy(bound.output, bound.input, static_cast<std::size_t>(all.size));
    for (std::int32_t peer = 0; peer < n_; ++peer)
      if (peer != me_) send(exchange, i, peer, at(bound.input, all));
  }

  void post_all_gather(Exchange& exchange, std::size_t i) {
    const BoundTransfer& bound = transfers_[i];
    const Piece own{0, bound.transfer.input.bytes()};
    std::byte* const place = bound.output + output_piece(bound.transfer, me_).begin;
    if (place != bound.input) std::memcpy(place, bound.input, static_cast<std::size_t>(own.size));
    for (std::int32_t peer = 0; peer < n_; ++peer) {
      if (peer == me_) continue;
      send(exchange, i, peer, at(bound.input, own));
      exchange.receive(peer, at(bound.output, output_piece(bound.transfer, peer)));
    }
  }

  void post_all_to_all(Exchange& exchange, std::size_t i) {
    const BoundTransfer& bound = transfers_[i];
    const Piece own = input_piece(bound.transfer, me_);
    std::memcpy(bound.output + own.begin, bound.input + own.begin, static_cast<std::size_t>(own.size));
    for (std::int32_t peer = 0; peer < n_; ++peer) {
      if (peer == me_) continue;
      send(exchange, i, peer, at(bound.input, input_piece(bound.transfer, peer)));
      exchange.receive(peer, at(bound.output, output_piece(bound.transfer, peer)));
    }
  }

  void post_reduction(Exchange& exchange, std::size_t i) {
    const BoundTransfer& bound = transfers_[i];
    for (std::int32_t peer = 0; peer < n_; ++peer) {
      if (peer == me_) continue;
      send(exchange, i, peer, at(bound.input, input_piece(bound.transfer, peer)));
      exchange.receive(peer, slot(i, peer));
    }
  }

  void reduce(std::size_t i) {
    const BoundTransfer& bound = transfers_[i];
    const Transfer& t = bound.transfer;
    if (!is_reduction(t.collective)) return;
    const Piece own = input_piece(t, me_);
    std::vector<const std::byte*> sources;
    for (std::int32_t rank = 0; rank < n_; ++rank)
      sources.push_back(rank == me_ ? bound.input + own.begin : slot(i, rank).data());
    std::byte* const out = t.collective == Collective::all_reduce ? bound.output + own.begin : bound.output;
    reduce_in_rank_order(sources, {.dtype = t.input.tensor.dtype, .accumulator = t.accumulator, .op = t.op},
                         own.size / element_bytes(t), out);
  }

  // The second half of an all-reduce: every member hands round the piece that it summed.
  void post_results(Exchange& exchange, std::size_t i) {
    const BoundTransfer& bound = transfers_[i];
    if (bound.transfer.collective != Collective::all_reduce) return;
    for (std::int32_t peer = 0; peer < n_; ++peer) {
      if (peer == me_) continue;
      send(exchange, i, peer, at(bound.output, output_piece(bound.transfer, me_)));
      exchange.receive(peer, at(bound.output, output_piece(bound.transfer, peer)));
    }
  }

  Connection& connection_;
  CommunicationId id_;
  std::span<const BoundTransfer> transfers_;
  Scratch& scratch_;
  std::int32_t n_;
  std::int32_t me_;
  std::vector<std::int64_t> slots_;    // by transfer: offset of its slots in the scratch
  std::vector<std::int64_t> arrived_;  // own arrival first, then the peers', on the clock of all
  CommunicationOutcome outcome_;
};

}  // namespace

CommunicationOutcome run_transfers(Connection& connection, NameId purpose, std::uint64_t sequence,
                                   std::span<const BoundTransfer> transfers, Scratch& scratch) {
  return GroupRun(connection, purpose, sequence, transfers, scratch).run();
}

}  // namespace underlap::host
