# Shared by scripts/demo and scripts/test: sourced, not run.
# ROOT is the checkout, wherever the script was called from.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n==> %s\n' "$*"; }
die() { printf 'kernelift: %s\n' "$*" >&2; exit 3; }

# A full disk shows itself at file 500, as some compiler's failure: need_space MEGABYTES asks before the build. What an earlier
# build has written already counts as space.
need_space() {
  local wanted=$1 free there
  mkdir -p "$ROOT/build/dev"
  free=$(df -Pm "$ROOT/build/dev" | awk 'NR == 2 { print $4 }')
  there=$(du -sm "$ROOT/build/dev" | cut -f 1)
  [ $((free + there)) -ge "$wanted" ] ||
    die "building takes $wanted MB in $ROOT/build/dev, of which $there MB are written and only $free MB are free: make room there, or move the checkout to a larger disk"
}

# Installs the Debian packages of scripts/packages.txt that are missing; does nothing when all are there.
install_packages() {
  command -v dpkg-query >/dev/null || die "this script installs Debian packages; on another system install those of scripts/packages.txt by hand, then run: cmake --preset $1"
  local missing=() package
  while read -r package; do
    case "$package" in ''|'#'*) continue ;; esac
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done < "$ROOT/scripts/packages.txt"
  [ ${#missing[@]} -eq 0 ] && return
  say "Installing ${missing[*]}"
  local sudo=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "missing packages and no root rights; run as root: apt-get install ${missing[*]}"
    sudo=sudo
  fi
  $sudo apt-get update -qq || die "apt-get update failed; check the network and /etc/apt/sources.list"
  apt-cache show clang-22 >/dev/null 2>&1 ||
    die "no package clang-22 here; add LLVM's repository (https://apt.llvm.org, suite llvm-toolchain-bookworm-22), then run this again"
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get install failed; run it by hand to see why: apt-get install ${missing[*]}"
}

# Configures and builds a preset: build_preset PRESET [TARGET...]
build_preset() {
  local preset=$1; shift
  say "Building ($preset)"
  (cd "$ROOT" && cmake --preset "$preset" >"$ROOT/build/configure-$preset.log" 2>&1) ||
    { tail -n 30 "$ROOT/build/configure-$preset.log" >&2; die "configuring failed; the whole log is build/configure-$preset.log"; }
  (cd "$ROOT" && cmake --build --preset "$preset" ${1:+--target "$@"}) || die "the build failed"
}
