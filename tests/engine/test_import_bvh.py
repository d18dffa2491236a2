# SPDX-License-Identifier: GPL-3.0-or-later
"""The BVH reader, on texts small enough to know every position."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from nsm_blender.errors import FileFormatError
from nsm_blender.motion.bvh import load_bvh
from nsm_blender.motion.rotations import from_axis_angle, multiply, to_matrix

TEXT = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Arm
  {
    OFFSET 1 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 2 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0083333
0 0 0 0 0 0 0 0 0
1 2 3 90 0 0 0 0 0
"""


def read(tmp_path, text, binary=False):
    path = tmp_path / "a.bvh"
    path.write_bytes(text if binary else text.encode())
    return load_bvh(path)


def positions(motion):
    return motion.world()[0]


def test_a_small_file_gives_the_positions_worked_out_by_hand(tmp_path):
    motion = read(tmp_path, TEXT)
    assert motion.names == ("Hips", "Arm", "Arm end") and motion.parents == (-1, 0, 1)
    assert motion.is_end == (False, False, True)
    np.testing.assert_allclose(positions(motion)[0], [[0, 0, 0], [1, 0, 0], [1, 2, 0]], atol=1e-12)
    np.testing.assert_allclose(positions(motion)[1], [[1, 2, 3], [1, 3, 3], [-1, 3, 3]], atol=1e-12)


@pytest.mark.parametrize("order", ["".join(p) for p in permutations("XYZ")])
def test_each_rotation_order_is_applied_as_written(order, tmp_path):
    channels = " ".join(f"{axis}rotation" for axis in order)
    motion = read(
        tmp_path,
        TEXT.replace("CHANNELS 3 Zrotation Xrotation Yrotation", f"CHANNELS 3 {channels}").replace(
            "0 0 0 0 0 0 0 0 0\n1", "0 0 0 0 0 0 10 20 30\n1"
        ),
    )
    expected = np.array([1.0, 0, 0, 0])
    for axis, degrees in zip(order, (10, 20, 30), strict=True):
        expected = multiply(expected, from_axis_angle(np.eye(3)["XYZ".index(axis)], np.radians(degrees)))
    np.testing.assert_allclose(to_matrix(motion.rotations[0, 1]), to_matrix(expected), atol=1e-12)


def test_channels_may_come_in_any_order_and_number(tmp_path):
    text = TEXT.replace(
        "Xposition Yposition Zposition Zrotation Xrotation Yrotation",
        "Zrotation Zposition Xrotation Xposition Yrotation Yposition",
    )
    text = text.replace("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 1 Zrotation")
    motion = read(tmp_path, text[: text.index("0 0 0 0 0 0 0")] + "90 3 0 1 0 2 0\n0 0 0 0 0 0 90\n")
    np.testing.assert_allclose(positions(motion)[0], [[1, 2, 3], [1, 3, 3], [-1, 3, 3]], atol=1e-12)
    np.testing.assert_allclose(positions(motion)[1, 2], [-1, 0, 0], atol=1e-12)


@pytest.mark.parametrize("values", ["1 0 0", "0 0 0"], ids=["the place itself", "added to the offset"])
def test_positions_of_inner_joints_are_read_in_both_meanings(values, tmp_path):
    text = TEXT.replace("CHANNELS 3 Z", "CHANNELS 6 Xposition Yposition Zposition Z")
    text = text[: text.index("0 0 0 0 0 0 0")] + f"0 0 0 0 0 0 {values} 0 0 0\n" * 2
    np.testing.assert_allclose(positions(read(tmp_path, text))[1], [[0, 0, 0], [1, 0, 0], [1, 2, 0]], atol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", "\r"),
        lambda t: t.replace(" ", "\t"),
        lambda t: t.replace("  ", "").replace("\n{", " {"),
        lambda t: "\ufeff" + t,
        lambda t: t.replace("MOTION\n", "MOTION\n\n") + "\n\n  \n",
        lambda t: t.replace("rotation", "Rotation").replace("JOINT", "Joint").replace("End Site", "END SITE"),
        lambda t: t.replace("Frames:", "Frames: ").replace("Frame Time:", "Frame Time:\t"),
        lambda t: t.replace("1 2 3 90", "1,0 2,0 3,0 90,0").replace("0.0083333", "0,0083333"),
        lambda t: t.replace("1 2 3 90 0 0 0 0 0", "1 2 3\n90 0 0\n0 0 0"),
        lambda t: t.replace("1 2 3 90 0 0 0 0 0", "1e0 2.0E+0 3 9e1 -0 0 0 0 0"),
    ],
)
def test_layout_and_spelling_do_not_matter(change, tmp_path):
    motion = read(tmp_path, change(TEXT))
    np.testing.assert_allclose(positions(motion), positions(read(tmp_path, TEXT)), atol=1e-12)
    assert motion.fps == 120


def test_joint_names_may_hold_blanks_and_name_spaces(tmp_path):
    assert read(tmp_path, TEXT.replace("JOINT Arm", "JOINT rig:Left Arm")).names[1] == "rig:Left Arm"


@pytest.mark.parametrize(
    ("text", "fps"),
    [
        ("0.0083333", 120),
        ("0.008333", 120),
        ("0.0333", 30),
        ("0.0166667", 60),
        ("0.041708", 1 / 0.041708),
        ("0.04", 25),
        ("0.0333667", 1 / 0.0333667),
        ("1", 1),
    ],
)
def test_rounded_frame_times_mean_whole_rates(text, fps, tmp_path):
    assert read(tmp_path, TEXT.replace("0.0083333", text)).fps == pytest.approx(fps, rel=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("HIERARCHY", "HIERACHY", 1, "begins with HIERARCHY"),
        ("OFFSET 1 0 0", "OFFSET 1 x 0", 8, "'x' is not a number"),
        ("OFFSET 1 0 0", "OFFSET 1 nan 0", 8, "'nan' is not a number"),
        ("CHANNELS 3 Z", "CHANNELS 4 Z", 10, "'End' is none"),
        ("CHANNELS 3 Zrotation", "CHANNELS 3 Xrotation", 9, "twice"),
        ("    OFFSET 1 0 0\n", "", 13, "joint Arm has no OFFSET"),
        ("OFFSET 0 2 0", "CHANNELS 3", 12, "in an End Site"),
        ("MOTION", "ROOT Second", 16, "a second ROOT"),
        ("MOTION", "", 17, "expected MOTION, found 'Frames:'"),
        ("Frames: 2", "Frames: two", 17, "'two' is no number of frames"),
        ("Frames: 2", "Frames: 0", 17, "no number of frames"),
        ("Frames: 2", "Frames: 3", 20, "ends after 2 of 3 frames"),
        ("Frames: 2", "Frames: 1", 20, "more than the 1 frames"),
        ("0.0083333", "0", 18, "no frame time"),
        ("0.0083333", "33.3", 18, "no frame time"),
        ("Frame Time: 0.0083333\n", "", 18, "expected 'Frame Time"),
        ("1 2 3 90", "1 2 3 9O", 20, "'9O' is not a number"),
        ("1 2 3 90", "1 2 inf 90", 20, "'inf' is not a number"),
        ("0 0 0 0 0 0 0 0 0\n1", "0 0 0 0 0 0 0 0\n1", 19, "8 values where the skeleton has 9 channels"),
        ("90 0 0 0 0 0", "90 0 0", 20, "cut off"),
    ],
)
def test_a_malformed_file_is_refused_with_file_and_line(old, new, line, message, tmp_path):
    assert old in TEXT
    with pytest.raises(FileFormatError, match=message) as error:
        read(tmp_path, TEXT.replace(old, new, 1))
    assert f"a.bvh, line {line}: " in str(error.value)


@pytest.mark.parametrize("line", range(1, 20))
def test_a_file_cut_off_after_any_line_is_refused(line, tmp_path):
    with pytest.raises(FileFormatError, match=r"a\.bvh, line \d+: "):
        read(tmp_path, "\n".join(TEXT.split("\n")[:line]))


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"\xff\xfe\x00H"])
def test_what_is_no_text_is_refused(content, tmp_path):
    with pytest.raises(FileFormatError, match=r"a\.bvh"):
        read(tmp_path, content, binary=True)
