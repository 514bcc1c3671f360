#!/usr/bin/env bash
# In the guest, as root: the tests in every place where hutch may be started. The host reads the
# lines on the second serial line; the one that begins with HUTCH-VM-RESULT is the result.
set -uo pipefail
cd /hutch
export HOME=/root
users=(hutch-one hutch-two)
ended=$(mktemp -d)
asked=$(sed -n 's/.*hutch\.places=\([^ ]*\).*/\1/p' /proc/cmdline)

# place NAME LIMITS AROUND TEST... -- COMMAND...: COMMAND is what starts a program in that place.
# Leaves the name in a file, so that it may run in the background.
place() {
  local name=$1 tests=()
  [[ $name =~ $asked ]] || return 0
  local variables=("HUTCH_VM_LIMITS=$2" "HUTCH_VM_PLACE=$3" HUTCH_BINARY=/hutch/bin/hutch CI=true
    "HUTCH_TEST_PATIENCE=${HUTCH_TEST_PATIENCE:-6}" PYTHONDONTWRITEBYTECODE=1)
  shift 3
  while [ "$1" != -- ]; do tests+=("$1"); shift; done
  shift
  echo "== $name (second $(cut -d. -f1 /proc/uptime))"
  "$@" env "${variables[@]}" /usr/bin/python3 -m pytest -q -rs --tb=short --color=no \
    -p no:cacheprovider --durations=5 "${tests[@]}" && echo "$name" >>"$ended/passed" ||
    echo "$name" >>"$ended/failed"
}

# A network that a box must not see.
ip link add name outside type dummy
ip address add 198.51.100.1/24 dev outside
ip link set outside up

for user in "${users[@]}"; do
  useradd --create-home --shell /bin/bash "$user"
  loginctl enable-linger "$user"
  systemctl start "user@$(id -u "$user").service"
done
uid=$(id -u "${users[0]}")

echo "Linux $(uname -r), $(systemctl --version | head -1)"
mapfile -t whole < <(grep -v -e '^#' -e '^$' tests/vm/guest/sandbox-tests.txt)
mapfile -t limits < <(grep -v -e '^#' -e '^$' tests/vm/guest/limits-tests.txt)
own=tests/vm/test_cgroup2.py
login='cd /hutch; exec "$0" "$@"'

service=(systemd-run --quiet --wait --pipe --collect --working-directory=/hutch)
scope=(runuser --login -- "${users[0]}" -c 'cd /hutch; exec systemd-run --user --scope --quiet "$0" "$@"')

other_places() {
  # The marks of delegation are the system's manager's only, and hutch is not alone in this scope.
  place "a user, a scope with Delegate=yes" "cgroup v2" "/user@$uid.service/app.slice/hutch-sessions/" \
    "$own" "${whole[@]}" -- "${scope[@]}" -p Delegate=yes
  place "root, a service without delegation" "cgroup v2" /system.slice/hutch-sessions/ \
    "$own" -- "${service[@]}"
  place "root, a login session" "cgroup v2" /user-0.slice/hutch-sessions/ \
    "$own" -- runuser --login -- root -c "$login"
  place "a user, a scope without delegation" "cgroup v2" "/user@$uid.service/app.slice/hutch-sessions/" \
    "$own" -- "${scope[@]}"
  place "a user, a login session" none "" \
    "$own" "${limits[@]}" -- runuser --login -- "${users[0]}" -c "$login"
  place "a user, a system service with Delegate=yes" "cgroup v2" "/system.slice/hutch-user.service/hutch-sessions/" \
    "$own" -- "${service[@]}" --unit=hutch-user -p Delegate=yes -p "User=${users[0]}"
  # Whoever may make a cgroup here may not join it: that takes the right to the one above both.
  mkdir -p /sys/fs/cgroup/half/leaf
  chown "${users[0]}" /sys/fs/cgroup/half
  place "a user, where cgroups can be made but not joined" none "" \
    "$own" -- bash -c 'echo $$ >/sys/fs/cgroup/half/leaf/cgroup.procs; exec runuser -u "$0" -- "$@"' "${users[0]}"
  place "two users" "cgroup v2" "" tests/vm/test_two_users.py --
  place "services by the units of the package" "cgroup v2" "" tests/vm/test_systemd.py --
}

# Probes cannot see what an older kernel refuses by itself: they are not blind on a newer one.
counter_checks=(tests/security/test_counter_checks.py)
[ "$(uname -r | cut -d. -f1)" -ge 6 ] || counter_checks=()

# Beside the longest one, which does not use both processors.
other_places 2>&1 | sed -u 's/^/| /' &
place "root, a service with Delegate=yes" "cgroup v2" "/system.slice/hutch-root.service/hutch-sessions/" \
  "$own" "${whole[@]}" ${counter_checks[@]+"${counter_checks[@]}"} -- "${service[@]}" --unit=hutch-root -p Delegate=yes
wait

if [ -s "$ended/passed" ] && [ ! -e "$ended/failed" ]; then
  echo "HUTCH-VM-RESULT passed"
else
  sed 's/^/failed: /' "$ended/failed"
  echo "HUTCH-VM-RESULT failed"
fi
