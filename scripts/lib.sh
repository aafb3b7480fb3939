# Shared by scripts/demo and scripts/test: sourced, not run.
# ROOT is the checkout, independent of the folder from which the script is called.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n==> %s\n' "$*"; }
die() { printf 'kernelift: %s\n' "$*" >&2; exit 3; }

# need_space MEGABYTES: checks the disk before the build, because a full disk would appear as a compiler's failure hundreds of
# files later. The size of an earlier build counts as available space.
need_space() {
  local wanted=$1 free there
  mkdir -p "$ROOT/build/dev"
  free=$(df -Pm "$ROOT/build/dev" | awk 'NR == 2 { print $4 }')
  there=$(du -sm "$ROOT/build/dev" | cut -f 1)
  [ $((free + there)) -ge "$wanted" ] ||
    die "the build takes $wanted MB in $ROOT/build/dev; $there MB are written already and only $free MB are free: free some space, or move the checkout to a larger disk"
}

# Installs the packages of scripts/packages.txt that are missing; does nothing if all are installed.
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
    command -v sudo >/dev/null || die "packages are missing and sudo is not available; run as root: apt-get install ${missing[*]}"
    sudo=sudo
  fi
  $sudo apt-get update -qq || die "apt-get update failed; check the network and /etc/apt/sources.list"
  apt-cache show clang-22 >/dev/null 2>&1 ||
    die "the package clang-22 is not available; add LLVM's repository (https://apt.llvm.org, suite llvm-toolchain-bookworm-22) to apt's sources, then run this again"
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
