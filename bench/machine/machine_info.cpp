// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/machine_info.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/machine/build_info.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kUnknown = "unknown";

std::string trimmed(const std::string& text, const char* characters) {
  const std::size_t first = text.find_first_not_of(characters);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(characters) - first + 1);
}

// The text after `key` and `separator` on the first line that begins with the key:
// "model name\t: Intel(R) Xeon(R) Processor", "PRETTY_NAME=\"Ubuntu 24.04.3 LTS\"".
std::string value_of(std::istream& lines, const std::string& key, char separator) {
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(separator);
    if (at != std::string::npos && trimmed(line.substr(0, at), " \t") == key)
      return trimmed(line.substr(at + 1), " \t\"");
  }
  return "";
}

std::string or_unknown(const std::string& text) { return text.empty() ? kUnknown : text; }

std::int32_t num_usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<std::int32_t>(std::thread::hardware_concurrency());
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}", __clang_version__);
#elif defined(__GNUC__)
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return kUnknown;
#endif
}

}  // namespace

std::string cpu_model_from(std::istream& cpuinfo) { return or_unknown(value_of(cpuinfo, "model name", ':')); }

std::string os_name_from(std::istream& os_release) { return or_unknown(value_of(os_release, "PRETTY_NAME", '=')); }

std::string build_date() { return kBuildDate; }

std::string name_hash(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return fmt::format("{:016x}", hash);
}

report::RunInfo machine_info() {
  report::RunInfo info;
  utsname names{};
  const bool named = ::uname(&names) == 0;
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::ifstream os_release("/etc/os-release");
  info.commit = or_unknown(kBuildCommit);
  info.commit_utc = kBuildCommitUtc;
  info.version = kBuildVersion;
  info.started_utc = utc_now();
  info.host_name_hash = named ? name_hash(names.nodename) : kUnknown;
  info.cpu_model = cpu_model_from(cpuinfo);
  info.num_cpus = num_usable_cpus();
  info.operating_system =
      fmt::format("{}, {} {}", os_name_from(os_release), named ? names.sysname : kUnknown, named ? names.release : "");
  info.compiler = compiler();
  info.library_versions = {
      {"glibc", ::gnu_get_libc_version()},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann_json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"yaml-cpp", kBuildYamlCpp}};
  return info;
}

}  // namespace underlap::bench
