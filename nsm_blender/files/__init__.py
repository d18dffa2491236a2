# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way in and the one way out: files from outside are bounded and typed, files of ours appear whole or not at
all.

reading: text, JSON and lines of a limited size. records: JSON's plain data as the dataclass that declares it. arrays:
npz archives. writing: a temporary file beside, flushed, then renamed. locking: a folder for one writer at a time.
"""

from .arrays import ArraySpec as ArraySpec
from .arrays import map_array as map_array
from .arrays import read_arrays as read_arrays
from .arrays import write_array as write_array
from .arrays import write_arrays as write_arrays
from .locking import locked as locked
from .reading import TextLines as TextLines
from .reading import is_file as is_file
from .reading import is_folder as is_folder
from .reading import parse_json as parse_json
from .reading import read_bytes as read_bytes
from .reading import read_json as read_json
from .reading import read_text as read_text
from .reading import shortened as shortened
from .records import Count as Count
from .records import Key as Key
from .records import NotZero as NotZero
from .records import OneOf as OneOf
from .records import Sizes as Sizes
from .records import Where as Where
from .records import Within as Within
from .records import record as record
from .records import shown as shown
from .writing import check_folder as check_folder
from .writing import check_writable as check_writable
from .writing import make_folder as make_folder
from .writing import write_whole as write_whole
