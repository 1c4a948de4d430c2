# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Configure and build for bench/run, tests/run and .ci/run. Called from the project's root.

# nproc counts what OpenMP may use where its variables are set, as they are for the thread sanitizer.
underlap_jobs() { echo "${UNDERLAP_JOBS:-$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)}"; }

# underlap_configure PRESET FOLDER [CMAKE-ARGUMENT...]: only where the folder was never configured, or by other presets, or
# before something was installed.
underlap_configure() {
  local preset=$1 folder=$2 log
  shift 2
  [ -f "$folder/build.ninja" ] && [ ! CMakePresets.json -nt "$folder/build.ninja" ] && [ -z "${underlap_installed:-}" ] && return 0
  mkdir -p "$folder"
  log=$folder/configure.log
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "configure: cmake --preset $preset failed (all of it: $log)" >&2
    return 1
  fi
}

# Reads ninja's output: one line that counts up on a terminal, none elsewhere.
underlap_build_progress() {
  if [ -t 1 ]; then
    awk '/^\[[0-9]+\/[0-9]+\]/ { printf "\rbuild: %s\033[K", $1; fflush() } END { printf "\r\033[K" }'
  else
    cat >/dev/null
  fi
}

# underlap_build FOLDER [TARGET...]: quiet unless it fails; then what failed, and where the whole log lies.
underlap_build() {
  local folder=$1 log=$1/build.log started=$SECONDS
  shift
  if ! (set -o pipefail; cmake --build "$folder" --parallel "$(underlap_jobs)" ${1:+--target "$@"} 2>&1 |
        tee "$log" | underlap_build_progress); then
    grep -A30 -m3 '^FAILED:' "$log" >&2 || tail -n 40 "$log" >&2
    echo "build: failed in $folder (all of it: $log)" >&2
    return 1
  fi
  echo "build: $folder ready after $((SECONDS - started)) s"
}

# underlap_test FOLDER [CTEST-ARGUMENT...]: failures as they come, and ctest's closing lines. Returns ctest's status.
underlap_test() {
  local folder=$1
  shift
  (set -o pipefail; ctest --test-dir "$folder" --parallel 2 --output-on-failure --no-tests=error "$@" 2>&1 |
    awk '!/^ *Start +[0-9]+:/ && !/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:.* Passed +[0-9.]+ sec *$/')
}

# A command that test programs run under, e.g. (setarch x86_64 -R).
underlap_test_launcher=()

# underlap_test_programs FOLDER LABEL: runs every program whose tests have that label, in eight processes. ctest starts one
# process per test; with a sanitizer that takes longer than most tests. Prints the output of failed processes.
underlap_test_programs() {
  local folder=$1 label=$2 programs program part started=$SECONDS
  programs=$(ctest --test-dir "$folder" --show-only=json-v1 -L "$label" | grep -o '"/[^"]*_tests"' | tr -d '"' | sort -u)
  [ -n "$programs" ] || { echo "test: $folder has no tests of label $label" >&2; return 1; }
  export GTEST_BRIEF=1 GTEST_TOTAL_SHARDS=8
  # shellcheck disable=SC2016  # for the shell that xargs starts
  for program in $programs; do for part in {0..7}; do echo "$part $program"; done; done |
    ${underlap_test_launcher[@]+"${underlap_test_launcher[@]}"} xargs -P "$(underlap_jobs)" -L 1 bash -c '
      log=$(mktemp)
      GTEST_SHARD_INDEX=$0 timeout 900 "$1" >"$log" 2>&1 && rm "$log" && exit
      echo "test: $1 failed (part $0 of 8):"
      tail -n 200 "$log"
      exit 1' || return 1
  unset GTEST_BRIEF GTEST_TOTAL_SHARDS
  echo "test: $(echo "$programs" | wc -l) programs of $folder passed after $((SECONDS - started)) s"
}
