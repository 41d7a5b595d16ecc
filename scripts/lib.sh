# Shared by the scripts: installs what is missing, quietly and without asking. Sourced, not run.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# ensure_packages PACKAGE... : Debian packages, only those that are not there.
ensure_packages() {
  local missing=()
  for p in "$@"; do dpkg -s "$p" >/dev/null 2>&1 || missing+=("$p"); done
  [ ${#missing[@]} = 0 ] && return
  echo "installing: ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  { as_root apt-get -qq update && as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 || {
    echo "could not install ${missing[*]}: run 'apt-get install ${missing[*]}' as root" >&2
    exit 3
  }
}

build_packages=(g++ cmake ninja-build libcli11-dev nlohmann-json3-dev libfmt-dev doctest-dev pkg-config libxlsxwriter-dev)

# progress : of Ninja's lines how many steps are done; elsewhere than on a terminal nothing.
progress() {
  if [ -t 2 ]; then
    sed -un 's#^\[\([0-9]*/[0-9]*\)\].*#\1#p' | while read -r step; do printf '\r  %s steps ' "$step"; done
    printf '\r%20s\r' ''
  else
    cat >/dev/null
  fi
}

# build PRESET [TARGET...] : configure once, build what changed; silent unless it fails, but for how far the first build is.
build() {
  local preset="$1" log
  shift
  ensure_packages "${build_packages[@]}"
  log="$(mktemp)"
  local first=
  if [ ! -f "$root/build/$preset/build.ninja" ]; then
    first=yes
    (cd "$root" && cmake --preset "$preset") >"$log" 2>&1 || { cat "$log" >&2; exit 70; }
  fi
  local targets=()
  for t in "$@"; do targets+=(--target "$t"); done
  if [ -n "$first" ]; then
    echo "building ($preset): the program takes two to three minutes on two cores, the tests as long again ..." >&2
    cmake --build "$root/build/$preset" "${targets[@]}" 2>&1 | tee "$log" | progress >&2 || { cat "$log" >&2; exit 70; }
  else
    cmake --build "$root/build/$preset" "${targets[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 70; }
  fi
  rm -f "$log"
}
