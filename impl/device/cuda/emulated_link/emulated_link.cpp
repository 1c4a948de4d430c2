// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/emulated_link/emulated_link.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "impl/plan/link_setting.hpp"
#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"
#include "platform/numbers/median.hpp"

namespace underlap::cuda {
namespace {

template <class T>
DeviceMemory<T> device_memory(std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, bytes);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // otherwise the next launch would report this error
    std::size_t free = 0, total = 0;
    (void)cudaMemGetInfo(&free, &total);
    throw OutOfDeviceMemory(fmt::format("out of memory for {} bytes of an emulated link: {} are free", bytes, free),
                            static_cast<std::int64_t>(free) - static_cast<std::int64_t>(bytes));
  }
  check(result);
  return DeviceMemory<T>(static_cast<T*>(memory));
}

/// Runs `enqueue` on a separate stream, and waits for it.
template <class Enqueue>
void run_now(const Enqueue& enqueue) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const StreamHandle owner(stream);
  enqueue(stream);
  check(cudaStreamSynchronize(stream));
}

/// Hops of the last byte.
std::int64_t num_steps(Collective collective, std::int64_t ranks) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::broadcast: return ranks - 1;
    case Collective::all_reduce: return 2 * (ranks - 1);
    case Collective::all_to_all: return std::min<std::int64_t>(ranks - 1, 1);
    case Collective::send:
    case Collective::receive: return 1;
  }
  return 0;
}

LinkWork work_of(const BoundTransfer& with_memory, const Group& group) {
  const Transfer& t = with_memory.transfer;
  const bool is_mean = is_reduction(t.collective) && t.op == ReduceOp::average;
  return {.collective = t.collective,
          .dtype = dtype_of(t),
          .is_root = t.collective == Collective::broadcast && t.peer == group.my_index,
          .ranks = group.size(),
          .index = group.my_index,
          .scale = is_mean ? 1.0F / static_cast<float>(group.size()) : 1.0F,
          .takes_largest = is_reduction(t.collective) && t.op == ReduceOp::max,
          .input = with_memory.input,
          .output = with_memory.output,
          .input_bytes = t.input.bytes(),
          .output_bytes = t.output.bytes()};
}

/// The works of a group of transfers. A send and a receive run at the same time, so the i-th of each is one work.
std::vector<LinkWork> works_of(std::span<const BoundTransfer> transfers, const Group& group) {
  std::vector<LinkWork> works;
  std::vector<LinkWork> receives;
  for (const BoundTransfer& transfer : transfers)
    (transfer.transfer.collective == Collective::receive ? receives : works).push_back(work_of(transfer, group));
  std::size_t next = 0;
  for (LinkWork& work : works) {
    if (work.collective != Collective::send || next == receives.size()) continue;
    work.output = receives[next].output;
    work.output_bytes = receives[next].output_bytes;
    ++next;
  }
  works.insert(works.end(), receives.begin() + static_cast<std::ptrdiff_t>(next), receives.end());
  return works;
}

/// One copy of a copy engine, and which of its bytes count on the link.
struct EngineCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;
  bool is_sent = false;
  bool is_received = false;
};

/// The first driver that honors a request to use a copy engine for a copy within one GPU. Source: NCCL, whose copy
/// engine collectives rely on it from CUDA 13.1 on; according to the programming guide, earlier drivers ignore it.
constexpr int kFirstDriverWithEngines = 13010;

constexpr int kFirstWithClusters = 9;  // compute capability, major
/// NCCL's default from sm_90 on. Source: NCCL 2.28.9, init.cc (cgaClusterSize).
constexpr int kNcclCluster = 4;

/// Whether two transfers differ only in their memory.
bool has_same_shape(const LinkWork& a, const LinkWork& b) {
  return a.collective == b.collective && a.dtype == b.dtype && a.is_root == b.is_root && a.ranks == b.ranks &&
         a.input_bytes == b.input_bytes && a.output_bytes == b.output_bytes;
}

/// Startup time of a kernel: until all its blocks run and have claimed their first bytes. The link's rate excludes it.
constexpr double kStartUs = 10;

/// Rate of a transfer measured alone. At most the requested rate, unless that is 0 (no pacing).
double rate_alone(const LinkRecord& record, double latency_us, double asked_gb_per_s) {
  const auto bytes = static_cast<double>(std::max(record.bytes_out, record.bytes_in));
  const double us = static_cast<double>(record.end_ns - record.start_ns) * 1e-3 - latency_us;
  if (asked_gb_per_s == 0) return bytes / us * 1e-3;
  return us <= kStartUs ? asked_gb_per_s : std::min(bytes / (us - kStartUs) * 1e-3, asked_gb_per_s);
}

/// Copies within one piece: a copy engine may run them in any order.
void copy_pieces(std::span<const EngineCopy> copies, cudaStream_t stream) {
#if CUDART_VERSION >= 12080
  // A plain copy within one device runs on multiprocessors; the flag requests a copy engine.
  std::vector<void*> to;
  std::vector<const void*> from;
  std::vector<std::size_t> sizes;
  for (const EngineCopy& copy : copies) {
    to.push_back(copy.to);
    from.push_back(copy.from);
    sizes.push_back(static_cast<std::size_t>(copy.bytes));
  }
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  std::size_t first = 0;
#if CUDART_VERSION >= 13000
  const cudaError_t code =
      cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), copies.size(), &attributes, &first, 1, stream);
#else
  std::size_t failed = 0;
  const cudaError_t code = cudaMemcpyBatchAsync(to.data(), const_cast<void**>(from.data()), sizes.data(), copies.size(),
                                                &attributes, &first, 1, &failed, stream);
#endif
  if (code != cudaErrorCallRequiresNewerDriver && code != cudaErrorNotSupported) return check(code);
  (void)cudaGetLastError();  // an old driver supports only the plain copy, which unmet() reports
#endif
  for (const EngineCopy& copy : copies)
    check(cudaMemcpyAsync(copy.to, copy.from, static_cast<std::size_t>(copy.bytes), cudaMemcpyDeviceToDevice, stream));
}

}  // namespace

std::string why_no_copy_engine() {
  int driver = 0;
  check(cudaDriverGetVersion(&driver));
  if (CUDART_VERSION >= 12080 && driver >= kFirstDriverWithEngines) return "";
  const auto text = [](int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); };
  return fmt::format(
      "copy engines were requested, but {} copies within a GPU by its SMs: use a driver of CUDA 13.1 or newer, or give "
      "the link SMs (sms=16)",
      CUDART_VERSION < 12080 ? "a program built with " + text(CUDART_VERSION) : "the driver (" + text(driver) + ")");
}

/// One communicator on the link.
class EmulatedLink::EmulatedChannel final : public Channel {
 public:
  EmulatedChannel(EmulatedLink& link, std::uint32_t index, const Group& group, const CommunicatorHints& hints)
      : link_(link),
        index_(index),
        group_(group),
        launched_(launch_shape(hints, link.options_.link)),
        by_copy_engine_(hints.copy_engine || link.options_.link.copy_engine),
        staging_(device_memory<std::byte>(staging_bytes(link.options_.shape, launched_.blocks))) {
    link_.has_copy_engines_ = link_.has_copy_engines_ || by_copy_engine_;
    run_now([&](CUstream_st* stream) {
      launch_staging_fill(staging_.get(), staging_bytes(link.options_.shape, launched_.blocks), stream);
      if (by_copy_engine_) prepare_copies(stream);
    });
  }
  ~EmulatedChannel() override { link_.forget(*this); }
  EmulatedChannel(const EmulatedChannel&) = delete;
  EmulatedChannel& operator=(const EmulatedChannel&) = delete;

  void enqueue(std::span<const BoundTransfer> transfers, CUstream_st* stream, std::uint64_t sequence) override {
    if (link_.is_aborted_) throw MachineError(fmt::format("transfer {} on an aborted link", sequence));
    if (group_.size() == 1) return copy_own(transfers, stream);
    enqueue(works_of(transfers, group_), stream, sequence);
  }

  void enqueue(std::span<const LinkWork> works, CUstream_st* stream, std::uint64_t sequence) {
    std::int64_t steps = 0;
    for (const LinkWork& work : works) steps = std::max(steps, num_steps(work.collective, work.ranks));
    const double latency_us = static_cast<double>(steps) * link_.options_.link.latency_us;
    const bool adds =
        std::any_of(works.begin(), works.end(), [](const LinkWork& w) { return is_reduction(w.collective); });
    const bool is_copied = by_copy_engine_ && !adds;
    LinkRecord* const record =
        link_.next_record({.latency_us = latency_us,
                           .shape = link_.shape_of(*this, works),
                           .stamp = {.communicator = index_,
                                     .sequence = sequence,
                                     .is_one_kernel = !is_copied && works.size() <= std::size_t{kMostLinkWorks}}});
    if (is_copied)
      enqueue_copies(works, latency_us, record, stream);
    else
      enqueue_kernels(works, latency_us, record, stream);
  }

  /// Whether a hint gives this communicator fewer multiprocessors than the link has.
  bool has_fewer_sms() const { return !by_copy_engine_ && launched_.blocks < link_.options_.link.sms; }

 private:
  /// As NCCL for a communicator of one rank (ncclLaunchOneRank): a plain copy, or nothing if in place.
  static void copy_own(std::span<const BoundTransfer> transfers, CUstream_st* stream) {
    for (const BoundTransfer& t : transfers)
      if (t.input != nullptr && t.output != nullptr && t.input != t.output)
        check(cudaMemcpyAsync(t.output, t.input, static_cast<std::size_t>(t.transfer.input.bytes()),
                              cudaMemcpyDeviceToDevice, stream));
  }

  static LinkLaunchShape launch_shape(const CommunicatorHints& hints, const plan::EmulatedLink& link) {
    LinkLaunchShape shape{.blocks = hints.sms > 0 ? hints.sms : link.sms};
    int device = 0, major = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    if (major < kFirstWithClusters) return shape;
    shape.is_remote_domain = true;
    shape.cluster = hints.cga_size > 0 ? hints.cga_size : link.cga_size > 0 ? link.cga_size : kNcclCluster;
    if (shape.blocks % shape.cluster != 0) shape.cluster = 1;  // as NCCL does
    return shape;
  }

  void enqueue_kernels(std::span<const LinkWork> works, double latency_us, LinkRecord* record, CUstream_st* stream) {
    const LinkShape& shape = link_.options_.shape;
    LinkLaunch launch{.link = link_.state_.get(),
                      .record = record,
                      .staging = staging_.get(),
                      .staging_bytes = shape.staging_bytes,
                      .piece_bytes = shape.piece_bytes,
                      .polls = shape.polls,
                      .ps_per_byte = link_.ps_per_byte_};
    while (!works.empty()) {
      const std::size_t count = std::min<std::size_t>(works.size(), kMostLinkWorks);
      std::copy_n(works.begin(), count, launch.works);
      launch.num_works = static_cast<int>(count);
      works = works.subspan(count);
      if (works.empty()) launch.latency_ps = static_cast<unsigned long long>(latency_us * 1e6);
      launch_transfers(launch, shape, launched_, stream);
      launch.is_first = false;
    }
  }

  /// The source of received bytes and the destination of sent bytes: one piece each, so that they stay in the cache.
  void prepare_copies(CUstream_st* stream) {
    constexpr double kUnpaced = 500;  // GB/s: pieces of an unpaced link have the size for this rate
    const double rate = link_.options_.link.gb_per_s;
    const double bytes = link_.options_.copy_piece_us * 1e3 * (rate > 0 ? rate : kUnpaced);
    copy_bytes_ = std::max<std::int64_t>(static_cast<std::int64_t>(bytes) / 256 * 256, 256);
    pattern_ = device_memory<std::byte>(2 * copy_bytes_);
    slot_end_ps_ = device_memory<unsigned long long>(1);
    launch_staging_fill(pattern_.get(), 2 * copy_bytes_, stream);
  }

  std::vector<EngineCopy> copies_of(const LinkWork& work) const {
    std::vector<EngineCopy> copies;
    const std::int64_t n = work.ranks;
    const auto own = [&](const std::byte* from, std::byte* to, std::int64_t bytes) {
      if (from != to) copies.push_back({.from = from, .to = to, .bytes = bytes});
    };
    const auto exchanged = [&](const std::byte* from, std::byte* to, std::int64_t bytes) {
      copies.push_back({.from = from, .to = to, .bytes = bytes, .is_sent = true, .is_received = true});
    };
    switch (work.collective) {
      case Collective::all_gather:
        own(work.input, work.output + work.index * work.input_bytes, work.input_bytes);
        for (std::int64_t i = 1; i < n; ++i)
          exchanged(work.input, work.output + (work.index + i) % n * work.input_bytes, work.input_bytes);
        break;
      case Collective::all_to_all: {
        const std::int64_t shard = work.input_bytes / n;
        own(work.input + work.index * shard, work.output + work.index * shard, shard);
        for (std::int64_t i = 1; i < n; ++i)
          exchanged(work.input + (work.index + i) % n * shard, work.output + (work.index - i + n) % n * shard, shard);
        break;
      }
      case Collective::broadcast:
        if (work.is_root || n == 1) own(work.input, work.output, work.input_bytes);
        if (work.is_root && n > 1)
          copies.push_back({.from = work.input, .bytes = work.input_bytes, .is_sent = true});
        else if (n > 1)
          copies.push_back({.to = work.output, .bytes = work.output_bytes, .is_sent = true, .is_received = true});
        break;
      default:
        if (work.input_bytes > 0) copies.push_back({.from = work.input, .bytes = work.input_bytes, .is_sent = true});
        if (work.output_bytes > 0)
          copies.push_back({.to = work.output, .bytes = work.output_bytes, .is_received = true});
    }
    return copies;
  }

  /// The part of `copy` at `offset`; the pattern replaces memory of a peer.
  EngineCopy piece_of(const EngineCopy& copy, std::int64_t offset) const {
    EngineCopy piece = copy;
    piece.bytes = std::min(copy.bytes - offset, copy_bytes_);
    piece.from = copy.from != nullptr ? copy.from + offset : pattern_.get();
    piece.to = copy.to != nullptr ? copy.to + offset : pattern_.get() + copy_bytes_;
    return piece;
  }

  void enqueue_copies(std::span<const LinkWork> works, double latency_us, LinkRecord* record, CUstream_st* stream) {
    LinkPace pace{.link = link_.state_.get(),
                  .record = record,
                  .slot_end_ps = slot_end_ps_.get(),
                  .ps_per_byte = link_.ps_per_byte_,
                  .ahead_ps = static_cast<unsigned long long>(3 * link_.options_.copy_piece_us * 1e6),
                  .latency_ps = static_cast<unsigned long long>(latency_us * 1e6),
                  .is_first = true};
    const auto claim_and_copy = [&](std::span<const EngineCopy> pieces) {
      pace.bytes_out = pace.bytes_in = pace.bytes_read = pace.bytes_written = 0;
      for (const EngineCopy& piece : pieces) {
        pace.bytes_out += piece.is_sent ? piece.bytes : 0;
        pace.bytes_in += piece.is_received ? piece.bytes : 0;
        pace.bytes_read += piece.from != pattern_.get() ? piece.bytes : 0;
        pace.bytes_written += piece.to != pattern_.get() + copy_bytes_ ? piece.bytes : 0;
      }
      launch_pace(pace, stream);
      copy_pieces(pieces, stream);
      pace.is_first = false;
    };
    for (const LinkWork& work : works) {
      std::vector<EngineCopy> copies = copies_of(work);
      // A send and its receive use the two directions at the same time; all other copies run one after another.
      const bool at_once = work.collective == Collective::send && copies.size() == 2;
      for (std::size_t first = 0; first < copies.size(); first += at_once ? 2 : 1) {
        const auto together = std::span(copies).subspan(first, at_once ? 2 : 1);
        std::int64_t longest = 0;
        for (const EngineCopy& copy : together) longest = std::max(longest, copy.bytes);
        for (std::int64_t offset = 0; offset < longest; offset += copy_bytes_) {
          std::vector<EngineCopy> pieces;
          for (const EngineCopy& copy : together)
            if (offset < copy.bytes) pieces.push_back(piece_of(copy, offset));
          claim_and_copy(pieces);
        }
      }
    }
    pace.bytes_out = pace.bytes_in = pace.bytes_read = pace.bytes_written = 0;
    pace.is_last = true;
    launch_pace(pace, stream);
  }

  EmulatedLink& link_;
  std::uint32_t index_ = 0;
  Group group_;
  LinkLaunchShape launched_;
  bool by_copy_engine_ = false;
  std::int64_t copy_bytes_ = 0;  // of a piece
  DeviceMemory<std::byte> staging_;
  DeviceMemory<std::byte> pattern_;
  DeviceMemory<unsigned long long> slot_end_ps_;
};

EmulatedLink::EmulatedLink(const EmulatedLinkOptions& options)
    : options_(options),
      ps_per_byte_(options.link.gb_per_s > 0 ? 1000 / options.link.gb_per_s : 0),
      state_(device_memory<LinkState>(1)),
      records_(device_memory<LinkRecord>(options.num_records)) {
  run_now([&](CUstream_st* stream) { launch_link_start(state_.get(), stream); });
  clear_records(static_cast<std::size_t>(options_.num_records));
}

EmulatedLink::~EmulatedLink() = default;

std::unique_ptr<Channel> EmulatedLink::connect(std::uint32_t index, std::string_view, const Group& group,
                                               const CommunicatorHints& hints, std::span<const RegisteredBuffer>) {
  return std::make_unique<EmulatedChannel>(*this, index, group, hints);
}

std::string EmulatedLink::link() const { return plan::to_words(options_.link); }

LinkRecord* EmulatedLink::next_record(const Enqueued& enqueued) {
  if (enqueued_.size() == static_cast<std::size_t>(options_.num_records)) {
    ++num_unrecorded_;
    return nullptr;
  }
  enqueued_.push_back(enqueued);
  return records_.get() + enqueued_.size() - 1;
}

std::size_t EmulatedLink::shape_of(EmulatedChannel& channel, std::span<const LinkWork> works) {
  const auto is_known = [&](const TransferShape& shape) {
    return shape.channel == &channel && std::ranges::equal(shape.works, works, has_same_shape);
  };
  const auto index = static_cast<std::size_t>(std::ranges::find_if(shapes_, is_known) - shapes_.begin());
  if (index == shapes_.size())
    shapes_.push_back({.channel = &channel,
                       .works = std::vector<LinkWork>(works.begin(), works.end()),
                       .has_fewer_sms = channel.has_fewer_sms()});
  return index;
}

void EmulatedLink::forget(const EmulatedChannel& channel) {
  for (TransferShape& shape : shapes_)
    if (shape.channel == &channel) shape.channel = nullptr;
}

// A transfer that is too short to judge has no rate.
void EmulatedLink::measure_alone() {
  constexpr int kRepetitions = 3;
  (void)report();
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i].is_measured || shapes_[i].channel == nullptr) continue;
    shapes_[i].is_measured = true;
    if (shapes_[i].has_fewer_sms) continue;
    const TransferShape shape = shapes_[i];
    run_now([&](CUstream_st* stream) {
      for (int repetition = 0; repetition < kRepetitions; ++repetition) shape.channel->enqueue(shape.works, stream, 0);
    });
    std::vector<double> rates;
    const std::vector<Enqueued> enqueued = enqueued_;
    const std::vector<LinkRecord> records = take_records();
    for (std::size_t r = 0; r < records.size(); ++r)
      if (static_cast<double>(records[r].end_ns - records[r].start_ns) * 1e-3 >= LinkReport::kShortestUs)
        rates.push_back(rate_alone(records[r], enqueued[r].latency_us, options_.link.gb_per_s));
    if (rates.empty()) continue;
    shapes_[i].alone_gb_per_s = upper_median(rates);
  }
}

void EmulatedLink::clear_records(std::size_t count) {
  if (count == 0) return;
  const std::vector<LinkRecord> empty(count);
  check(cudaMemcpy(records_.get(), empty.data(), count * sizeof(LinkRecord), cudaMemcpyHostToDevice));
  check(cudaStreamSynchronize(nullptr));  // a copy from pageable memory may end later, and other streams do not wait
}

std::vector<std::string> EmulatedLink::unmet() const {
  const std::string why = has_copy_engines_ ? why_no_copy_engine() : "";
  return why.empty() ? std::vector<std::string>() : std::vector{why};
}

std::vector<LinkRecord> EmulatedLink::take_records() {
  std::vector<LinkRecord> records(enqueued_.size());
  if (!records.empty())
    check(cudaMemcpy(records.data(), records_.get(), records.size() * sizeof(LinkRecord), cudaMemcpyDeviceToHost));
  clear_records(records.size());
  enqueued_.clear();
  num_unrecorded_ = 0;
  return records;
}

LinkReport EmulatedLink::report() {
  const std::vector<Enqueued> enqueued = enqueued_;
  const std::int64_t num_unrecorded = num_unrecorded_;
  const std::vector<LinkRecord> records = take_records();
  std::vector<double> latency_us, alone;
  stamps_.clear();
  std::int64_t num_with_fewer_sms = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    num_with_fewer_sms += shapes_[enqueued[i].shape].has_fewer_sms;
    latency_us.push_back(enqueued[i].latency_us);
    alone.push_back(shapes_[enqueued[i].shape].alone_gb_per_s.value_or(0));
    if (records[i].end_ns < records[i].start_ns) continue;  // never ran
    stamps_.push_back(enqueued[i].stamp);
    stamps_.back().start_ns = static_cast<std::int64_t>(records[i].start_ns);
    stamps_.back().end_ns = static_cast<std::int64_t>(records[i].end_ns);
  }
  LinkReport report = report_link(records, latency_us, alone, options_.link.gb_per_s, num_unrecorded);
  report.num_with_fewer_sms = num_with_fewer_sms;
  return report;
}

}  // namespace underlap::cuda
