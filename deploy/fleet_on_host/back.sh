# Takes this host back to what it was before `install`.
set -e
cache=/var/cache/telltale
cmp -s turn $cache/turn || exit 0  # this run has changed nothing here
[ ! -e $cache/foreign ] || { echo "had an agent that was not brought by deploy/fleet; put that back by hand" >&2; exit 9; }
export DEBIAN_FRONTEND=noninteractive
if [ -e $cache/previous.deb ]; then
  apt-get install -y -q --no-install-recommends --allow-downgrades -o Dpkg::Options::=--force-confold $cache/previous.deb >/dev/null
  mv $cache/previous.deb $cache/agent.deb
  mv $cache/previous.yaml /etc/telltale/agent.yaml
  systemctl restart telltale-agent
else
  systemctl stop telltale-agent || true
  ! dpkg-query -W telltale-agent >/dev/null 2>&1 || apt-get remove -y -q telltale-agent >/dev/null
  rm -rf $cache
fi
