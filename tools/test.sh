#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# All checks, each to its end even when one before failed, then a summary of all. Called by `make test`.
# As many run side by side as there are cores, two at least; JOBS=1 runs them one by one.
set -u
cd "$(dirname "$0")/.."
logs=out/test
rm -rf "$logs" && mkdir -p "$logs"
jobs=${JOBS:-$(($(nproc) > 2 ? $(nproc) : 2))}
names=()

# check NAME SECONDS COMMAND...: run it beside the others with a time limit, once there is room for it. The limits are
# three times what a part takes on two busy cores: they end what hangs, and never what is slow.
check() {
  local name=$1 limit=$2
  shift 2
  names+=("$name")
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  (
    start=$SECONDS log="$logs/${name// /-}.log" state=ok
    # --kill-after: bpy may ignore the first signal while it hangs at exit.
    timeout --kill-after=20 "$limit" "$@" </dev/null >"$log" 2>&1
    code=$?
    if [ "$code" -ne 0 ]; then state="FAILED ($code)"; fi
    printf '%-12s %-20s %4d s  %s\n' "$state" "$name" $((SECONDS - start)) "$(grep -v '^$' "$log" | tail -n 1)" |
      tee "$logs/${name// /-}.summary"
  ) &
}

pytest=(-m pytest --durations=15 --durations-min=2)
# The longest first, and in an order in which two cores end together.
check "extension bpy 4.5" 1700 .venv/bin/python "${pytest[@]}" tests/extension
check "engine a-n" 1700 .venv/bin/python "${pytest[@]}" tests/engine/test_[a-n]*.py
check "engine s-z" 1700 .venv/bin/python "${pytest[@]}" tests/engine/test_[!a-r]*.py
check "extension bpy 5.0" 1700 .venvs/bpy-5.0/bin/python "${pytest[@]}" --version-dependent tests/extension
check "mypy" 900 tools/typecheck.sh
# In two processes: after hundreds of tests in one, Blender 4.2 at times crashed in `window.scene = scene` (preview.py).
check "bpy 4.2 a-k" 1700 .venvs/bpy-4.2/bin/python "${pytest[@]}" --version-dependent tests/extension/test_[a-k]*.py
check "bpy 4.2 l-z" 1700 .venvs/bpy-4.2/bin/python "${pytest[@]}" --version-dependent tests/extension/test_[!a-k]*.py
check "engine o-r" 1700 .venv/bin/python "${pytest[@]}" tests/engine/test_[o-r]*.py
check "ruff" 360 .venv/bin/ruff check .
check "ruff format" 360 .venv/bin/ruff format --check .
check "docs" 360 make docs
wait

for name in "${names[@]}"; do
  printf '\n== %s\n' "$name"
  cat "$logs/${name// /-}.log"
done
printf '\n== summary\n'
grep -hE '^(FAILED|ERROR) ' "$logs"/*.log | head -n 60
# Where a part crashed: the frames of the test and of the operator that it called.
grep -hE -A 25 '^Fatal Python error' "$logs"/*.log | head -n 60
for name in "${names[@]}"; do cat "$logs/${name// /-}.summary"; done
! grep -q '^FAILED' "$logs"/*.summary
