# SPDX-License-Identifier: GPL-3.0-or-later
"""The papers' protocols as code: metrics, tables, benchmarks."""
