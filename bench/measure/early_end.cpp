// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/early_end.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "platform/atomic_file.hpp"
#include "platform/signal_watch.hpp"
#include "platform/text/escape.hpp"

namespace underlap::bench {

std::string EarlyEnd::text() const {
  const std::string kept = is_something_kept() ? fmt::format("{} of {} blocks are kept in {}", done_.load(),
                                                             planned_.load(), options_.folder.string())
                                               : "no block was finished";
  return options_.resume_command.empty() ? kept : fmt::format("{}; continue with: {}", kept, options_.resume_command);
}

void EarlyEnd::begin_status() {
  const char* const job = std::getenv("SLURM_JOB_ID");
  RunStatus first;
  first.host = this_host();
  first.pid = ::getpid();
  if (job != nullptr) first.job = job;
  first.resume_command = options_.resume_command;
  first.blocks_done = done_;
  first.blocks_planned = planned_;
  status_.emplace(options_.folder, std::move(first));
  has_status_ = true;
}

void EarlyEnd::say(std::string where, std::optional<std::int64_t> seconds_left) {
  status_->say(std::move(where), done_, seconds_left);
}

void EarlyEnd::end_status(const std::string& why) { status_->end(why.substr(0, why.find('\n')), done_); }

bool EarlyEnd::is_heeded(int signal) {
  return options_.starter != nullptr && signal == SIGTERM && heeded_.exchange(signal) == 0;
}

void EarlyEnd::end_if_heeded() const {
  if (const int signal = heeded_; signal != 0)
    throw StoppedBySignal(signal, fmt::format("stopped by {}; {}", signal_name(signal), text()));
}

void EarlyEnd::say_last_words(int signal) {
  remove_temporary_files(options_.folder, true);
  if (has_status_) end_status("stopped by " + signal_name(signal));
  write_last_words(
      fmt::format("{}{}", options_.progress.terminal ? "\r\033[K" : "",
                  laid_out_text(fmt::format("underlap: stopped by {}; {}\n", signal_name(signal), text()))));
}

}  // namespace underlap::bench
