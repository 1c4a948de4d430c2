// SPDX-License-Identifier: Apache-2.0
//
// A collective on few multiprocessors, in place in a registered buffer, during a GEMM that does not depend on it.
//
//   compute | copy |                   | copy |
//   gemm 0  |      | gemm              |
//   tp_sm4  |      | collective |                 exposed: max(0, collective - GEMM), and the copies are paid
//
// A gather's part of the input is copied into the buffer first. A reduce-scatter's sum is copied out of it, since the
// next layer overwrites the buffer. The collective has a high-priority stream and the GEMM has a stream of its own, so
// that both start at once. The GEMM loses the multiprocessors that the collective holds.
// Source: Transformer Engine's userbuffers, bulk overlap. Its launch order on Hopper with more than one connection (the
// GEMM waits for the launch of the collective's kernel) cannot be expressed in streams and events and is omitted.
#include "impl/tp/technique.hpp"
#include "kernels/copy/copy.hpp"

namespace underlap::tp {
namespace {

class BulkCollective final : public CollectiveDuringGemm {
 public:
  explicit BulkCollective(const Context& context)
      : context_(context),
        scope_(context.communicators->scope()),
        communicator_(context.communicators->beside_gemm(context.overlap.num_sm, context.overlap.cga_size)),
        gemm_stream_(context.communicators->gemm_streams().front()),
        purpose_(context.purpose(to_string(context.collective))),
        copy_(context.purpose(context_.gathers() ? "copy_in" : "copy_out")),
        full_(context.allocate_whole()) {}

  View full() const override { return full_; }

  void run(const Tag& tag, const View& shard, const Work& work) override {
    if (context_.gathers()) scope_.launch(tag, Kind::copy, copy_, kernels::copy(shard, own_part()));
    scope_.fork({communicator_.stream, gemm_stream_});
    scope_.communicate(communicator_, tag, purpose_, {context_.transfer(own_part(), full_)});
    work(gemm_stream_);
    scope_.join({communicator_.stream, gemm_stream_});
    if (!context_.gathers()) scope_.launch(tag, Kind::copy, copy_, kernels::copy(own_part(), shard));
  }

 private:
  View own_part() const {
    return rows_of(full_, context_.communicators->group().my_index * context_.tokens_of_part(),
                   context_.tokens_of_part());
  }

  Context context_;
  Scope scope_;
  Communicator communicator_;
  Stream gemm_stream_;
  NameId purpose_;
  NameId copy_;
  View full_;
};

const CollectivesDuringGemm::Register kRegistered{{
    .name = "bulk_collective",
    .summary = "runs an in-place collective on few SMs during the whole of a GEMM that does not need it",
    .exposed = "the time by which the collective exceeds the GEMM",
    .keys = {{.method = plan::TensorMethod::bulk}},
    .facts = {.knob = "comm_overlap.tp_comm_overlap",
              .sums = SumOrder::may_differ,
              .purposes = {"all_gather", "reduce_scatter"}},
    .make = make_of<BulkCollective>,
}};

}  // namespace
}  // namespace underlap::tp
