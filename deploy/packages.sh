# Debian packages, named in one place. Sourced by deploy/up and tests/run; not run by itself.
# shellcheck shell=bash disable=SC2034

build_packages=(
  g++ cmake ninja-build pkg-config git clang llvm bpftool mold ccache
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev
  librocksdb-dev libbpf-dev libelf-dev zlib1g-dev libzstd-dev liblzma-dev libxxhash-dev nlohmann-json3-dev
  libssl-dev libyaml-cpp-dev libcli11-dev libspdlog-dev libboost-dev libcap-dev libjemalloc-dev
  dpkg-dev file
)
run_packages=(curl ca-certificates procps)
test_packages=(libgtest-dev libgmock-dev prometheus bpftrace openssl jq linux-perf stress-ng python3 iproute2 nftables
  nginx-light apache2-utils redis-server nodejs xz-utils zsh
  systemd prometheus-alertmanager lintian python3-yaml python3-jsonschema openssh-server debootstrap
  golang-go golang-github-masterminds-sprig-dev golang-k8s-sigs-yaml-dev
  chromium fonts-dejavu-core)
# libFuzzer and the sanitizers, of the first clang in Debian 12 that knows all of C++20 (preset asan, tests/fuzz/run).
fuzz_packages=(clang-16 libclang-rt-16-dev)
# A kernel of another version, emulated (tests/kernels/run).
kernel_test_packages=(qemu-system-x86 busybox-static cpio)

# install_missing PACKAGE...: installs those that are not there; says which. Root and apt only if something is.
install_missing() {
  local missing=() package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == "install ok installed" ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    echo "packages: this is not Debian; install the equivalents of: ${missing[*]}" >&2
    return 1
  fi
  if ((EUID != 0)); then
    echo "packages: ${#missing[@]} missing and not root; run: apt-get install ${missing[*]}" >&2
    return 1
  fi
  echo "packages: installing ${#missing[@]}: ${missing[*]}"
  local log guard=/usr/sbin/policy-rc.d guarded=0 failed=0
  log=$(mktemp)
  # Some packages start a service when installed (prometheus); an installer must not do that behind one's
  # back, so forbid it meanwhile, unless the machine already has a policy of its own.
  if [[ ! -e $guard ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$guard" && chmod 755 "$guard" && guarded=1
  fi
  { apt-get update -q &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 </dev/null || failed=1
  ((guarded)) && rm -f "$guard"
  if ((failed)); then
    echo "packages: apt-get failed; its last lines:" >&2
    tail -n 15 "$log" >&2
  fi
  rm -f "$log"
  return $failed
}
