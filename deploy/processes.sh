# Starting and stopping the programs of one state directory. Sourced by deploy/up and deploy/down.
# shellcheck shell=bash

# service_alive DIR NAME: is the process of DIR/NAME.pid alive and still the one that was started? A pid alone may
# have been given to somebody else since, so the file holds pid and start time (and the fingerprint).
service_alive() {
  local pid start
  [[ -s $1/$2.pid ]] || return 1
  { read -r pid; read -r start; } <"$1/$2.pid" || return 1
  [[ -n $start && $(start_time "$pid") == "$start" ]]
}

# start_time PID: in clock ticks after boot; empty if it is gone or only waits to be reaped.
start_time() {
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  read -r -a fields <<<"${stat##*) }"
  [[ ${fields[0]} == Z ]] || echo "${fields[19]}"
}

# stop_service DIR NAME [SECONDS]: TERM, wait, KILL only if it does not go.
stop_service() {
  local dir=$1 name=$2 patience=${3:-15} pid i
  if ! service_alive "$dir" "$name"; then
    rm -f "$dir/$name.pid"
    return 0
  fi
  read -r pid <"$dir/$name.pid"
  kill -TERM "$pid" 2>/dev/null || true
  for ((i = 0; i < patience * 10; i++)); do
    service_alive "$dir" "$name" || break
    sleep 0.1
  done
  if service_alive "$dir" "$name"; then
    echo "$name: did not stop within $patience s, killing it; the end of its log ($dir/$name.log) may say why" >&2
    kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$dir/$name.pid"
}

# start_service DIR NAME PROGRAM CONFIG -- ARG...: starts it unless it runs with this very program and config;
# service_was_running says which.
# shellcheck disable=SC2034
start_service() {
  local dir=$1 name=$2 program=$3 config=$4
  shift 5
  local fingerprint
  service_was_running=0
  fingerprint=$(sha256sum "$program" "$config" | sha256sum | cut -c1-16)
  if service_alive "$dir" "$name" && [[ $(sed -n 3p "$dir/$name.pid") == "$fingerprint" ]]; then
    echo "$name: already running (pid $(head -n 1 "$dir/$name.pid")), unchanged"
    service_was_running=1
    return 0
  fi
  if service_alive "$dir" "$name"; then
    echo "$name: program or configuration changed, restarting"
    stop_service "$dir" "$name"
  fi
  setsid "$program" "$@" >>"$dir/$name.log" 2>&1 </dev/null 9>&- &
  printf '%s\n%s\n%s\n' $! "$(start_time $!)" "$fingerprint" >"$dir/$name.pid"
  disown
}

# users_of DIR: "pid N (COMMAND)" of each other process that has a file open below DIR. Called with the lock closed.
users_of() {
  local pattern=$1 pid command
  pattern=${pattern//\\/\\\\}
  pattern=${pattern//\[/\\[}
  pattern=${pattern//\*/\\*}
  pattern=${pattern//\?/\\?}
  # find complains about processes that ended meanwhile.
  { find /proc/[0-9]*/fd -maxdepth 1 \( -lname "$pattern" -o -lname "$pattern/*" \) 2>/dev/null || true; } |
    cut -d / -f 3 | sort -nu |
    while read -r pid; do
      [[ $pid != "$$" ]] || continue
      { command=$(tr '\0' ' ' <"/proc/$pid/cmdline"); } 2>/dev/null || continue  # it ended meanwhile
      echo "pid $pid (${command:0:80})"
    done
}

# free_port WANTED: WANTED if nobody listens there on loopback, else a free one.
free_port() {
  local port=$1
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    port=$((20000 + RANDOM % 12000))
  done
  echo "$port"
}

# write_if_changed FILE: standard input becomes FILE, whose time stays if the content does.
write_if_changed() {
  local new
  new=$(mktemp "$1.XXXXXX")
  cat >"$new"
  if cmp -s "$new" "$1"; then rm -f "$new"; else mv "$new" "$1"; fi
}
