#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# All checks, each to its end even when one before failed, then a summary of all. Called by `make test`.
set -u
cd "$(dirname "$0")/.."
logs=out/test
rm -rf "$logs" && mkdir -p "$logs"
failed=0
summary=()

# check NAME SECONDS COMMAND...: run it with a time limit and note the last line that it printed.
check() {
  local name=$1 limit=$2 log="$logs/${1// /-}.log" start=$SECONDS state=ok code
  shift 2
  printf '\n== %s\n' "$name"
  # --kill-after: bpy may ignore the first signal while it hangs at exit.
  timeout --kill-after=20 "$limit" "$@" </dev/null 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  if [ "$code" -ne 0 ]; then state="FAILED ($code)"; failed=1; fi
  summary+=("$(printf '%-12s %-20s %4d s  %s' "$state" "$name" $((SECONDS - start)) "$(grep -v '^$' "$log" | tail -n 1)")")
}

check "ruff" 120 .venv/bin/ruff check .
check "ruff format" 120 .venv/bin/ruff format --check .
check "mypy" 300 tools/typecheck.sh
check "engine" 600 .venv/bin/python -m pytest tests/engine
check "extension bpy 4.5" 600 .venv/bin/python -m pytest tests/extension
check "extension bpy 5.0" 600 .venvs/bpy-5.0/bin/python -m pytest tests/extension
check "extension bpy 4.2" 600 .venvs/bpy-4.2/bin/python -m pytest tests/extension

printf '\n== summary\n'
grep -hE '^(FAILED|ERROR) ' "$logs"/*.log | head -n 60
printf '%s\n' "${summary[@]}"
exit "$failed"
