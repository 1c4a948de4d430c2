// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/agent_messages.hpp"

#include <fmt/format.h>

#include "bench/machine/machine.hpp"
#include "platform/cbor.hpp"
#include "platform/json.hpp"

namespace underlap::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kLaunchSchema = "underlap.launch/2";

Json optional_number(const std::optional<std::int32_t>& number) { return number ? Json(*number) : Json(); }

std::optional<std::int32_t> optional_number(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<std::int32_t>());
}

}  // namespace

std::string encode(const Hello& hello) {
  return to_cbor({{"rank", hello.rank},
                  {"child", optional_number(hello.child)},
                  {"size", hello.size},
                  {"local_rank", optional_number(hello.local_rank)},
                  {"node", hello.place.node},
                  {"address", hello.place.address},
                  {"cpus", hello.place.cpus},
                  {"numa_nodes", hello.place.numa_nodes},
                  {"visible_devices", hello.place.visible_devices},
                  {"pid", hello.place.pid},
                  {"clock", hello.place.clock},
                  {"facts", hello.facts},
                  {"complaint", hello.complaint}});
}

Hello decode_hello(std::string_view payload) {
  const Json json = parse_cbor(payload);
  Hello hello{.rank = json.at("rank"),
              .child = optional_number(json.at("child")),
              .size = json.at("size"),
              .local_rank = optional_number(json.at("local_rank")),
              .facts = json.at("facts").get<Facts>(),
              .complaint = json.at("complaint")};
  hello.place = {.node = json.at("node"),
                 .address = json.at("address"),
                 .cpus = json.at("cpus"),
                 .numa_nodes = json.at("numa_nodes"),
                 .visible_devices = json.at("visible_devices"),
                 .pid = json.at("pid"),
                 .clock = json.at("clock")};
  return hello;
}

std::string encode(const ChildOrder& order) {
  return to_cbor({{"child", order.child}, {"arguments", order.arguments}, {"environment", order.environment}});
}

ChildOrder decode_child_order(std::string_view payload) {
  const Json json = parse_cbor(payload);
  return {.child = json.at("child"),
          .arguments = json.at("arguments").get<std::vector<std::string>>(),
          .environment = json.at("environment").get<std::vector<std::pair<std::string, std::string>>>()};
}

std::string encode(const ChildNews& news) {
  return to_cbor({{"child", news.child}, {"text", news.text}, {"number", news.number}});
}

ChildNews decode_news(std::string_view payload) {
  const Json json = parse_cbor(payload);
  return {.child = json.at("child"), .text = json.at("text"), .number = json.at("number")};
}

std::string file_text(const LaunchFile& file) {
  const Json json = {{"schema", kLaunchSchema}, {"job", file.job},   {"token", file.token},
                     {"node", file.node},       {"port", file.port}, {"addresses", file.addresses}};
  return json_text(json) + "\n";
}

std::optional<LaunchFile> read_launch_file(const std::string& text) {
  const nlohmann::ordered_json json = parse_json_or_discard(text);
  try {
    if (json.at("schema") != kLaunchSchema) return std::nullopt;
    return LaunchFile{.job = json.at("job"),
                      .token = json.at("token"),
                      .node = json.at("node"),
                      .port = json.at("port"),
                      .addresses = json.at("addresses").get<std::vector<std::string>>()};
  } catch (const nlohmann::ordered_json::exception&) {
    return std::nullopt;
  }
}

std::string launch_file_name(const std::string& job) { return fmt::format("launch-{}.json", name_hash(job)); }

}  // namespace underlap::bench
