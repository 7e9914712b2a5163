#!/bin/sh
# Does what the README tells a newcomer to do, on as little as a newcomer has: a
# fresh clone, an empty home, an empty build cache, and nothing on PATH but go,
# git, make and a shell. The module cache is shared: the proxy is needed once.
#
# It clones what is committed. No C compiler is on PATH, so the tests run without
# the race detector.
set -eu

cd "$(dirname "$0")/.."
source=$PWD
scratch=$(mktemp -d)
rm=$(command -v rm) # the trap runs under the bare PATH
trap '"$rm" -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

mkdir "$scratch/bin" "$scratch/home" "$scratch/tmp"
for program in go git make sh; do
	path=$(command -v "$program") || {
		echo "newcomer: $program is not on PATH" >&2
		exit 1
	}
	ln -s "$path" "$scratch/bin/$program"
done
# GOENV holds go's own settings, such as a private proxy; it lies below the old home.
GOENV=$(go env GOENV) GOMODCACHE=$(go env GOMODCACHE)
export GOENV GOMODCACHE GOCACHE="$scratch/cache"
unset CC CGO_ENABLED MAKEFLAGS MAKELEVEL MFLAGS
export PATH="$scratch/bin" HOME="$scratch/home" TMPDIR="$scratch/tmp"

git clone --quiet "$source" "$scratch/millrace"
cd "$scratch/millrace"
for target in test demo; do
	echo "newcomer: make $target"
	make "$target"
done
echo "newcomer: a bare machine gets through"
