# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes that a user can make, each with the sentence the user should read."""


class UserError(Exception):
    """Base of all errors whose text is written for the user.

    The command line prints the text and exits with 1; an operator reports it and cancels.
    Anything else that is raised is a programming error and is not caught.
    """


class FileFormatError(UserError):
    """A motion or model file is malformed. The text names the file and, where there is one, the line."""


class RigError(UserError):
    """A skeleton or armature lacks something that is needed."""


class ShotError(UserError):
    """A shot cannot be baked as it is described."""


class EditError(UserError):
    """A motion cannot be edited as its constraints or style say."""


class WeightsError(UserError):
    """A weights file is missing, damaged or does not fit the model."""


class ColliderError(UserError):
    """A mesh cannot become a collider, or a collider's data are not usable."""


class RouteError(UserError):
    """A goal cannot be walked to. The text says what is in the way."""


class LabelError(UserError):
    """A capture cannot be labeled, or labels on the timeline do not fit together."""
