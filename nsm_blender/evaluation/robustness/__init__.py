# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input and interruptions: files of every kind, damaged in every way, and commands that are stopped or refused.

samples: a valid file of each kind, and what reads it. mutations: what may happen to a file. readers: mutated files read
in this process. commands: `nsm-blender` in child processes with limits. table: what came of all.
"""
