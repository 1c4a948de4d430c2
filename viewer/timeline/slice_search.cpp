// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/slice_search.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "platform/problems.hpp"
#include "platform/threads/on_all_cores.hpp"

namespace underlap::viewer {
namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

std::optional<std::string_view> after(std::string_view word, std::string_view key) {
  return word.starts_with(key) ? std::optional(word.substr(key.size())) : std::nullopt;
}

Mode mode_named(std::string_view name) {
  if (name == "unattributed") return Mode::none;
  if (const std::optional<Mode> mode = mode_from(name)) return *mode;
  throw std::invalid_argument(
      fmt::format("mode:{} is not a mode; use dp, tp, pp, cp, ep, fsdp, other or unattributed", name));
}

Kind kind_named(std::string_view name) {
  if (const std::optional<Kind> kind = kind_from(name)) return *kind;
  throw std::invalid_argument(fmt::format("kind:{} is not a kind; use compute, communication, copy or none", name));
}

std::int32_t rank_of(std::string_view number) {
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
  if (error == std::errc() && end == number.data() + number.size() && rank >= 0) return rank;
  throw std::invalid_argument(fmt::format("rank:{} is not a rank; use a number, 0 or more", number));
}

void take_word(std::string_view word, SearchQuery& query) {
  if (const auto mode = after(word, "mode:")) {
    query.mode = mode_named(*mode);
    if (!query.kind) query.kind = Kind::communication;
  } else if (const auto kind = after(word, "kind:")) {
    query.kind = kind_named(*kind);
  } else if (const auto rank = after(word, "rank:")) {
    query.rank = rank_of(*rank);
  } else if (const auto stream = after(word, "stream:")) {
    query.stream = *stream;
  } else if (word == "exposed") {
    query.only_exposed = true;
  } else {
    query.words.emplace_back(word);
  }
}

// Whether a name holds a word: asked once for each name, since a trace has few.
class Names {
 public:
  explicit Names(const std::string& word) : word_(word) {}

  bool hold(NameId name) {
    const auto id = static_cast<std::size_t>(name);
    if (id >= answers_.size()) answers_.resize(id + 1);
    if (!answers_[id]) answers_[id] = lower(name_of(name)).find(word_) != std::string::npos;
    return *answers_[id];
  }

 private:
  std::string word_;
  std::vector<std::optional<bool>> answers_;
};

// Whether slices fit a query; for one thread.
class Filter {
 public:
  Filter(const Trace& trace, const SearchQuery& query)
      : trace_(trace), query_(query), words_(query.words.begin(), query.words.end()) {
    for (const Track& track : trace.tracks)
      is_track_.push_back((!query.rank || track.rank == *query.rank) &&
                          lower(track.name).find(query.stream) != std::string::npos);
  }

  bool fits(std::uint32_t slice) {
    const Tag& tag = trace_.tag(slice);
    if (query_.kind && tag.kind != *query_.kind) return false;
    if (query_.mode && tag.mode != *query_.mode) return false;
    if (!is_track_[trace_.track(slice)]) return false;
    return std::ranges::all_of(words_,
                               [&](Names& names) { return names.hold(trace_.name(slice)) || names.hold(tag.purpose); });
  }

 private:
  const Trace& trace_;
  const SearchQuery& query_;
  std::vector<Names> words_;
  std::vector<bool> is_track_;  ///< of rank and stream
};

}  // namespace

SearchQuery parse_query(std::string_view text) {
  SearchQuery query;
  const std::string words = lower(text);
  for (const std::string_view word : yaml::split_words(words)) take_word(word, query);
  return query;
}

std::vector<std::uint32_t> find_slices(const Timeline& timeline, const SearchQuery& query) {
  std::vector<std::uint32_t> found;
  if (query.is_empty()) return found;
  if (query.only_exposed) {
    Filter filter(timeline.trace(), query);
    for (const ExposedSlice& exposed : timeline.exposed())
      if (filter.fits(exposed.slice)) found.push_back(exposed.slice);
    return found;
  }
  // Counted first: a vector of millions that grows takes ten times as long as finding them.
  std::vector<std::size_t> counts(std::max(1U, std::thread::hardware_concurrency()));
  const auto each_part = [&](const auto& what) { on_all_cores(counts.size(), what); };
  const auto each_found = [&](std::size_t part, const auto& what) {
    Filter filter(timeline.trace(), query);
    const std::size_t size = timeline.trace().size(), end = size * (part + 1) / counts.size();
    for (std::size_t slice = size * part / counts.size(); slice < end; ++slice)
      if (filter.fits(static_cast<std::uint32_t>(slice))) what(static_cast<std::uint32_t>(slice));
  };
  each_part([&](std::size_t part) { each_found(part, [&](std::uint32_t) { ++counts[part]; }); });
  found.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  each_part([&](std::size_t part) {
    std::size_t place =
        std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(part), std::size_t{0});
    each_found(part, [&](std::uint32_t slice) { found[place++] = slice; });
  });
  return found;
}

std::vector<std::uint32_t> find_alike(const Timeline& timeline, std::uint32_t slice) {
  const Trace& trace = timeline.trace();
  const Tag& tag = trace.tag(slice);
  std::vector<std::uint32_t> found;
  for (std::uint32_t other = 0; other < trace.size(); ++other) {
    const Tag& of_other = trace.tag(other);
    const bool is_alike = tag.purpose == kNoName ? trace.name(other) == trace.name(slice)
                                                 : of_other.purpose == tag.purpose && of_other.mode == tag.mode;
    if (is_alike && of_other.kind == tag.kind) found.push_back(other);
  }
  return found;
}

std::uint32_t next_of(const Timeline& timeline, const std::vector<std::uint32_t>& found, std::uint32_t from,
                      Towards towards, std::optional<std::int32_t> rank) {
  using Key = std::pair<std::int64_t, std::uint32_t>;
  const Key here{timeline.begin_ns(from), from};
  std::optional<Key> best;
  for (const std::uint32_t slice : found) {
    if (rank && timeline.trace().track_of(slice).rank != *rank) continue;
    const Key key{timeline.begin_ns(slice), slice};
    const bool is_ahead = towards == Towards::later ? key > here : key < here;
    if (is_ahead && (!best || (towards == Towards::later ? key < *best : key > *best))) best = key;
  }
  return best ? best->second : Timeline::kNoSlice;
}

std::vector<ExposedSlice> worst_exposed(const Timeline& timeline, std::size_t most) {
  // A heap, the shortest first: of millions few are longer than it, and only these are looked for among the steps.
  std::vector<ExposedSlice> worst;
  const auto is_longer = [](const ExposedSlice& a, const ExposedSlice& b) { return a.exposed_ns() > b.exposed_ns(); };
  for (const ExposedSlice& exposed : timeline.exposed()) {
    const bool is_full = worst.size() == most;
    if (is_full && (most == 0 || !is_longer(exposed, worst.front()))) continue;
    const std::int32_t rank = timeline.trace().track_of(exposed.slice).rank;
    if (!timeline.steps().empty() && timeline.step_at(rank, timeline.begin_ns(exposed.slice)) == nullptr) continue;
    if (is_full) {
      std::ranges::pop_heap(worst, is_longer);
      worst.pop_back();
    }
    worst.push_back(exposed);
    std::ranges::push_heap(worst, is_longer);
  }
  std::ranges::sort_heap(worst, is_longer);
  return worst;
}

}  // namespace underlap::viewer
