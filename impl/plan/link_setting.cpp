// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/link_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platform/problems.hpp"
#include "platform/text/digits.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kEmulated = "emulated:";
constexpr double kFastest = 1e5;    // GB/s; about a hundred times the fastest link on the market
constexpr int kMostBlocks = 64;     // NCCL has at most 64 channels
constexpr int kMostOfACluster = 8;  // blocks, of NCCL's kernels
constexpr double kLongest = 1e6;    // us

/// The number before `unit`, if `text` ends in it.
std::optional<double> in_unit(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  const auto number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<double> gb_per_s(std::string_view text) {
  if (const auto bytes = in_unit(text, "GB/s")) return bytes;
  if (const auto bits = in_unit(text, "Gbit/s")) return *bits / 8;
  return std::nullopt;
}

/// Parses one link from text. Reads every option, so that all errors are reported.
class Parser {
 public:
  explicit Parser(std::vector<std::string>& errors) : errors_(errors) {}

  EmulatedLink parse(std::string_view text) {
    for (bool is_rate = true; is_rate || !text.empty(); is_rate = false) {
      const std::size_t comma = std::min(text.find(','), text.size());
      const std::string_view part = text.substr(0, comma);
      text.remove_prefix(std::min(comma + 1, text.size()));
      is_rate ? read_rate(part) : read_option(part);
    }
    if (!link_.copy_engine && std::ranges::find(seen_, "sms") == seen_.end())
      fail(
          "run.link needs sms=K or copy_engine, which decides how many SMs compute keeps; inside braces, quote a link "
          "with commas");
    return link_;
  }

 private:
  void fail(std::string what) { errors_.push_back(std::move(what)); }

  void read_rate(std::string_view text) {
    const auto rate = gb_per_s(text);
    if (rate && *rate > 0 && *rate <= kFastest) {
      link_.gb_per_s = *rate;
      return;
    }
    fail(
        fmt::format("run.link: the rate of each direction is {}, must be above 0 and at most {:g} GB/s, written as "
                    "450GB/s or 400Gbit/s",
                    yaml::in_quotes(text), kFastest));
  }

  void read_option(std::string_view text) {
    const std::string_view key = text.substr(0, text.find('='));
    const std::string_view value = key.size() == text.size() ? std::string_view() : text.substr(key.size() + 1);
    if (std::ranges::find(seen_, key) != seen_.end())
      return fail(fmt::format("run.link has {} twice; keep one of them", yaml::in_quotes(key)));
    seen_.push_back(key);
    if (text == "copy_engine")
      link_.copy_engine = true;
    else if (key == "sms")
      read_whole(key, value, kMostBlocks, link_.sms);
    else if (key == "cga")
      read_whole(key, value, kMostOfACluster, link_.cga_size);
    else if (key == "latency")
      read_latency(value);
    else
      fail(fmt::format("run.link: unknown option {}; known: sms=K, copy_engine, cga=K and latency=5us",
                       yaml::in_quotes(text)));
  }

  void read_whole(std::string_view key, std::string_view text, int most, int& member) {
    const auto number = parse_number<double>(text);
    if (!number || !(*number >= 1 && *number <= most) || *number != std::trunc(*number))
      return fail(
          fmt::format("run.link: {} is {}, must be a whole number from 1 to {}", key, yaml::in_quotes(text), most));
    member = static_cast<int>(*number);
  }

  void read_latency(std::string_view text) {
    const auto latency = in_unit(text, "us");
    if (!latency || *latency < 0 || *latency > kLongest)
      return fail(fmt::format("run.link: latency is {}, must be from 0 to {:g} us, written as 5us",
                              yaml::in_quotes(text), kLongest));
    link_.latency_us = *latency;
  }

  std::vector<std::string>& errors_;
  std::vector<std::string_view> seen_;
  EmulatedLink link_;
};

}  // namespace

std::optional<EmulatedLink> parse_link(std::string_view text, std::vector<std::string>& errors) {
  if (text == "real") return std::nullopt;
  if (text.starts_with(kEmulated)) return Parser(errors).parse(text.substr(kEmulated.size()));
  errors.push_back(
      fmt::format("run.link must be {}, or null for the real link, not {}", kLinkGrammar, yaml::in_quotes(text)));
  return std::nullopt;
}

std::string to_words(const EmulatedLink& link) {
  std::string words = fmt::format("emulated {:g} GB/s, ", link.gb_per_s);
  words +=
      link.copy_engine ? fmt::format("copy engines (reductions: {} SMs)", link.sms) : fmt::format("{} SMs", link.sms);
  if (link.cga_size > 0) words += fmt::format(", clusters of {}", link.cga_size);
  if (link.latency_us > 0) words += fmt::format(", {:g} us latency", link.latency_us);
  return words;
}

}  // namespace underlap::plan
