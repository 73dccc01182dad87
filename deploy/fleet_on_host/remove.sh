# Takes the agent off this host; its data and its certificate stay.
set -e
export DEBIAN_FRONTEND=noninteractive
systemctl stop telltale-agent || true
! dpkg-query -W telltale-agent >/dev/null 2>&1 || apt-get remove -y -q telltale-agent >/dev/null
rm -rf /var/cache/telltale
