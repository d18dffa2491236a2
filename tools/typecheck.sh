#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# mypy over the extension as the package that it is for Blender, whatever the clone's folder is called.
set -euo pipefail
cd "$(dirname "$0")/.."
package=out/types/nsm_extension
rm -rf "$package" && mkdir -p "$package"
for part in __init__.py nsm_blender scene operators panels; do ln -s "../../../$part" "$package/$part"; done
MYPYPATH=out/types .venv/bin/mypy -p nsm_extension
# What the tools import was checked above.
MYPYPATH=tools .venv/bin/mypy --explicit-package-bases --follow-imports=silent tools/*.py
