// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Facts about this machine and this build: commit, version, started_utc (now), host_name_hash, cpu_model, num_cpus
/// (those this process may use), operating_system, compiler, and the versions of the C library, fmt, nlohmann_json and
/// yaml-cpp. The caller adds command, backend, link, clock, seed, config_hash and further libraries. Unknown values are
/// "unknown"; a missing fact never throws.
report::RunInfo machine_info();

/// The date of the commit that this program was built from, YYYY-MM-DD; empty if it was not built from a checkout.
std::string build_date();

/// The model in the text of /proc/cpuinfo; "unknown" if there is none.
std::string cpu_model_from(std::istream& cpuinfo);

/// PRETTY_NAME in the text of /etc/os-release, unquoted; "unknown" if there is none.
std::string os_name_from(std::istream& os_release);

/// 16 hexadecimal digits that differ between names (FNV-1a, 64 bits). They distinguish machines, but do not hide a
/// name: likely names can be tried.
std::string name_hash(const std::string& name);

}  // namespace underlap::bench
