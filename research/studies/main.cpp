// SPDX-License-Identifier: Apache-2.0
// underlap-study: the studies behind some of results/. Nobody needs them to measure a machine.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "impl/plan/plan.hpp"
#include "platform/atomic_file.hpp"
#include "platform/exit_code.hpp"
#include "platform/file_lock.hpp"
#include "platform/flag_values.hpp"
#include "platform/input/input_file.hpp"
#include "platform/json.hpp"
#include "platform/run_program.hpp"
#include "platform/status_line.hpp"
#include "platform/terminal.hpp"
#include "platform/text/output.hpp"
#include "profiler/report/run_folders.hpp"
#include "research/studies/study.hpp"

namespace underlap::bench {
namespace {

struct StudyArguments {
  std::string name;
  std::string file;
  std::string folder;
};

std::string list_text() {
  std::string text;
  for (const Study& study : all_studies())
    text += fmt::format("{}: {}\n  underlap-study {} {}\n", study.name, study.what, study.name, study.example);
  return text;
}

// A study made anew replaces what it left; what was measured once is not there twice.
void refuse_run(const std::filesystem::path& folder) {
  const auto file = report::find_results(folder);
  if (!file) return;
  const auto json = parse_json_or_discard(read_input_file(*file));
  const bool is_study = json.is_object() && json.contains("schema") && json["schema"].is_string() &&
                        !json["schema"].get<std::string>().starts_with("underlap.results/");
  if (!is_study)
    throw std::invalid_argument(fmt::format(
        "{} already contains a run, which the study would overwrite; use another folder: -o DIR", folder.string()));
}

StudyOutput run_shown(const Study& study, const std::string& text, const std::string& file) {
  StatusLine status(status_on_stderr());
  status.say(fmt::format("running the study {}", study.name));
  return study.run(text, file);
}

void write(const StudyOutput& output, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  try {
    const FileLock lock(folder / "run.lock");
    refuse_run(folder);
    remove_temporary_files(folder);
    write_file_atomically(folder / output.json_name, output.json);
    write_file_atomically(folder / output.report_name, output.report);
  } catch (const FileIsHeld& held) {
    throw std::invalid_argument(fmt::format("{} is in use by {}", folder.string(), held.what()));
  }
  print_text("results: {}\n", (folder / output.json_name).string());
}

int run_study(const StudyArguments& arguments) {
  if (arguments.name.empty()) {
    print_text(list_text());
    return kOk;
  }
  const Study& study = study_named(arguments.name);
  if (arguments.file.empty()) throw std::invalid_argument(fmt::format("{} needs FILE", study.name));
  const std::string text = plan::read_config(arguments.file);
  if (!arguments.folder.empty()) refuse_run(arguments.folder);
  const StudyOutput output = run_shown(study, text, arguments.file);
  print_text(render(output.table, terminal_format(STDOUT_FILENO)));
  if (!arguments.folder.empty()) write(output, arguments.folder);
  return kOk;
}

int run_main(int argc, char** argv) {
  StudyArguments arguments;
  CLI::App app("Runs a study: a comparison or calculation that measures nothing on this machine.", "underlap-study");
  app.add_option("NAME", arguments.name, "study to run (default: list the studies)");
  app.add_option("FILE", arguments.file, "input file, YAML with `study: NAME`");
  app.add_option("-o,--output", arguments.folder, "folder for results and report (default: only print the table)")
      ->check(not_empty());
  app.footer("Exit status: 0 success, 2 bad input, 3 the study failed.\n\n" + list_text());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kBadInput;
  }
  return run_study(arguments);
}

}  // namespace
}  // namespace underlap::bench

int main(int argc, char** argv) {
  return underlap::run_program("underlap-study", [&] { return underlap::bench::run_main(argc, argv); });
}
