#!/usr/bin/env bash
# Runs what the pages tell a reader to type on machines that have nothing: minimal Debians with a clean clone of HEAD.
#
#   tests/tools/fresh_machine.sh tour test     commands of README.md by their names (<!-- command: NAME -->)
#   tests/tools/fresh_machine.sh pages         the shell blocks of every page, on machines of their own; a page by its path
#   SUITE=trixie KEEP=1                        another release than bookworm; the machines are kept for a look
#
# Needs root, debootstrap (installed if it is missing) and mounts. Ends with 0 if every command did, with 1 if one
# failed, and with 77 if such a machine cannot be made here. A machine has ca-certificates and git, which clones, and
# nothing else: what a command needs must come from the command. This machine's settings for package registries
# (apt, pip, certificates) are taken over.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
cd "$(dirname "$0")/../.."
absent() { echo "fresh_machine.sh: no minimal Debian can be made here: $1" >&2; exit 77; }
[ "$(id -u)" = 0 ] || absent "it needs root"
if [ -z "${FRESH_MACHINE_INSIDE:-}" ]; then # its mounts end with it
    unshare -m --propagation private true 2> /dev/null || absent "no mounts of its own (unshare -m)"
    FRESH_MACHINE_INSIDE=1 exec unshare -m --propagation private bash "$0" "$@"
fi

suite=${SUITE:-bookworm}
base=${TMPDIR:-/tmp}/usmpy-fresh-machine
cache=$base/$suite.tar
root=
mkdir -p "$base"

mirror() {
    awk '/^URIs:/ { print $2; exit } /^deb / { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' \
        /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2> /dev/null || true
}

leave() {
    [ -n "$root" ] || return 0
    for mount in proc sys dev; do umount -R -l "$root/$mount" 2> /dev/null || true; done
    if [ -n "${KEEP:-}" ]; then echo "kept: $root"; else rm -rf --one-file-system "$root"; fi
    root=
}
trap leave EXIT

# A new machine in $root.
make_machine() {
    if [ ! -f "$cache" ]; then
        command -v debootstrap > /dev/null || { apt-get update -q && apt-get install -yq debootstrap; } \
            > "$base/debootstrap.log" 2>&1 || absent "debootstrap cannot be installed ($base/debootstrap.log)"
        local from
        from=$(mktemp -d "$base/$suite.XXXXXX")
        debootstrap --variant=minbase --include=ca-certificates,git "$suite" "$from" "$(mirror)" \
            > "$base/$suite.log" 2>&1 || absent "debootstrap fails ($base/$suite.log): $(tail -n 1 "$base/$suite.log")"
        tar -C "$from" -cf "$cache.$$" .
        mv "$cache.$$" "$cache"
        rm -rf --one-file-system "$from"
    fi
    root=$(mktemp -d "$base/$suite.XXXXXX")
    chmod 755 "$root"
    tar -C "$root" -xf "$cache"
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    cp -r /etc/ssl/certs/. "$root/etc/ssl/certs/" 2> /dev/null || true
    grep -lE '^Acquire::(Check|http|https|Retries)' /etc/apt/apt.conf.d/* 2> /dev/null |
        xargs -r cp -L -t "$root/etc/apt/apt.conf.d/" || true
    [ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
    for mount in proc sys dev; do
        mount --rbind "/$mount" "$root/$mount" || absent "/$mount cannot be mounted"
    done
    git clone -q . "$root/usmpy"
}

# What is typed in the clone, from standard input.
type_in() {
    local name value variables=()
    for name in PIP_CERT PIP_INDEX_URL PIP_DEFAULT_TIMEOUT SSL_CERT_FILE http_proxy https_proxy no_proxy; do
        value=${!name:-}
        [ -z "$value" ] || variables+=("$name=$value")
    done
    cat > "$root/typed.sh"
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "${variables[@]}" chroot "$root" \
        /bin/bash -c 'cd /usmpy && set -euxo pipefail && . /typed.sh' < /dev/null
}

status=0
# Says how the commands of standard input went.
try() {
    local name=$1 start=$SECONDS log=$base/$suite.${1//\//-}.log
    if type_in > "$log" 2>&1; then
        echo "$suite, $name: passed in $((SECONDS - start)) s: $(tail -n 1 "$log" | cut -c1-160)"
    else
        echo "$suite, $name: FAILED after $((SECONDS - start)) s; the end of $log:"
        grep -E '^(FAILED|ERROR) ' "$log" | cut -c1-200 | head -n 60 || true
        tail -n 5 "$log" | cut -c1-300
        status=1
    fi
}

names=()
for name in "$@"; do
    if [ "$name" = pages ]; then
        mapfile -t -O "${#names[@]}" names < <(python3 tests/tools/pages.py --shell-pages)
    else
        names+=("$name")
    fi
done
for name in "${names[@]}"; do
    if [[ $name = *.md ]]; then
        leave
        make_machine
        try "$name" < <(python3 tests/tools/pages.py --shell "$name")
    else
        [ -n "$root" ] || make_machine
        try "$name" < <(python3 tests/tools/pages.py --command "$name")
    fi
done
exit $status
