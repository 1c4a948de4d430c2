// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace underlap::formats::nsys {
namespace {

// Of ENUM_NSYS_EVENT_TYPE, which early exports do not have.
constexpr std::int64_t kMark = 34;
constexpr std::int64_t kPushPop = 59;
constexpr std::int64_t kStartEnd = 60;
constexpr std::int64_t kDomainCreate = 75;

enum Column : int {
  kRangeStart,
  kRangeEnd,
  kRangeType,
  kRangeTid,
  kRangeText,
  kRangeTextId,
  kRangeDomain,
  kRangeBinary,
  kRangeJson
};

// PyTorch numbers each operation after its name: "aten::empty, op_id = 990346", "aten::add, seq = 5, sizes = [...]".
std::string_view without_number(std::string_view text) {
  for (const std::string_view mark : {", op_id = ", ", seq = "})
    if (const std::size_t at = text.find(mark); at != std::string_view::npos && at > 0) text = text.substr(0, at);
  return text;
}

struct NcclWord {
  std::string_view name;
  NcclCall::What what;
  Collective collective = Collective::all_reduce;
};
using What = NcclCall::What;
constexpr std::array kNcclWords{NcclWord{"ncclGroupStart", What::group_start},
                                NcclWord{"ncclGroupEnd", What::group_end},
                                NcclWord{"ncclAllGather", What::collective, Collective::all_gather},
                                NcclWord{"ncclAllReduce", What::collective, Collective::all_reduce},
                                NcclWord{"ncclReduceScatter", What::collective, Collective::reduce_scatter},
                                NcclWord{"ncclBroadcast", What::collective, Collective::broadcast},
                                NcclWord{"ncclBcast", What::collective, Collective::broadcast},
                                NcclWord{"ncclAlltoAll", What::collective, Collective::all_to_all},
                                NcclWord{"ncclAllToAll", What::collective, Collective::all_to_all},
                                NcclWord{"ncclSend", What::collective, Collective::send},
                                NcclWord{"ncclRecv", What::collective, Collective::receive}};

// What the text of a range means, found once.
struct Meaning {
  NameId name = kNoName;
  std::int32_t rank = -1;
  bool is_nccl = false;
  NcclWord word{"", What::other};
};

Meaning meaning_of(std::string_view text) {
  Meaning meaning{.name = intern(without_number(text)), .rank = rank_in(text), .is_nccl = text.starts_with("nccl")};
  const auto found = std::ranges::find(kNcclWords, text, &NcclWord::name);
  if (found != kNcclWords.end()) meaning.word = *found;
  return meaning;
}

class RangeReader {
 public:
  explicit RangeReader(Import& import) : import_(import), payloads_(import) {}

  std::vector<NcclCall> read() {
    const std::string table = "NVTX_EVENTS";
    Rows rows(import_.database(), table,
              {"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "binaryData", "jsonText"});
    while (import_.next(rows)) add(rows);
    import_.end_table(table, rows);
    name_domains();
    return std::move(nccl_calls_);
  }

 private:
  // The name of a domain may follow its first range.
  struct DomainTrack {
    std::uint32_t track = 0;
    std::pair<Process, std::int64_t> domain;
  };

  // 60111430336|60111435104|59|281477409407121|aten::empty, op_id = 990346|NULL|0|NULL|NULL
  // 60126338245|60126338916|59|281477392629904|NULL|71490|1|NULL|NULL, a string that is "ncclGroupStart"
  void add(Rows& rows) {
    if (!rows.integer(kRangeType)) return import_.skip("NVTX event without a type");
    const std::int64_t type = *rows.integer(kRangeType);
    const std::int64_t tid = rows.integer_or(kRangeTid, 0);
    if (type == kDomainCreate) return create_domain(rows, tid);
    if (type != kMark && type != kPushPop && type != kStartEnd) return;
    ++import_.trace.import.events;
    if (!import_.has_work(process_of(tid))) return import_.skip("NVTX event of a process without GPU work");
    const auto span = span_of(rows, type);
    if (!span) return;
    const Meaning meaning = meaning_of(rows);
    if (meaning.rank >= 0) import_.labels[process_of(tid)].insert(meaning.rank);
    const std::int64_t domain = rows.integer_or(kRangeDomain, 0);
    if (meaning.is_nccl) {
      add_call(rows, tid, *span, meaning.word);
      nccl_domains_.emplace(process_of(tid), domain);
    }
    import_.add(track_of(tid, domain, type == kStartEnd), *span, meaning.name);
  }

  std::optional<Import::Span> span_of(const Rows& rows, std::int64_t type) {
    if (type != kMark) return import_.span(rows, "NVTX range");
    const auto start = rows.integer(kRangeStart);
    const auto time_ns = start ? import_.time(*start) : std::nullopt;
    if (time_ns) return Import::Span{*time_ns, 0};
    import_.skip("NVTX mark without a time");
    return std::nullopt;
  }

  Meaning meaning_of(Rows& rows) {
    if (const auto id = rows.integer(kRangeTextId)) {
      const auto [found, is_new] = registered_.try_emplace(*id);
      if (is_new) {
        const auto text = import_.string(*id);
        if (!text) import_.skip("name missing from StringIds");
        found->second = nsys::meaning_of(text.value_or("unnamed"));
      }
      return found->second;
    }
    return nsys::meaning_of(rows.text(kRangeText).substr(0, kLongestText));
  }

  void add_call(Rows& rows, std::int64_t tid, const Import::Span& span, const NcclWord& word) {
    std::optional<NcclPayload> payload;
    if (!rows.is_null(kRangeBinary))
      payload = payloads_.from_binary(rows.blob(kRangeBinary));
    else if (!rows.is_null(kRangeJson))
      payload = Payloads::from_json(rows.text(kRangeJson));
    nccl_calls_.push_back({.global_tid = tid,
                           .start_ns = span.start_ns,
                           .end_ns = span.start_ns + span.duration_ns,
                           .what = word.what,
                           .collective = word.collective,
                           .payload = payload});
  }

  std::uint32_t track_of(std::int64_t tid, std::int64_t domain, bool is_started) {
    const std::int64_t row = (domain & 0xFFFFFFFF) * 2 + (is_started ? 1 : 0);
    const std::size_t before = import_.trace.tracks.size();
    const std::uint32_t track = import_.range_track(tid, row, is_started ? "NVTX start/end" : "NVTX");
    if (track == before && domain != 0) domain_tracks_.push_back({track, {process_of(tid), domain}});
    return track;
  }

  // 0|NULL|75|281477392629904|TransformerEngine|NULL|3|NULL|NULL
  void create_domain(Rows& rows, std::int64_t tid) {
    const auto id = rows.integer(kRangeTextId);
    const auto text = id ? import_.string(*id).value_or("") : rows.text(kRangeText);
    domains_.emplace(std::pair(process_of(tid), rows.integer_or(kRangeDomain, 0)), text.substr(0, kLongestText));
  }

  void name_domains() {
    for (const DomainTrack& each : domain_tracks_) {
      const auto found = domains_.find(each.domain);
      import_.trace.tracks[each.track].name += found == domains_.end() || found->second.empty()
                                                   ? fmt::format(" domain {}", each.domain.second)
                                                   : " " + found->second;
    }
  }

  static constexpr std::size_t kLongestText = 4096;

  Import& import_;
  Payloads payloads_;
  std::unordered_map<std::int64_t, Meaning> registered_;
  std::map<std::pair<Process, std::int64_t>, std::string> domains_;
  std::vector<DomainTrack> domain_tracks_;
  std::set<std::pair<Process, std::int64_t>> nccl_domains_;
  std::vector<NcclCall> nccl_calls_;
};

}  // namespace

std::vector<NcclCall> read_ranges(Import& import) { return RangeReader(import).read(); }

}  // namespace underlap::formats::nsys
