// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/fibers.hpp"

#include <ucontext.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <optional>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace underlap::cuda_host {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr unsigned kWarp = 32;

enum class State : std::uint8_t { ready, at_block_barrier, at_warp_barrier, asleep, done };

/// One CUDA thread: a context with a stack of its own.
struct Fiber {
#if defined(__SANITIZE_THREAD__)
  // The sanitizer has room for some thousand of them in a process.
  ~Fiber() {
    if (sanitizer_state != nullptr) __tsan_destroy_fiber(sanitizer_state);
  }
#endif
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  State state = State::done;
  unsigned warp_mask = 0;
  unsigned long long wake_ns = 0;
  uint3 thread{};
  void* sanitizer_state = nullptr;
};

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "cuda_host: %s\n", what);
  std::abort();
}

/// A block on its way. `current` is the one whose threads this operating-system thread runs now.
class Block {
 public:
  void begin(const KernelLaunch& launch, uint3 index, std::mt19937_64& random);

  /// Runs until every thread is over or asleep. Returns when the first wakes up; nothing where all are over.
  /// Throws what a thread threw.
  std::optional<unsigned long long> advance();

  void wait(State barrier, unsigned mask);
  void sleep(unsigned long long until_ns);
  void sleep_for_others(unsigned long long until_ns) {
    waits_for_others_ = true;
    sleep(until_ns);
  }
  /// Whether a thread has begun to wait for others since this was last asked.
  bool take_waits_for_others() { return std::exchange(waits_for_others_, false); }

  ThreadPlace place;
  std::vector<std::array<std::byte, 8 * kWarp>> exchange;  // by warp
  std::vector<std::uint64_t> shared;

 private:
  static void enter();
  void prepare(unsigned threads);
  void resume(Fiber& fiber);
  void leave(Fiber& fiber);
  void wake();
  bool release_warps(unsigned threads);
  bool release_block(unsigned threads);

  const std::function<void()>* code_ = nullptr;
  unsigned threads_ = 0;
  std::vector<unsigned> order_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* running_ = nullptr;
  ucontext_t scheduler_{};
  std::exception_ptr failure_;
  bool waits_for_others_ = false;
  void* scheduler_state_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_bytes_ = 0;
};

thread_local Block* current = nullptr;

void Block::enter() {
  Block& block = *current;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &block.scheduler_stack_, &block.scheduler_stack_bytes_);
#endif
  Fiber& fiber = *block.running_;
  try {
    (*block.code_)();
  } catch (...) {
    block.failure_ = std::current_exception();
  }
  fiber.state = State::done;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, block.scheduler_stack_, block.scheduler_stack_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(block.scheduler_state_, 0);
#endif
  setcontext(&block.scheduler_);
  die("a finished thread was resumed");
}

void Block::prepare(unsigned threads) {
  while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
  exchange.resize((threads + kWarp - 1) / kWarp);
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = *fibers_[t];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Block::enter, 0);
    fiber.state = State::ready;
    fiber.thread = {t, 0, 0};
#if defined(__SANITIZE_THREAD__)
    // A fresh one each time: a fiber ends by leaving, so what the sanitizer keeps of its calls would only grow.
    if (fiber.sanitizer_state != nullptr) __tsan_destroy_fiber(fiber.sanitizer_state);
    fiber.sanitizer_state = __tsan_create_fiber(0);
#endif
  }
}

void Block::resume(Fiber& fiber) {
  running_ = &fiber;
  place.thread = fiber.thread;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&scheduler_state_, fiber.stack.get(), kStackBytes);
#endif
#if defined(__SANITIZE_THREAD__)
  scheduler_state_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber.sanitizer_state, 0);
#endif
  swapcontext(&scheduler_, &fiber.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(scheduler_state_, nullptr, nullptr);
#endif
}

void Block::leave(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fiber.sanitizer_state, scheduler_stack_, scheduler_stack_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(scheduler_state_, 0);
#endif
  swapcontext(&fiber.context, &scheduler_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.sanitizer_state, &scheduler_stack_, &scheduler_stack_bytes_);
#endif
}

void Block::wait(State barrier, unsigned mask) {
  Fiber& fiber = *running_;
  fiber.state = barrier;
  fiber.warp_mask = mask;
  leave(fiber);
}

void Block::sleep(unsigned long long until_ns) {
  running_->wake_ns = until_ns;
  running_->state = State::asleep;
  leave(*running_);
}

void Block::wake() {
  for (unsigned t = 0; t < threads_; ++t)
    if (fibers_[t]->state == State::asleep && fibers_[t]->wake_ns <= virtual_clock().now_ns)
      fibers_[t]->state = State::ready;
}

bool Block::release_warps(unsigned threads) {
  bool released = false;
  for (unsigned first = 0; first < threads; first += kWarp) {
    const unsigned lanes = std::min(kWarp, threads - first);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (fibers_[first + lane]->state != State::at_warp_barrier) continue;
      const unsigned mask = fibers_[first + lane]->warp_mask;
      const auto arrived = [&](unsigned other) {
        const Fiber& fiber = *fibers_[first + other];
        return fiber.state == State::at_warp_barrier && fiber.warp_mask == mask;
      };
      bool all = true;
      for (unsigned other = 0; other < lanes; ++other)
        if ((mask >> other & 1U) != 0 && !arrived(other)) all = false;
      if (!all) continue;
      for (unsigned other = 0; other < lanes; ++other)
        if ((mask >> other & 1U) != 0) fibers_[first + other]->state = State::ready;
      released = true;
    }
  }
  return released;
}

bool Block::release_block(unsigned threads) {
  bool any = false;
  for (unsigned t = 0; t < threads; ++t) {
    if (fibers_[t]->state == State::at_warp_barrier || fibers_[t]->state == State::asleep) return false;
    any = any || fibers_[t]->state == State::at_block_barrier;
  }
  for (unsigned t = 0; t < threads; ++t)
    if (fibers_[t]->state == State::at_block_barrier) fibers_[t]->state = State::ready;
  return any;
}

void Block::begin(const KernelLaunch& launch, uint3 index, std::mt19937_64& random) {
  prepare(launch.threads);
  threads_ = launch.threads;
  code_ = &launch.thread_code;
  place.block = index;
  place.block_size = dim3(launch.threads);
  place.grid_size = dim3(launch.blocks);
  shared.assign((launch.shared_bytes + 7) / 8, ~std::uint64_t{0});
  failure_ = nullptr;
  order_.resize(launch.threads);
  std::iota(order_.begin(), order_.end(), 0U);
  // Shuffling at every barrier is slow; a new start and direction breaks the same orders.
  std::shuffle(order_.begin(), order_.end(), random);
}

std::optional<unsigned long long> Block::advance() {
  current = this;
  wake();
  do {
    for (const unsigned t : order_)
      if (fibers_[t]->state == State::ready) resume(*fibers_[t]);
    std::reverse(order_.begin(), order_.end());
  } while (release_warps(threads_) || release_block(threads_));
  current = nullptr;
  std::optional<unsigned long long> next;
  bool all_done = true;
  for (unsigned t = 0; t < threads_; ++t) {
    const Fiber& fiber = *fibers_[t];
    all_done = all_done && fiber.state == State::done;
    if (fiber.state == State::asleep) next = std::min(next.value_or(fiber.wake_ns), fiber.wake_ns);
  }
  if (!all_done && !next) die("a thread waits at a barrier that others of its warp or block never reach");
  if (failure_ && all_done) std::rethrow_exception(failure_);
  return next;
}

}  // namespace

const ThreadPlace& here() { return current->place; }
void block_barrier() { current->wait(State::at_block_barrier, 0); }
void warp_barrier(unsigned mask) { current->wait(State::at_warp_barrier, mask); }
std::byte* exchange_slot(unsigned lane) {
  return current->exchange[current->place.thread.x / kWarp].data() + std::size_t{8} * lane;
}
std::byte* dynamic_shared_memory() { return reinterpret_cast<std::byte*>(current->shared.data()); }
VirtualClock& virtual_clock() {
  static VirtualClock clock;
  return clock;
}
unsigned long long global_timer() { return virtual_clock().now_ns += virtual_clock().tick_ns; }
void sleep_for(unsigned nanoseconds) { current->sleep(virtual_clock().now_ns + nanoseconds); }
void wait_for_others(unsigned nanoseconds) { current->sleep_for_others(virtual_clock().now_ns + nanoseconds); }

namespace {

// Stacks are dear, so blocks are used again, by whichever thread. Kernels run one at a time.
std::vector<std::unique_ptr<Block>>& idle_blocks() {
  static std::vector<std::unique_ptr<Block>> blocks;
  return blocks;
}

}  // namespace

struct KernelRun::State {
  std::unique_ptr<Block> block;

  State() {
    if (idle_blocks().empty()) idle_blocks().push_back(std::make_unique<Block>());
    block = std::move(idle_blocks().back());
    idle_blocks().pop_back();
  }
  ~State() { idle_blocks().push_back(std::move(block)); }
};

KernelRun::KernelRun(std::shared_ptr<const KernelLaunch> launch) : launch_(std::move(launch)) {}
KernelRun::~KernelRun() = default;

bool KernelRun::advance(std::mt19937_64& random) {
  if (order_.empty()) {
    order_.resize(launch_->blocks);
    std::iota(order_.begin(), order_.end(), 0U);
    std::shuffle(order_.begin(), order_.end(), random);
  }
  for (; next_ < order_.size(); ++next_) {
    if (state_ == nullptr) {
      state_ = std::make_unique<State>();
      state_->block->begin(*launch_, {order_[next_], 0, 0}, random);
    }
    while (const auto next = state_->block->advance()) {
      virtual_clock().now_ns = std::max(virtual_clock().now_ns, *next);
      if (state_->block->take_waits_for_others()) return false;
    }
    state_.reset();
  }
  return true;
}

void run_kernel(const KernelLaunch& launch, std::mt19937_64& random) {
  thread_local Block block;
  std::vector<unsigned> order(launch.blocks);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  for (const unsigned index : order) {
    block.begin(launch, {index, 0, 0}, random);
    while (const auto next = block.advance()) virtual_clock().now_ns = std::max(virtual_clock().now_ns, *next);
  }
}

void run_together(std::span<const KernelLaunch> launches, std::mt19937_64& random) {
  thread_local std::vector<std::unique_ptr<Block>> pool;
  std::vector<Block*> blocks;
  for (const KernelLaunch& launch : launches) {
    for (unsigned index = 0; index < launch.blocks; ++index) {
      if (blocks.size() == pool.size()) pool.push_back(std::make_unique<Block>());
      blocks.push_back(pool[blocks.size()].get());
      blocks.back()->begin(launch, {index, 0, 0}, random);
    }
  }
  while (!blocks.empty()) {
    std::shuffle(blocks.begin(), blocks.end(), random);
    std::optional<unsigned long long> first;
    std::erase_if(blocks, [&](Block* block) {
      const auto& placed_at_ns = virtual_clock().placed_at_ns;
      const unsigned long long placed = placed_at_ns ? placed_at_ns(block->place.block.x) : 0;
      const auto next = placed > virtual_clock().now_ns ? std::optional(placed) : block->advance();
      if (next) first = std::min(first.value_or(*next), *next);
      return !next;
    });
    if (first) virtual_clock().now_ns = std::max(virtual_clock().now_ns, *first);
  }
}

}  // namespace underlap::cuda_host
