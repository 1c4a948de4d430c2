# SPDX-License-Identifier: Apache-2.0
"""`python -m underlap` is the program `underlap`."""
from __future__ import annotations

import os
import sys

from ._installed import find

if __name__ == "__main__":
    program = str(find("bin/underlap"))
    os.execv(program, [program, *sys.argv[1:]])
