# What this host is, and whether the package can come to it. The first line it says is its state for deploy/fleet; lines
# on standard error say in words what is wrong. `wanted` has the state that needs nothing done, `package` its architecture,
# its size and that of its files in KB.
. /etc/os-release
case "$ID${VERSION_ID:-}" in debian1[2-9]) ;; *) echo "is ${PRETTY_NAME:-$ID}; packages are for Debian 12 or later" >&2; exit 9 ;; esac
[ -r /sys/kernel/btf/vmlinux ] || { echo "kernel $(uname -r) has no BTF (/sys/kernel/btf/vmlinux)" >&2; exit 9; }
read -r made_for size unpacked <package
own=$(dpkg --print-architecture)
[ "$made_for" = all ] || [ "$made_for" = "$own" ] || { echo "is an $own machine; the package is for $made_for" >&2; exit 9; }
sum() { sha256sum <"$1" 2>/dev/null | cut -c1-64; }
state="$(sum /var/cache/telltale/agent.deb) $(sum /etc/telltale/agent.yaml) $(systemctl is-active telltale-agent)"
if telltale-agent --check-config 2>/dev/null | grep -q "node $(cat name)\$"; then state="$state named"; else state="$state nameless"; fi
echo "$state"
[ "$state" != "$(cat wanted)" ] || exit 0
# The package comes here and is kept beside the one before; its files come beside those of the one before. What comes onto
# the same file system adds up.
while read -r kb dir; do
  echo "$(stat -c %d "$dir") $kb $(df -Pk "$dir" | awk 'NR == 2 { print $4 }') $dir"
done <<WANTED | awk '!($1 in kb) { order[++disks] = $1 }
  { kb[$1] += $2; free[$1] = $3; dirs[$1] = dirs[$1] (dirs[$1] ? " and " : "") $4 }
  END {
    for (i = 1; i <= disks; i++) {
      d = order[i]
      if (free[d] >= kb[d]) continue
      wants = "has " int(free[d] / 1024) " MB free below " dirs[d] ", " int((kb[d] + 1023) / 1024) " are needed"
      said = said (said ? "; " : "") wants
    }
    if (said) { print said; exit 9 }
  }' >&2
$((size + 1024)) ${PWD%/*}
$((2 * size)) /var/cache
$unpacked /usr
614400 /var/lib
WANTED
