# What weir is built and tested with, by Debian's package names. Sourced by the scripts.

build_packages=(
  g++ meson ninja-build pkg-config python3 git ca-certificates
  libucx-dev ucx-utils libgrpc++-dev libssl-dev libprotobuf-dev protobuf-compiler-grpc
  libflatbuffers-dev flatbuffers-compiler libabsl-dev libspdlog-dev
  nlohmann-json3-dev libdnnl-dev zlib1g-dev libxxhash-dev libibverbs-dev
  dataset-fashion-mnist
)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev python3-numpy openssl doxygen)
# What scripts/rdma-vm boots its machine with; without them the suite `rdma` skips.
rdma_packages=(qemu-system-x86 busybox-static kmod cpio iproute2 ibverbs-providers)

# Installs those of the named packages that are missing.
ensure_packages() {
  local missing=() package
  for package in "$@"; do
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
      missing+=("$package")
    fi
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "These packages are missing, and installing them needs root: ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}" >&2
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Debian installs what is missing; elsewhere a person must.
ensure_dependencies() {
  if ! command -v apt-get >/dev/null || [ ! -e /etc/debian_version ]; then
    local tool
    for tool in g++ meson ninja flatc pkg-config; do
      if ! command -v "$tool" >/dev/null; then
        echo "This is not Debian: install the counterparts of these packages, then run this again:" >&2
        echo "  $*" >&2
        exit 2
      fi
    done
    return 0
  fi
  ensure_packages "$@"
}
