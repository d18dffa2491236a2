# SPDX-License-Identifier: GPL-3.0-or-later
"""From a rollout to a body with rigid bones: contacts, targets, collisions."""
