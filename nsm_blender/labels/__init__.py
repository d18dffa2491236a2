# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of recordings as a person corrects them: what is done, the file that keeps it, and a timeline's keys."""
