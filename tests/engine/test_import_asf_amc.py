# SPDX-License-Identifier: GPL-3.0-or-later
"""The ASF/AMC reader, on texts small enough to know every position."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.errors import FileFormatError
from nsm_blender.motion.asf_amc import find_asf, load_asf_amc

ASF = """# a comment
:version 1.10
:name small
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
   begin is only a word here
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name upper
     direction 2 0 0
     length 3
     axis 0 0 0 XYZ
     dof rx ry rz
     limits (-160.0 20.0)
            (-70.0 70.0)
            (-60.0 70.0)
  end
  begin
     id 2
     name lower
     direction 0 1 0
     length 2
     axis 0 0 90 XYZ
     dof rx
     limits (-10.0 170.0)
  end
:hierarchy
  begin
    root upper
    upper lower
  end
"""
AMC = """#!OML:ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 0 0 0
upper 0 0 0
lower 0
2
root 0 0 0 0 0 90
upper 10 20 30
lower 90
"""


def read(tmp_path, asf=ASF, amc=AMC):
    (tmp_path / "a.asf").write_text(asf)
    (tmp_path / "a.amc").write_text(amc)
    return load_asf_amc(tmp_path / "a.asf", tmp_path / "a.amc")


def rotation(axis, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return {
        "x": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


def test_the_rest_pose_lies_along_the_bones_directions(tmp_path):
    motion = read(tmp_path)
    assert motion.names == ("root", "upper", "lower", "lower end") and motion.parents == (-1, 0, 1, 2)
    np.testing.assert_allclose(motion.world()[0][0], [[1, 2, 3], [1, 2, 3], [4, 2, 3], [4, 4, 3]], atol=1e-12)


def test_angles_turn_about_the_bones_own_axes_the_first_axis_first(tmp_path):
    positions = read(tmp_path).world()[0][1]
    root = rotation("z", 90)
    upper = root @ rotation("z", 30) @ rotation("y", 20) @ rotation("x", 10)
    own = rotation("z", 90)
    lower = upper @ own @ rotation("x", 90) @ own.T
    elbow = upper @ [3, 0, 0]
    np.testing.assert_allclose(positions, [[0, 0, 0], [0, 0, 0], elbow, elbow + lower @ [0, 2, 0]], atol=1e-12)


def test_units_are_stated_by_the_file(tmp_path):
    assert read(tmp_path).unit == pytest.approx(0.0254 / 0.45)
    assert read(tmp_path, ASF.replace("length 0.45", "length 1.0")).unit == pytest.approx(0.0254)


def test_radians_are_read_as_radians(tmp_path):
    in_degrees = read(tmp_path).world()[0]
    asf = ASF.replace("angle deg", "angle rad").replace("axis 0 0 90", f"axis 0 0 {np.pi / 2}")
    amc = AMC.replace(":DEGREES\n", "")
    for degrees in ("10 20 30", "lower 90", "0 0 90"):
        words = [w if w == "lower" else repr(float(np.radians(float(w)))) for w in degrees.split()]
        amc = amc.replace(degrees, " ".join(words))
    np.testing.assert_allclose(read(tmp_path, asf, amc).world()[0], in_degrees, atol=1e-9)


def test_order_of_the_roots_values_is_the_files(tmp_path):
    swapped = ASF.replace("order TX TY TZ RX RY RZ", "order RX RY RZ TX TY TZ")
    amc = AMC.replace("root 1 2 3 0 0 0", "root 0 0 0 1 2 3").replace("root 0 0 0 0 0 90", "root 0 0 90 0 0 0")
    np.testing.assert_allclose(read(tmp_path, swapped, amc).world()[0], read(tmp_path).world()[0], atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("length 0.45", "length zero", 6, "'zero' is not a number"),
        ("angle deg", "angle turns", 7, "angle unit"),
        ("order TX", "order QX", 11, "'QX' is no degree"),
        ("direction 2 0 0", "direction 2 0", 19, "2 values where 3 belong"),
        ("axis 0 0 0 XYZ", "axis 0 0 0 XXZ", 21, "no order of axes"),
        ("name lower", "name upper", 29, "twice"),
        ("  end\n  begin\n     id 2", "  begin\n     id 2", 26, "has no end"),
        ("upper lower", "upper lowest", 39, "no bone lowest"),
        ("    root upper\n", "", 16, "hangs on nothing"),
        ("root upper\n    upper lower", "lower upper\n    upper lower", 38, "its own ancestor"),
    ],
)
def test_a_malformed_skeleton_is_refused_with_file_and_line(old, new, line, message, tmp_path):
    assert old in ASF
    with pytest.raises(FileFormatError, match=message) as error:
        read(tmp_path, asf=ASF.replace(old, new, 1))
    assert f"a.asf, line {line}:" in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("lower 90", "lower", 11, "0 values for lower"),
        ("upper 10 20 30", "upper 10 2O 30", 10, "'2O' is not a number"),
        ("upper 10 20 30", "upper 10 nan 30", 10, "'nan' is not a number"),
        ("upper 10 20 30", "tail 10 20 30", 10, "no moving bone tail"),
        ("lower 0\n", "", 6, "without the bone lower"),
        ("lower 0\n", "lower 0\nlower 0\n", 8, "twice"),
        ("1\nroot", "root", 4, "before the first frame"),
        ("lower 90\n", "", 10, "without the bone lower"),
    ],
)
def test_malformed_motion_is_refused_with_file_and_line(old, new, line, message, tmp_path):
    assert old in AMC
    with pytest.raises(FileFormatError, match=message) as error:
        read(tmp_path, amc=AMC.replace(old, new, 1))
    assert f"a.amc, line {line}:" in str(error.value)


def test_motion_without_frames_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="no frames"):
        read(tmp_path, amc=":DEGREES\n")


def test_the_skeleton_is_found_beside_the_motion_by_its_name(tmp_path):
    for name in ("02.asf", "16.asf", "02_01.amc"):
        (tmp_path / name).touch()
    assert find_asf(tmp_path / "02_01.amc", []) == tmp_path / "02.asf"


def test_a_motion_without_skeleton_says_so(tmp_path):
    (tmp_path / "02_01.amc").touch()
    with pytest.raises(FileFormatError, match=r"no \.asf"):
        find_asf(tmp_path / "02_01.amc", [])
