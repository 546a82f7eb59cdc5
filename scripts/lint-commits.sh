#!/usr/bin/env bash
# Checks the subjects of all commits since commitlint.config.js was added; in a shallow clone, of the last one.
set -euo pipefail
from=$(git log --diff-filter=A --format=%H -- commitlint.config.js | tail -n 1)
if [ -n "$from" ] && git rev-parse --quiet --verify "$from^" >/dev/null; then
  npx commitlint --from "$from"
else
  npx commitlint --last
fi
