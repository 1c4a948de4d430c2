// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/agent_messages.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/machine/machine_info.hpp"
#include "platform/fields/json_fields.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kLaunchSchema = "underlap.launch/2";

}  // namespace

void visit_fields(Is<LaunchFile> auto& file, auto&& field) {
  field("job", file.job);
  field("token", file.token);
  field("node", file.node);
  field("port", file.port);
  field("addresses", file.addresses);
}

std::string file_text(const LaunchFile& file) { return fields::document_text(kLaunchSchema, file, -1); }

// {"schema":"underlap.launch/2","job":"Slurm 17 0","token":"...","node":"node1","port":40123,"addresses":["10.0.0.1"]}
std::optional<LaunchFile> read_launch_file(const std::string& text) {
  try {
    return fields::parse_document<LaunchFile>(kLaunchSchema, parse_json_or_discard(text), "");
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

std::string launch_file_name(const std::string& job) { return fmt::format("launch-{}.json", name_hash(job)); }

}  // namespace underlap::bench
