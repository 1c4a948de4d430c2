// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "impl/device/rank_store.hpp"

namespace underlap::cuda {

/// Processes of a test meet in a folder: a key is a file, which has its name once it is whole.
class FolderRankStore final : public RankStore {
 public:
  explicit FolderRankStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void put(const std::string& key, std::string_view value) override {
    const std::filesystem::path part = folder_ / (".part." + std::to_string(getpid()));
    std::ofstream(part, std::ios::binary) << value;
    [[maybe_unused]] const bool is_first = link(part.c_str(), (folder_ / key).c_str()) == 0;
    unlink(part.c_str());
  }

  std::vector<std::optional<std::string>> get(const std::vector<std::string>& keys,
                                              std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::vector<std::optional<std::string>> values;
    for (const std::string& key : keys) {
      while (!std::filesystem::exists(folder_ / key) && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::ifstream file(folder_ / key, std::ios::binary);
      values.push_back(file ? std::optional(std::string{std::istreambuf_iterator<char>(file), {}}) : std::nullopt);
    }
    return values;
  }

  void fail(std::string_view why) noexcept override { put("failure", why); }
  /// The first failure that any process told of.
  std::optional<std::string> failure() { return get({"failure"}, std::chrono::milliseconds(0)).front(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace underlap::cuda
