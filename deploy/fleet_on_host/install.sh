# Installs the package and its configuration, has the node enrol if it has to, and starts the agent. What was there is kept.
set -e
fail() { echo "$*" >&2; exit 9; }
mkdir -p /var/cache/telltale
cache=/var/cache/telltale
# A second try of one run finds what the first left, and keeps what was there before that.
if ! cmp -s turn $cache/turn; then
  rm -f $cache/previous.* $cache/foreign
  if [ -e $cache/agent.deb ]; then
    cp $cache/agent.deb $cache/previous.deb
    cp /etc/telltale/agent.yaml $cache/previous.yaml
  elif dpkg-query -W -f='${Status}' telltale-agent 2>/dev/null | grep -q ' installed'; then
    touch $cache/foreign  # somebody else's
  fi
  cp turn $cache/turn
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -q --no-install-recommends --allow-downgrades -o Dpkg::Options::=--force-confold ./agent.deb >log 2>&1 ||
  { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q --no-install-recommends --allow-downgrades \
      -o Dpkg::Options::=--force-confold ./agent.deb >log 2>&1; } ||
  fail "apt-get: $(grep -E '^E:|^dpkg: error|[Uu]nmet' log | head -n 1)"
cp agent.deb $cache/agent.deb
install -m 0644 agent.yaml /etc/telltale/agent.yaml
if [ -e node.key ]; then
  pki=/var/lib/telltale-agent/pki
  install -o telltale-agent -g telltale-agent -m 0644 ca.crt $pki/ca.crt
  install -o telltale-agent -g telltale-agent -m 0600 node.key $pki/node.key
  install -o telltale-agent -g telltale-agent -m 0644 node.crt $pki/node.crt
elif [ -e token ]; then
  # Again: a certificate from before may have been revoked.
  said=$(telltale-agent enroll --again --node "$(cat name)" --token-file ./token --ca-hash "$(cat hash)" \
    --enroll-collector "$(cat enroll)" --wait 1min 2>&1) || fail "$(echo "$said" | tail -n 1)"
fi
said=$(telltale-agent --check-config 2>&1) || fail "$said"
systemctl restart telltale-agent || fail "systemctl restart telltale-agent failed; journalctl -u telltale-agent says why"
