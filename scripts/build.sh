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

# underlap_release_benchmark FOLDER: lets the configured build in FOLDER use Google Benchmark as Release. The package of
# Debian is built without NDEBUG, so a record that is made with it has the "library_build_type" "debug". This builds the
# sources of that package into FOLDER/google_benchmark.
underlap_release_benchmark() {
  local folder=$1/google_benchmark list
  if [ ! -f "$folder/lib/cmake/benchmark/benchmarkConfig.cmake" ]; then
    mkdir -p "$folder/lists/partial" "$folder/apt" "$folder/source"
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
      [ ! -f "$list" ] || sed 's/^deb /deb-src /; s/^Types:.*/Types: deb-src/' "$list" >"$folder/apt/${list##*/}"
    done
    if ! (cd "$folder" && set -x
          apt=(apt-get -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$PWD/apt" -o Dir::State::Lists="$PWD/lists")
          "${apt[@]}" update  # one of the machine's other archives may have no sources
          "${apt[@]}" source --download-only benchmark &&
          tar -xf benchmark_*.orig.tar.* --strip-components=1 -C source &&
          cmake -S source -B objects -G Ninja -DCMAKE_BUILD_TYPE=Release -DBENCHMARK_ENABLE_TESTING=OFF \
                -DCMAKE_INSTALL_PREFIX="$PWD" -DCMAKE_INSTALL_LIBDIR=lib &&
          cmake --build objects --parallel "$(underlap_jobs)" --target install) >"$folder/build.log" 2>&1; then
      tail -n 20 "$folder/build.log" >&2
      echo "build: Google Benchmark could not be built as Release (all of it: $folder/build.log)" >&2
      return 1
    fi
  fi
  cmake -S . -B "$1" -Dbenchmark_DIR="$PWD/$folder/lib/cmake/benchmark" >"$1/configure.log"
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
