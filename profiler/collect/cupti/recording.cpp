// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/recording.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "platform/errors.hpp"

namespace underlap::cupti {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kFirstLine = "underlap cupti recording 1";
constexpr std::string_view kVersionKey = "cupti_version";

void put(std::string& out, std::uint64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof(value)); }

void put_line(std::string& out, std::string_view key, std::string_view value) {
  if (key.find_first_of(":\n") != key.npos || value.find('\n') != value.npos)
    throw std::invalid_argument(
        fmt::format("a recording's entry must be one line, and its key hold no colon: {}", key));
  out += fmt::format("{}: {}\n", key, value);
}

std::string bytes_of(const Recording& recording) {
  std::string out = fmt::format("{}\n", kFirstLine);
  put_line(out, kVersionKey, std::to_string(recording.cupti_version));
  for (const auto& [key, value] : recording.about) put_line(out, key, value);
  out += '\n';
  put(out, recording.names.size());
  for (const auto& [address, name] : recording.names) {
    put(out, address);
    put(out, name.size());
    out += name;
  }
  put(out, recording.buffers.size());
  for (const auto& buffer : recording.buffers) {
    put(out, buffer.size());
    out.append(buffer.begin(), buffer.end());
  }
  return out;
}

// Takes from the front of a file's bytes; throws where they end.
class Reader {
 public:
  Reader(const std::filesystem::path& path, std::string_view bytes) : path_(path), rest_(bytes) {}

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) fail("is cut short");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view line() {
    const std::size_t end = rest_.find('\n');
    if (end == rest_.npos) fail("is cut short");
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return taken;
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(sizeof(value));
    bytes.copy(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw MachineError(fmt::format("{} {}", path_.string(), what));
  }

 private:
  const std::filesystem::path& path_;
  std::string_view rest_;
};

void read_entry(Reader& reader, std::string_view line, Recording& recording) {
  const std::size_t colon = line.find(": ");
  if (colon == line.npos) reader.fail("has a header line without a colon");
  const std::string_view key = line.substr(0, colon);
  const std::string_view value = line.substr(colon + 2);
  if (key != kVersionKey) {
    recording.about.emplace(key, value);
    return;
  }
  const auto result = std::from_chars(value.data(), value.data() + value.size(), recording.cupti_version);
  if (result.ec != std::errc{} || result.ptr != value.data() + value.size()) reader.fail("has no CUPTI version");
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw MachineError(fmt::format("{} cannot be read", path.string()));
  return bytes;
}

}  // namespace

void write_recording(const std::filesystem::path& path, const Recording& recording) {
  const std::string bytes = bytes_of(recording);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw MachineError(fmt::format("{} cannot be written", path.string()));
}

Recording read_recording(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  Reader reader(path, bytes);
  if (bytes.compare(0, kFirstLine.size(), kFirstLine) != 0) reader.fail("is no recording of CUPTI buffers");
  reader.line();
  Recording recording;
  for (std::string_view line = reader.line(); !line.empty(); line = reader.line()) read_entry(reader, line, recording);
  for (std::uint64_t left = reader.number(); left > 0; --left) {
    const std::uint64_t address = reader.number();
    recording.names.emplace(address, reader.take(reader.number()));
  }
  for (std::uint64_t left = reader.number(); left > 0; --left) {
    const std::string_view buffer = reader.take(reader.number());
    recording.buffers.emplace_back(buffer.begin(), buffer.end());
  }
  return recording;
}

}  // namespace underlap::cupti
