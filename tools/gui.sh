#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Starts a real Blender window from Debian in a chroot, without a display or a graphics card, installs the zip from
# dist/, and has tools/gui_window.py bake a shot with the mouse and draw furnished rooms with all that the overlay
# shows. Pictures, logs and report.json, which has the times, go to out/gui. Needs root.
#   SUITE=trixie  Blender 4.3; SUITE=sid the newest one that Debian has
#   CHROOT=DIR    where the chroot is made the first time (1.2 GB, about 4 minutes) and found the next
#   MIRROR=URL    a Debian mirror
#   PARTS="rigs"  only some of: newcomer, demo, panels, mouse, chair, rigs, bake, rooms;
#                 tutorial makes the pictures of the documents
#   PATIENCE=5    waits so many times longer, on a busy machine
#   OUT=DIR       another folder for pictures, logs and report.json
set -euo pipefail
cd "$(dirname "$0")/.."
export SUITE=${SUITE:-trixie} LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
export CHROOT=${CHROOT:-out/chroot-$SUITE}
MIRROR=${MIRROR:-http://deb.debian.org/debian}
OUT=${OUT:-$PWD/out/gui}
WORK=/tmp/nsm-gui
PACKAGES=(blender imagemagick libegl1 libgl1-mesa-dri libglx-mesa0 python3-numpy python3-requests xdotool xvfb)

if [ "$(id -u)" -ne 0 ]; then
  echo "make gui needs root: it makes and enters a chroot." >&2
  exit 1
fi
# Mounts and processes live in namespaces of their own: whatever happens, none is left behind.
if [ "${NSM_GUI_INSIDE:-}" != 1 ]; then
  NSM_GUI_INSIDE=1 exec unshare --mount --pid --fork --kill-child -- "$0" "$@"
fi
rm -rf "$OUT" && mkdir -p "$OUT"

make_chroot() {
  if [ -n "$(ls -A "$CHROOT" 2>/dev/null)" ]; then
    echo "$CHROOT is not a finished chroot; remove it first." >&2
    exit 1
  fi
  command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap; }
  debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    "$SUITE" "$CHROOT" "$MIRROR" >"$OUT/debootstrap.log"
  # Services must not start in a chroot; documentation and translations are half of the size.
  printf '#!/bin/sh\nexit 101\n' >"$CHROOT/usr/sbin/policy-rc.d"
  chmod +x "$CHROOT/usr/sbin/policy-rc.d"
  # The mirror may be a frozen one, whose release files are past their date.
  printf '%s "false";\n' APT::Install-Recommends Acquire::Check-Valid-Until >"$CHROOT/etc/apt/apt.conf.d/99gui"
  printf 'Acquire::Languages "none";\n' >>"$CHROOT/etc/apt/apt.conf.d/99gui"
  printf 'path-exclude=/usr/share/%s/*\n' doc man locale >"$CHROOT/etc/dpkg/dpkg.cfg.d/99gui"
  mount -t proc proc "$CHROOT/proc"
  # Blender 5 imports cattrs, which its Debian package only recommends.
  [ "$SUITE" = trixie ] || PACKAGES+=(python3-cattr)
  chroot "$CHROOT" apt-get update -qq
  chroot "$CHROOT" apt-get install -y -qq "${PACKAGES[@]}" >"$OUT/apt.log" 2>&1 || { tail "$OUT/apt.log" >&2; exit 1; }
  chroot "$CHROOT" apt-get clean
  touch "$CHROOT/.nsm-complete"
}

[ -e "$CHROOT/.nsm-complete" ] || make_chroot
mountpoint -q "$CHROOT/proc" || mount -t proc proc "$CHROOT/proc"
mount -t tmpfs -o mode=1777 tmpfs "$CHROOT/dev/shm"
# A fresh /tmp for each run, so that two runs do not meet.
mount -t tmpfs -o mode=1777 tmpfs "$CHROOT/tmp"
mkdir -p "$CHROOT$WORK/home"
cp dist/nsm_blender-*.zip "$CHROOT$WORK/extension.zip"
cp tools/gui_*.py tools/rig_armatures.py "$CHROOT$WORK/"
# The zip has no evaluation, which makes the rigs.
mkdir "$CHROOT$WORK/engine" && cp -r nsm_blender/evaluation "$CHROOT$WORK/engine/"

code=0
timeout --kill-after=10 $((900 * ${PATIENCE:-1})) chroot "$CHROOT" /usr/bin/env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 HOME=$WORK/home \
  XDG_RUNTIME_DIR=$WORK/home BLENDER_USER_RESOURCES=$WORK/home LIBGL_ALWAYS_SOFTWARE=1 GALLIUM_DRIVER=llvmpipe \
  PARTS="${PARTS:-}" PATIENCE="${PATIENCE:-}" python3 $WORK/gui_window.py || code=$?
cp "$CHROOT$WORK"/*.png "$CHROOT$WORK"/*.log "$OUT"/
[ ! -e "$CHROOT$WORK/report.json" ] || cp "$CHROOT$WORK/report.json" "$OUT"/
echo "Pictures, logs and times: $OUT"
exit "$code"
