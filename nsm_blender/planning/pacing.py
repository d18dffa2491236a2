# SPDX-License-Identifier: GPL-3.0-or-later
"""The closed loop over the speed of a character that is to arrive in time: faster while late, slower while early."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.pfnn import FPS
from .speed_limits import Range
from .speed_profile import Walker
from .trajectory import JOGGING

SETTING_OFF = 0.8
"""Seconds of getting on the way in which the speed is left alone: it says nothing yet of that to come."""
GAIN = 1.2
"""Rate in 1/s at which the tempo follows the difference between the pace that is needed and that which is kept."""
SPAN = 0.5
"""Seconds over which the pace that is kept is averaged, about a step."""
LAST_SECONDS = 0.4
"""Seconds before the arrival from which the tempo is left as it is: there the character stops."""
LARGEST_TEMPO, LEAST_TEMPO = 1.6, 0.6
"""Factors on the speed of the way at most and at least: beyond, bends and gaps are taken too fast or never."""
COMMANDED = 1.25
"""Times the fastest steady speed that is commanded at most: networks keep less than is asked of them at their limit."""


@dataclass
class Pacer:
    """Keeps a walker in time. speed: m/s of the way as planned, whose tempo is 1. range: of the gait, m/s."""

    walker: Walker
    gait: str
    speed: float
    range: Range
    seconds: float = 0.0
    pace: float = 1.0
    left: float | None = None

    def keep(self, seconds_left: float) -> None:
        """Set the walker's tempo one frame later, when it is to be at its end in so many seconds."""
        self.seconds += 1 / FPS
        left = self.walker.remaining(self.speed)
        done = 0.0 if self.left is None else (self.left - left) * FPS
        self.left = left
        if self.seconds < SETTING_OFF or seconds_left < LAST_SECONDS:
            return
        self.pace += (done - self.pace) / (SPAN * FPS)
        tempo = self.walker.tempo + GAIN / FPS * (left / seconds_left - self.pace)
        least = max(LEAST_TEMPO, (JOGGING if self.gait == "jog" else self.range.least) / self.speed)
        most = min(LARGEST_TEMPO, COMMANDED * self.range.most / self.speed)
        self.walker.tempo = max(min(tempo, most), min(least, 1.0))
