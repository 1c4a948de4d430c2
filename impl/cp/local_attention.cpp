// SPDX-License-Identifier: Apache-2.0
//
// Attention of a group of one rank, which has all keys.
//
//   compute | attention |
//
// Exposed: nothing.
#include "impl/cp/tiles.hpp"

namespace underlap::cp {
namespace {

class LocalAttention final : public Attention {
 public:
  explicit LocalAttention(const Context& context)
      : communicators_(*context.communicators),
        shape_(context.shape),
        tiles_(communicators_.device(), shape_, shape_.seq_here) {}

  std::unique_ptr<Saved> allocate_saved() override {
    auto saved = std::make_unique<Kept>();
    saved->lse = allocate_matrix(communicators_.device(), "lse", DataType::f32, shape_.heads, shape_.tokens());
    return saved;
  }

  void forward(const Tag& tag, const Qkv& in, const View& out, Saved& saved) override {
    tiles_.forward(communicators_.compute(), tag, all(),
                   {.q = in.q, .k = in.k, .v = in.v, .out = out, .lse = static_cast<Kept&>(saved).lse});
  }

  void backward(const Tag& tag, const Qkv& in, const View& out, const View& d_out, const Qkv& d_in,
                Saved& saved) override {
    tiles_.backward(communicators_.compute(), tag, all(),
                    {.q = in.q,
                     .k = in.k,
                     .v = in.v,
                     .out = out,
                     .lse = static_cast<Kept&>(saved).lse,
                     .dout = d_out,
                     .dq = d_in.q,
                     .dk = d_in.k,
                     .dv = d_in.v});
  }

 private:
  struct Kept final : Saved {
    View lse;  // [A, T] f32
  };

  Tile all() const { return {.queries = {0, shape_.seq_here}, .keys = {0, shape_.seq_here}}; }

  Communicators& communicators_;
  AttentionShape shape_;
  Tiles tiles_;
};

const Attentions::Register kRegistered{{
    .name = "local_attention",
    .summary = "attention on one rank that holds all keys",
    .exposed = "nothing",
    .keys = {{.alone = true}},
    .facts = {.knob = "extensions.cp_overlap", .overlaps = false},
    .make = make_of<LocalAttention>,
}};

}  // namespace
}  // namespace underlap::cp
