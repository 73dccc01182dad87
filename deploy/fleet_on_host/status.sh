# Which agent is here, and whether it runs. Of one that was removed dpkg still knows the configuration.
version=$(dpkg-query -W -f='${db:Status-Status} ${Version}\n' telltale-agent 2>/dev/null | sed -n 's/^installed //p')
echo "${version:-no agent} $(systemctl is-active telltale-agent)"
