# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Packages that Underlap is built from: finds the missing ones, says so, installs them with apt.
#
#   . scripts/setup.sh; underlap_setup          returns 0, or 2 where something is missing and stays missing
#   UNDERLAP_SETUP=skip                         leaves the machine alone: everything was installed another way
#
# One line a package: Debian's name | how its presence is seen where there is no dpkg | what it is for.
underlap_packages() {
  cat <<'END'
g++|command:g++|compiles C++20
cmake|command:cmake|configures the build (3.22 or newer)
ninja-build|command:ninja|runs the build
ccache|command:ccache|makes a second build quick
pkg-config|command:pkg-config|finds libraries
libgloo-dev|header:gloo/config.h|carries bytes between ranks on the host backend
libdnnl-dev|header:dnnl.hpp|oneDNN, matrix products on the host backend
ocl-icd-libopencl1|library:libOpenCL.so.1|oneDNN's library is linked against it
libcli11-dev|header:CLI/CLI.hpp|command line
libyaml-cpp-dev|header:yaml-cpp/yaml.h|reads configurations
nlohmann-json3-dev|header:nlohmann/json.hpp|reads and writes results
libprotozero-dev|header:protozero/pbf_writer.hpp|reads and writes traces
libsimdjson-dev|header:simdjson.h|reads JSON traces
libboost-dev|header:boost/math/distributions/students_t.hpp|distributions of the gate
libfmt-dev|header:fmt/format.h|formats text
libsqlite3-dev|header:sqlite3.h|reads exports of Nsight Systems
libssl-dev|header:openssl/hmac.h|lets ranks of several processes prove who they are
libzstd-dev|header:zstd.h|compresses traces
zlib1g-dev|header:zlib.h|checksums of traces
libgtest-dev|header:gtest/gtest.h|unit tests
libgmock-dev|header:gmock/gmock.h|matchers of the unit tests
libbenchmark-dev|header:benchmark/benchmark.h|micro-benchmarks
END
}

# What the viewer takes beside them, and its tests.
underlap_viewer_packages() {
  cat <<'END'
qt6-base-dev|header:x86_64-linux-gnu/qt6/QtWidgets/QWidget|windows of the viewer
libqt6opengl6-dev|header:x86_64-linux-gnu/qt6/QtOpenGLWidgets/QOpenGLWidget|what Qt Charts is found with
qt6-charts-dev|header:x86_64-linux-gnu/qt6/QtCharts/QChart|charts of the viewer
qt6-svg-dev|header:x86_64-linux-gnu/qt6/QtSvg/QSvgGenerator|pictures as vector files
END
}

# Reads package lines, prints those that dpkg does not hold as installed.
underlap_missing_by_dpkg() {
  local lines installed line
  lines=$(cat)
  # shellcheck disable=SC2046  # one argument a package
  installed=$(LC_ALL=C dpkg-query -W -f='${db:Status-Status} ${Package}\n' $(cut -d'|' -f1 <<<"$lines") 2>/dev/null)
  while read -r line; do
    [[ $'\n'$installed$'\n' == *$'\n'"installed ${line%%|*}"$'\n'* ]] || printf '%s\n' "$line"
  done <<<"$lines"
}

# The same without dpkg: looks for the command, the header or the library itself.
underlap_missing_by_probe() {
  local package probe why kind what
  while IFS='|' read -r package probe why; do
    kind=${probe%%:*} what=${probe#*:}
    case $kind in
      command) command -v "$what" >/dev/null ;;
      header) printf '#if !__has_include(<%s>)\n#error absent\n#endif\n' "$what" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1 ;;
      library) ldconfig -p 2>/dev/null | grep -qF "$what" ;;
    esac || printf '%s|%s|%s\n' "$package" "$probe" "$why"
  done
}

underlap_missing() {
  if command -v dpkg-query >/dev/null; then underlap_missing_by_dpkg; else underlap_missing_by_probe; fi
}

# Whether packages can be installed: as root, or through sudo, which may ask for a password on a terminal only.
underlap_may_install() {
  [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; }
}

# underlap_apt_install LOG PACKAGE...
underlap_apt_install() {
  local log=$1 apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  shift
  [ "$(id -u)" -eq 0 ] || apt=(sudo "${apt[@]}")
  "${apt[@]}" update >"$log" 2>&1 && "${apt[@]}" install --no-install-recommends "$@" >>"$log" 2>&1
}

# Whether this shell installed something: what was configured before may now find it.
underlap_installed=

# underlap_setup [PACKAGE-LINE...]: installs what is missing of underlap_packages and of the lines given.
underlap_setup() {
  [ "${UNDERLAP_SETUP:-}" = skip ] && return 0
  local missing names log
  missing=$({ underlap_packages; [ $# -eq 0 ] || printf '%s\n' "$@"; } | underlap_missing)
  [ -z "$missing" ] && return 0
  echo "setup: this machine lacks"
  awk -F'|' '{ printf "  %-20s %s\n", $1, $3 }' <<<"$missing"
  names=$(cut -d'|' -f1 <<<"$missing" | tr '\n' ' ')
  if ! command -v apt-get >/dev/null; then
    echo "setup: no apt-get here. Install what these Debian packages hold, then run this again." >&2
    return 2
  elif ! underlap_may_install; then
    echo "setup: not root, and sudo cannot be used. Have them installed: apt-get install $names" >&2
    return 2
  fi
  log=$(mktemp "${TMPDIR:-/tmp}/underlap-setup.XXXXXX")
  echo "setup: installing them with apt-get (log: $log)"
  # shellcheck disable=SC2086  # one argument a package
  if ! underlap_apt_install "$log" $names; then
    tail -n 15 "$log" >&2
    echo "setup: apt-get could not install all of: $names" >&2
    return 2
  fi
  rm -f "$log"
  underlap_installed=yes
}
