// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto_writer/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace underlap::formats {
namespace {

// NCCL moves all that is no collective of its own in kernels named SendRecv.
std::string_view nccl_word(const CommunicationRecord& record) {
  const Collective first = record.transfers.front().collective;
  const bool is_mixed = std::ranges::any_of(record.transfers, [&](const auto& t) { return t.collective != first; });
  if (is_mixed) return "SendRecv";
  switch (first) {
    case Collective::all_gather: return "AllGather";
    case Collective::reduce_scatter: return "ReduceScatter";
    case Collective::all_reduce: return "AllReduce";
    case Collective::broadcast: return "Broadcast";
    default: return "SendRecv";
  }
}

bool is_memset(std::string_view name) { return name.starts_with("Memset"); }

// "cudaLaunchKernel", "cuLaunchKernel", "hipMemcpyAsync": a prefix, and then a capital letter.
bool is_call_of(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0;
}

std::string_view category_on_stream(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::copy: return is_memset(name) ? "gpu_memset" : "gpu_memcpy";
    case Kind::none: return "cuda_sync";
    default: return "kernel";
  }
}

std::string_view category_on_thread(std::string_view name) {
  if (is_call_of("cuda", name) || is_call_of("hip", name)) return "cuda_runtime";
  return is_call_of("cu", name) ? "cuda_driver" : "cpu_op";
}

}  // namespace

std::string_view kineto_word(Collective collective) {
  switch (collective) {
    case Collective::all_gather: return "_allgather_base";
    case Collective::reduce_scatter: return "_reduce_scatter_base";
    case Collective::all_reduce: return "allreduce";
    case Collective::all_to_all: return "all_to_all";
    case Collective::broadcast: return "broadcast";
    case Collective::send: return "send";
    case Collective::receive: return "recv";
  }
  return "";
}

std::string_view kineto_word(DataType dtype) {
  switch (dtype) {
    case DataType::f32: return "Float";
    case DataType::bf16: return "BFloat16";
    case DataType::i32: return "Int";
    case DataType::u8: return "Byte";
    case DataType::f64: return "Double";
    case DataType::f8e4m3: return "Float8_e4m3fn";
    case DataType::f8e5m2: return "Float8_e5m2";
  }
  return "";
}

std::string_view kineto_category(const Trace& trace, std::size_t i) {
  const Track& track = trace.track_of(i);
  switch (track.kind) {
    case TrackKind::thread: return category_on_thread(name_of(trace.name(i)));
    case TrackKind::range: return track.device >= 0 ? "gpu_user_annotation" : "user_annotation";
    default: return category_on_stream(trace.tag(i).kind, name_of(trace.name(i)));
  }
}

std::string kineto_name(const Trace& trace, std::size_t i) {
  const std::string_view name = name_of(trace.name(i));
  const Kind kind = trace.track_of(i).kind == TrackKind::stream ? trace.tag(i).kind : Kind::none;
  const CommunicationRecord* record = trace.communication(i);
  if (kind == Kind::communication && !name.starts_with("nccl")) {
    if (record == nullptr || record->transfers.empty()) return fmt::format("ncclDevKernel({})", name);
    return fmt::format("ncclDevKernel_{}({})", nccl_word(*record), name);
  }
  if (kind == Kind::copy && !is_memset(name) && !name.starts_with("Memcpy")) return fmt::format("Memcpy ({})", name);
  return std::string(name);
}

}  // namespace underlap::formats
