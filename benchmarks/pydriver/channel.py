"""Signed lines, by which the parts of the driver tell each other's words from
those of the code under test.

A frame is one line: "<hmac-sha256 in hex> <json>\\n". The json object has "n", the
number of the frame, counted from 0, so that none can be repeated or left out.
"""

import hashlib
import json
import os
# Kept here, since those among the builtins could be replaced.
from builtins import (
    bytes,
)


def keyed(key):
    """Return sign(data: bytes) -> hex for a key that it does not hold itself."""
    key = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in key)).copy
    outer = hashlib.sha256(bytes(b ^ 0x5C for b in key)).copy

    def sign(data):
        i, o = inner(), outer()
        i.update(data)
        o.update(i.digest())
        return o.hexdigest()

    return sign


def sender(key, fd, write=os.write, encode=json.JSONEncoder().encode):
    """Return send(**frame), which writes a signed frame to fd."""
    sign = keyed(key)
    count = 0

    def send(**frame):
        nonlocal count
        frame["n"] = count
        count += 1
        data = encode(frame).encode("ascii")
        line = sign(data).encode("ascii") + b" " + data + b"\n"
        while line:
            line = line[write(fd, line):]

    return send


class Receiver:
    """Takes frames out of a stream of bytes; what is not one is dropped."""

    def __init__(self, key):
        self.sign = keyed(key)
        self.expected = 0

    def frame(self, line):
        """The frame in a line, or None."""
        mac, _, data = line.partition(b" ")
        if mac.decode("latin-1") != self.sign(data):
            return None
        frame = json.loads(data)
        if frame["n"] != self.expected:
            return None
        self.expected += 1
        return frame
