# SPDX-License-Identifier: Apache-2.0
"""Tables by the Arrow C data interface, as pandas or pyarrow have them. Columns are not copied where neither needs it."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import pyarrow

_POINTER = ctypes.c_void_p


class ArrowSchema(ctypes.Structure):
    """Types and names. Source: https://arrow.apache.org/docs/format/CDataInterface.html"""


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", _POINTER), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))),
    ("private_data", _POINTER)]


class ArrowArray(ctypes.Structure):
    """Values, of the same source."""


ArrowArray._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(_POINTER)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))), ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))), ("private_data", _POINTER)]


class Batch:
    """The rows of one table, released with this object."""

    def __init__(self) -> None:
        self.schema, self.array = ArrowSchema(), ArrowArray()

    def __del__(self) -> None:
        for part in (self.schema, self.array):
            if part.release:
                part.release(ctypes.byref(part))

    def descriptions(self) -> dict[str, str]:
        """What each column means."""
        return {child.name.decode(): _description(child) for child in self._schemas()}

    def to_pyarrow(self) -> pyarrow.Table:
        """The table, which takes the columns over."""
        import pyarrow
        batch = pyarrow.RecordBatch._import_from_c(ctypes.addressof(self.array), ctypes.addressof(self.schema))
        return pyarrow.Table.from_batches([batch])

    def to_pandas(self) -> pandas.DataFrame:
        """The table; texts are categories, whole numbers with unknown values the type Int32 or Int64."""
        import pandas
        columns = {schema.name.decode(): self._series(schema, self.array.children[i].contents)
                   for i, schema in enumerate(self._schemas())}
        table = pandas.DataFrame(columns, copy=False)
        table.attrs["descriptions"] = self.descriptions()
        return table

    def _schemas(self) -> list[ArrowSchema]:
        return [self.schema.children[i].contents for i in range(self.schema.n_children)]

    def _numbers(self, array: ArrowArray, buffer: int, count: int, kind: Any) -> Any:
        """Values in a buffer of the library, which this object keeps alive."""
        import numpy
        if count == 0:
            return numpy.empty(0, kind)
        values = (kind * count).from_address(array.buffers[buffer])
        values._owner = self
        return numpy.frombuffer(values, dtype=kind)

    def _bits(self, array: ArrowArray, buffer: int) -> Any:
        import numpy
        packed = self._numbers(array, buffer, (array.length + 7) // 8, ctypes.c_uint8)
        return numpy.unpackbits(packed, count=array.length, bitorder="little").astype(bool)

    def _series(self, schema: ArrowSchema, array: ArrowArray) -> Any:
        import numpy
        import pandas
        unknown = None if array.null_count == 0 else ~self._bits(array, 0)
        if schema.format == b"b":
            return self._bits(array, 1)
        kinds = {b"i": ctypes.c_int32, b"l": ctypes.c_int64, b"g": ctypes.c_double}
        values = self._numbers(array, 1, array.length, kinds[schema.format])
        if schema.dictionary:
            codes = values if unknown is None else numpy.where(unknown, -1, values)
            return pandas.Categorical.from_codes(codes, pandas.Index(self._words(array.dictionary.contents)))
        if unknown is None:
            return values
        if schema.format == b"g":
            return numpy.where(unknown, numpy.nan, values)
        return pandas.arrays.IntegerArray(values, unknown)

    def _words(self, array: ArrowArray) -> list[str]:
        offsets = self._numbers(array, 1, array.length + 1, ctypes.c_int32)
        start = array.buffers[2] or 0
        return [ctypes.string_at(start + int(a), int(b - a)).decode(errors="replace")
                for a, b in zip(offsets[:-1], offsets[1:])]


def _description(schema: ArrowSchema) -> str:
    """The value of the only pair of the metadata: a count, then two texts with their lengths."""
    start = schema.metadata
    if not start:
        return ""
    key = ctypes.c_int32.from_address(start + 4).value
    length = ctypes.c_int32.from_address(start + 8 + key).value
    return ctypes.string_at(start + 12 + key, length).decode(errors="replace")
