# SPDX-License-Identifier: GPL-3.0-or-later
"""The most telling figures of a motion, in plain words, against recorded people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..motion.motion import Motion
from ..stepwise import Stepwise, finished
from .measures import Measured, measuring
from .recorded import Table, recorded
from .track import PARTS

FINDINGS = 5
"""Number of figures that a report of a bake lists."""
TURNING_LIMIT = 90.0
"""Degrees by which a motion may turn more than its path requires, about the turning of a look around."""
DEPTH_LIMIT = 3.0
"""Depth in centimeters that a body may have in a thing: less than flesh and upholstery give way."""

_DOING = {
    "walk": "walking",
    "jog": "running",
    "start": "setting off",
    "stop": "stopping",
    "turn": "turning",
    "idle": "standing",
    "sit": "sitting down",
    "seated": "sitting",
    "rise": "getting up",
    "pick_up": "picking up",
    "put_down": "putting down",
    "open": "opening",
    "climb": "climbing",
    "sideways": "stepping sideways",
    "backward": "walking backward",
    "crouch": "crouching",
    "strike": "striking",
}
"""Participle of each action for sentences."""


@dataclass(frozen=True)
class Finding:
    """A figure of a motion.

    measure: its name, with the action before it if it belongs to one. value: in the measure's unit. ratio: to people's
    largest value, or to a tolerance; above 1 it is not natural. text: a short sentence.
    """

    measure: str
    value: float
    ratio: float
    text: str

    @property
    def natural(self) -> bool:
        """Whether the figure is within recorded people's range."""
        return self.ratio <= 1.0


def findings(motion: Motion, depth_cm: float | None = None) -> list[Finding]:
    """`finding_out` at once."""
    return finished(finding_out(motion, depth_cm))


def finding_out(motion: Motion, depth_cm: float | None = None) -> Stepwise[list[Finding]]:
    """In pieces of work, the `FINDINGS` figures of a motion that are farthest from people's, the farthest first.

    depth_cm: depth of the body in things, None without things around. A motion shorter than half a second has none of
    the figures that are taken from segments.
    """
    measured = yield from measuring(motion)
    people = recorded()
    found = [*_of_actions(measured, people), *_of_whole(measured, people)]
    if depth_cm is not None:
        found.append(Finding("depth_cm", depth_cm, depth_cm / DEPTH_LIMIT, f"Deepest in a thing {depth_cm:.1f} cm"))
    best: dict[str, Finding] = {}
    for one in found:
        family = one.measure.rpartition(".")[2]
        family = "jerk" if family.endswith("_jerk") else family
        if family not in best or one.ratio > best[family].ratio:
            best[family] = one
    return sorted(best.values(), key=lambda one: -one.ratio)[:FINDINGS]


def _of_actions(measured: Measured, people: Table) -> Iterator[Finding]:
    """Findings from segments, by the largest value of each action."""
    for (action, name), values in measured.values().items():
        row = people.get((action, name))
        if row is None:
            continue
        doing, value = _DOING[action], max(values)
        most = row.at(99.0)
        if name == "root_speed":
            text = f"Fastest while {doing} {value:.2g} m/s (people up to {most:.2g})"
        elif name == "yaw_speed":
            text = f"Fastest turn while {doing} {value:.0f} degrees/s (people up to {most:.0f})"
        elif name in (f"{part}_jerk" for part in PARTS):
            text = f"Jerkiest: {name.removesuffix('_jerk')} while {doing}, {value / most:.1f} times people's"
        elif name == "knee_pop":
            text = f"Knees snap by {value:.0f} degrees/s while {doing} (people up to {most:.0f})"
        elif name == "hips_bob" and action in ("walk", "jog"):
            most = row.at(90.0)
            text = f"Hips bob {value:.1f} cm while {doing} (people {row.at(10.0):.1f} to {most:.1f})"
        elif name == "head_drop_cm":
            most = row.at(90.0)
            text = f"Head drops {value:.1f} cm when setting off (people up to {most:.1f})"
        elif name == "lean_deg":
            text = f"Bows by {value:.0f} degrees while {doing} (people up to {most:.0f})"
        elif name == "wait_s":
            text = f"Stands {value:.1f} s before {doing} (people up to {most:.1f})"
        elif name == "seconds":
            value, most = min(values), row.at(5.0)
            text = f"{doing.capitalize()} takes {value:.1f} s (people {most:.1f} to {row.at(95.0):.1f})"
            yield Finding(f"{action}.{name}", value, most / value, text)
            continue
        else:
            continue
        yield Finding(f"{action}.{name}", value, value / most, text)


def _of_whole(measured: Measured, people: Table) -> Iterator[Finding]:
    """Findings from the whole motion."""
    value = measured.whole["excess_turning_deg"]
    yield Finding("excess_turning_deg", value, value / TURNING_LIMIT,
                  f"Turned {value:.0f} degrees more than the path requires")  # fmt: skip
    name = "planted_twist_deg"
    if name in measured.whole:
        value, most = measured.whole[name], people["whole", name].at(99.0)
        yield Finding(name, value, value / most, f"Planted feet twist {value:.0f} degrees (people up to {most:.0f})")
