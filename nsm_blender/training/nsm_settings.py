# SPDX-License-Identifier: GPL-3.0-or-later
"""Hyperparameters of the NSM's training (Starke et al. 2019, 3.3, 6), and of the networks it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..models.nsm import Gating


@dataclass
class Settings:
    """Hyperparameters. The paper's are h = 512, K = 8 or 10, encoders 512, 128, 256, 512, batch 32, rate 1e-4, weight
    decay 2.5e-3, 70 epochs with restarts at 11 and 31 (3.3, 6)."""

    network: str = "nsm"
    """Which of `nsm_baselines.NETWORKS`; the sizes are the NSM's, from which those of the others follow."""
    experts: int = 8
    hidden: int = 256
    gating_hidden: int = 128
    encoders: dict[str, int] = field(
        default_factory=lambda: {"frame": 256, "goal": 64, "interaction": 128, "environment": 256}
    )
    gating: Gating = "kronecker"
    without: list[str] = field(default_factory=list)
    """Encoders whose input is left at zero: the ablations of Table 3."""
    batch: int = 1024
    """Frames in a step, in sequences of `lengths`."""
    half: bool = True
    """Whether matrix products use bfloat16, twice as fast on processors that support it."""
    learning_rate: float = 1e-3
    weight_decay: float = 2.5e-3
    first_cycle: int = 3
    """Epochs before the first warm restart; each cycle is twice as long as the one before."""
    epochs: int = 21
    dropout: float = 0.0
    noise: float = 0.1
    """Standard deviation of noise on the normalized pose, in place of the rollout's own errors."""
    lengths: list[int] = field(default_factory=lambda: [1, 8, 16, 32])
    """Frames of the sequences in which the network meets its own errors, over equal parts of the run: they grow, as
    what a new network makes of 32 frames teaches nothing."""
    far_astray: bool = False
    """Whether sequences that come to a thing begin as far beside it as `nsm_sequences.FAR_ASTRAY` says."""
    vague_goals: float = 0.0
    """Standard deviation in meters, along each axis, by which goals of things are told beside where they are."""
    gradient: int = 8
    """Frames after which gradients are cut: what was fed back longer ago counts as given."""
    kept: float = 0.0
    """Share, 0..1, of earlier weights in those that come out: between the two, errors of both cancel out, and a network
    is more precise than either (Wortsman et al., Robust fine-tuning of zero-shot models, 2022)."""
    teach: str = ""
    """Action that experts learn which are added to those of the weights begun with, see `added_experts`; "" for none:
    the whole network learns."""
    toward: str = ""
    """Action that the goal names where they do, "" for any."""
    seed: int = 1
