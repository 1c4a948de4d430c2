// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace underlap::bench {

/// A time that is asked for, under a name that no other time has.
struct Play {
  std::string name;
  std::function<std::int64_t()> nanoseconds;  ///< called on any thread, several at once
};

/// What became of it.
struct Played {
  std::int64_t ns = 0;
  std::string failure;  ///< why there is no time; empty: there is one
  friend bool operator==(const Played&, const Played&) = default;
};

/// Plays on all cores, and keeps what was played: asked again under the same name, a time is there at once. In a folder
/// it is there for a later process too: every play is a line of its plays.jsonl once it is done, so whoever is killed
/// loses those under way.
class Plays {
 public:
  using Progress = std::function<void(std::size_t done, std::size_t count)>;

  /// `fingerprint` is that of what is played for, of this program and of the machine that is modelled; `threads` 0: one
  /// for each core. Without a folder nothing is kept.
  /// Throws std::invalid_argument where the folder holds plays and `resume` is false, or plays of something else;
  /// MachineError where it cannot be written.
  Plays(const std::filesystem::path& folder, bool resume, const std::string& fingerprint, unsigned threads = 0);

  /// The times in the order of `plays`.
  std::vector<Played> play(const std::vector<Play>& plays, const Progress& progress = {});

  std::size_t num_played() const { return known_.size(); }
  std::size_t num_taken_up() const { return num_taken_up_; }

 private:
  void take_up(const std::filesystem::path& file, const std::string& fingerprint);
  void keep(const std::string& name, const Played& played);

  std::map<std::string, Played> known_;
  std::size_t num_taken_up_ = 0;
  std::ofstream file_;
  unsigned threads_;
};

}  // namespace underlap::bench
