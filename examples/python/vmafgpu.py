# Copyright (c) 2026 the vmafgpu authors
# SPDX-License-Identifier: BSD-2-Clause-Patent
"""VMAF of arrays, on CPUs and GPUs, with the bits of libvmaf.

    import vmafgpu
    result = vmafgpu.score(reference, distorted)        # arrays of shape (frames, height, width)
    print(result.mean, result.pool("p5"), result["vmaf"], result["integer_adm2"])

    with vmafgpu.Scorer(1920, 1080, models=["vmaf_v0.6.1", "vmaf_v0.6.1neg"], features="psnr", threads=4) as scorer:
        for reference, distorted in pairs:
            for frame in scorer.push(reference, distorted):         # the scores that are ready
                print(frame.index, frame.score, frame.features["integer_adm2"])
        result = scorer.result()
    loss = vmafgpu.torch_loss(reference, distorted)     # for training with PyTorch; see vmafgpu_torch.py

A frame is one of:

    (Y, U, V)                  a tuple of 2-D arrays of 8-bit or 16-bit samples, each with the size of its plane
    (Y, UV)                    with layout="semiplanar" (NV12) or "semiplanar_high" (P010); UV: (h, w, 2) or (h, 2 * w)
    (height, width)            luma only, for models and features that do not use chroma
    (height, width, 3 or 4)    uint8 RGB or RGBA (BGRA with pixels="bgra8"), or float16 RGBA in linear light
    (3, height, width)         uint8 RGB in planes, as in PyTorch
    (size,)                    the bytes of a complete frame in the format of the config, as in raw video files

RGB frames require colour={"matrix": "bt709", "range": "limited", "siting": "left"}; see vmafgpu_colour in vmafgpu.h.
An array is any object with __array_interface__ (NumPy), __dlpack__ (PyTorch, CuPy, JAX), __cuda_array_interface__
(Numba), or the buffer protocol (bytes, memoryview). Samples in a row must be contiguous; rows can have any distance.
Arrays in GPU memory are scored where they are; see `Scorer` for their lifetime and stream.

The shared library (`make shared`) and vmafgpu.h are in a wheel, a checkout or the system; VMAFGPU_LIBRARY and
VMAFGPU_HEADER override this. Structs come from the header, and the library confirms their sizes when it is loaded.
"""
import array
import collections
import ctypes
import importlib
import itertools
import logging
import os
import re
import sys
import threading
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

__all__ = ["score", "Scorer", "Frame", "Result", "Error", "models"]
log = logging.getLogger("vmafgpu")

# ---- declarations: read from the header ----
class Declarations:
    """The structs, enumerators and functions in the public part of vmafgpu.h."""
    def __init__(self, text: str) -> None:
        self.types: Dict[str, Any] = {
            "int": ctypes.c_int, "unsigned": ctypes.c_uint, "double": ctypes.c_double, "float": ctypes.c_float,
            "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "uint16_t": ctypes.c_uint16, "char": ctypes.c_char,
            "size_t": ctypes.c_size_t, "ptrdiff_t": ctypes.c_ssize_t, "void": None}
        self.enums: Dict[str, Dict[str, int]] = {}         # type -> names without the common prefix, in lower case
        self.fields: Dict[str, Dict[str, str]] = {}        # struct -> field -> name of its type
        self.functions: Dict[str, Tuple[Any, List[Any]]] = {}
        text = re.sub(r"/\*.*?\*/", " ", text[:text.index("#endif /* VMAFGPU_H */")], flags=re.S)
        text = text.replace("\\\n", " ")
        self.abi = int(re.findall(r"#define VMAFGPU_ABI (\d+)", text)[0])
        self.results = {int(n): name for name, n in re.findall(r'X\((\w+), *(-?\d+), *"', text)}
        text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
        for name in re.findall(r"\bstruct (vmafgpu\w*)", text):
            self.types.setdefault(name, type(name, (ctypes.Structure,), {}))
        for kind, body in re.findall(r"typedef enum (\w+) \{(.*?)\}", text, flags=re.S):
            self.types[kind], self.enums[kind], value = ctypes.c_int, {}, -1
            for name, number in re.findall(r"(\w+)(?: = (-?\d+))?\s*(?:,|$)", body):
                value = int(number) if number else value + 1
                self.enums[kind][name.lower().replace(kind + "_", "")] = value
        for result, name, arguments in re.findall(r"typedef (\w+) (\w+)\(((?:[^()]|\([^()]*\))*)\);", text):
            self.types[name] = ctypes.CFUNCTYPE(self.types[result], *self.arguments(arguments))
        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\}", text, flags=re.S):
            members = [member for line in body.split(";") if line.strip() for member in self.declare(line)]
            self.fields[name] = {field: base for field, _, base in members}
            self.types[name]._fields_ = [(field, kind) for field, kind, _ in members]
        for declaration, arguments in re.findall(r"VMAFGPU_API\s+([^;(]+)\(([^;]*)\);", text):
            name, result, _ = self.declare(declaration)[0]
            self.functions[name] = (result, self.arguments(arguments))
    def declare(self, text: str) -> List[Tuple[str, Any, str]]:
        """Returns the names, ctypes and base types in a C declaration such as `const void *data[3], *other`."""
        callback = re.match(r"(.+?)\(\s*\*\s*(\w+)\)\s*\((.*)\)\s*$", text, flags=re.S)
        if callback:
            result = self.declare(callback[1] + " result")[0][1]
            return [(callback[2], ctypes.CFUNCTYPE(result, *self.arguments(callback[3])), "function")]
        base, rest = re.sub(r"\b(const|struct|enum)\b", " ", text).split(None, 1)
        declared = []
        for item in rest.split(","):
            kind, stars = self.types[base], item.count("*")
            if stars and (kind is None or base == "char"):
                kind, stars = ctypes.c_char_p if base == "char" else ctypes.c_void_p, stars - 1
            elif stars and issubclass(kind, ctypes._CFuncPtr):  # type: ignore[attr-defined]
                stars -= 1
            for _ in range(stars):
                kind = ctypes.POINTER(kind)
            for count in reversed(re.findall(r"\[(\d+)\]", item)):
                kind = kind * int(count)
            declared.append((re.findall(r"\w+", item)[0], kind, base))
        return declared
    def arguments(self, text: str) -> List[Any]:
        parts = [] if text.strip() == "void" else re.split(r",(?![^(]*\))", text)
        return [self.declare(part)[0][1] for part in parts]
    def check(self, library: Any, where: str, header: str) -> None:
        """Sets the types of all functions. Raises ImportError if the library was compiled with other declarations."""
        for function, (result, arguments) in self.functions.items():
            if not hasattr(library, function):
                raise ImportError("%s: has no function %s, which %s declares" % (where, function, header))
            getattr(library, function).restype, getattr(library, function).argtypes = result, arguments
        if library.vmafgpu_abi() != self.abi:
            raise ImportError("%s: VMAFGPU_ABI is %d, but %d in %s" % (where, library.vmafgpu_abi(), self.abi, header))
        here = [(name, 0, ctypes.sizeof(self.types[name])) for name in self.fields]
        for name, fields in self.fields.items():
            members = [(field, getattr(self.types[name], field)) for field in fields]
            here += [(name + "." + field, member.offset, member.size) for field, member in members]
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        entries = itertools.takewhile(bool, (library.vmafgpu_layout_at(i, offset, size) for i in itertools.count()))
        there = [(entry.decode(), offset.value, size.value) for entry in entries]
        # Fields come first, because a changed field also changes its struct.
        for a, b in itertools.zip_longest(*(sorted(es, key=lambda e: "." not in e[0]) for es in (there, here))):
            if a != b:
                text = ["no more fields" if e is None else "%s at offset %d with %d bytes" % e for e in (a, b)]
                raise ImportError("%s: has %s, but %s has %s" % (where, text[0], header, text[1]))

def _load() -> Tuple[Declarations, Any, str]:
    here = os.path.dirname(os.path.abspath(__file__))
    top, given = os.path.dirname(os.path.dirname(here)), os.environ.get("VMAFGPU_LIBRARY", "")
    folders = [os.path.join(here, "vmafgpu_files"), os.path.join(top, "build")]
    folders += [os.path.join(prefix, "lib") for prefix in (sys.prefix, "/usr/local", "/usr")]
    headers = [os.environ.get("VMAFGPU_HEADER", "")] + [
        os.path.join(folder, *parts) for folder in [os.path.dirname(os.path.abspath(given))] * bool(given) + folders
        for parts in (("vmafgpu.h",), ("..", "vmafgpu.h"), ("..", "include", "vmafgpu", "vmafgpu.h"))]
    header = next(filter(os.path.isfile, headers), None)
    if header is None:
        raise ImportError("vmafgpu.h was not found; set VMAFGPU_HEADER, or install the wheel of `make wheel`")
    with open(header, encoding="utf-8") as file:
        declarations = Declarations(file.read())
    form = {"win32": "libvmafgpu-%d.dll", "darwin": "libvmafgpu.%d.dylib"}.get(sys.platform, "libvmafgpu.so.%d")
    name = form % declarations.abi
    # Without a folder, the system searches for the library.
    path = given or next(filter(os.path.isfile, (os.path.join(folder, name) for folder in folders)), name)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError("%s; run `make shared`, or set VMAFGPU_LIBRARY" % error) from None
    declarations.check(library, path, header)
    return declarations, library, path

declarations, lib, library_path = _load()    # for functions without a method here: lib.vmafgpu_edit_begin(...)
_T, _E = declarations.types, declarations.enums
_MEMORY, _PIXELS = _E["vmafgpu_memory"], _E["vmafgpu_pixels"]

class Error(RuntimeError):
    """A failure that the library reports. `result` is the number of the result and `name` its name."""
    def __init__(self, result: int, message: str) -> None:
        self.result, self.name = result, declarations.results.get(result, "unknown")
        super().__init__(message or self.name)

def __getattr__(name: str) -> Any:
    if name not in ("torch_loss", "torch_score"):
        raise AttributeError("module %s has no attribute %s" % (__name__, name))
    return getattr(importlib.import_module("vmafgpu_torch"), name)    # imports PyTorch

def models() -> List[str]:
    """Returns the names of the built-in models."""
    return [lib.vmafgpu_builtin_model_at(i).contents.name.decode()
            for i in itertools.takewhile(lib.vmafgpu_builtin_model_at, itertools.count())]

# ---- arrays: address, shape and strides, without NumPy ----
# `strides` are in bytes, or None for a packed array. `kind` is as in __array_interface__: "|u1", "<u2", "<f2". `device`
# is ("cpu", 0), ("cuda", ordinal) or ("hip", ordinal). `owner` keeps the memory alive. `stream` fills the array.
View = collections.namedtuple("View", "address shape strides kind device owner stream")

class _Tensor(ctypes.Structure):  # DLTensor of DLPack
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int), ("ordinal", ctypes.c_int), ("ndim", ctypes.c_int),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]

class _Buffer(ctypes.Structure):  # Py_buffer; the other functions of ctypes refuse read-only memory
    _fields_ = [("address", ctypes.c_void_p), ("owner", ctypes.py_object), ("rest", ctypes.c_size_t * 10)]
_HOST = ("cpu", 0)
_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 10: "hip", 11: "cpu", 13: "cuda"}    # numbers of DLPack
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

def view(what: Any, stream: int = 1) -> View:
    """Returns the View of an array. Work that fills an array in GPU memory precedes later work on `stream`."""
    face = getattr(what, "__array_interface__", None)
    if face is not None:
        return View(face["data"][0], face["shape"], face.get("strides"), face["typestr"], _HOST, what, None)
    if isinstance(what, View):
        return what
    is_buffer = isinstance(what, (bytes, bytearray, memoryview))
    if not is_buffer and hasattr(what, "__dlpack__"):
        number, ordinal = what.__dlpack_device__()
        if number not in _DEVICES:
            raise TypeError("array: DLPack device %d is not supported; use the CPU, CUDA or ROCm" % number)
        device = _HOST if _DEVICES[number] == "cpu" else (_DEVICES[number], int(ordinal))
        what = what.detach() if getattr(what, "requires_grad", False) else what
        # A capsule that is not consumed releases the array when the capsule itself is released.
        named = {} if device is _HOST or (device[0] == "hip" and stream == 1) else {"stream": stream}
        capsule = what.__dlpack__(**named)
        tensor = _Tensor.from_address(_capsule_pointer(capsule, b"dltensor"))
        size = tensor.bits // 8
        return View((tensor.data or 0) + tensor.byte_offset, tuple(tensor.shape[:tensor.ndim]),
                    tuple(size * n for n in tensor.strides[:tensor.ndim]) if tensor.strides else None,
                    "<%s%d" % ({0: "i", 1: "u", 2: "f"}.get(tensor.code, "?"), size), device, (what, capsule),
                    stream)
    if not is_buffer and hasattr(what, "__cuda_array_interface__"):
        face, ordinal = what.__cuda_array_interface__, getattr(getattr(what, "device", None), "id", 0)
        return View(face["data"][0], face["shape"], face.get("strides"), face["typestr"], ("cuda", int(ordinal)), what,
                    face.get("stream") or stream)
    try:
        memory, buffer = memoryview(what), _Buffer()
    except TypeError:
        raise TypeError("array: %s has no __array_interface__, __dlpack__, __cuda_array_interface__ or buffer; planes "
                        "must be in a tuple" % type(what).__name__) from None
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(memory), ctypes.byref(buffer), 0x18)  # PyBUF_STRIDES
    address, code = buffer.address or 0, memory.format.lstrip("@=<")
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    kind = "u" if code in "BHIc" else "f" if code in "efd" else "i" if code in "bhi" else "?"
    return View(address, memory.shape, memory.strides, "<%s%d" % (kind, memory.itemsize), _HOST, memory, None)

def _strides(v: View) -> Tuple[int, ...]:
    steps = [int(v.kind[2:])]
    for n in reversed(v.shape[1:]):
        steps.insert(0, steps[0] * n)
    return tuple(steps[:len(v.shape)] if v.strides is None else v.strides)

def _stream_handle(stream: Any) -> int:
    """Returns the handle of a stream of PyTorch, CuPy, Numba or cuda.core, or of a number."""
    for name in ("cuda_stream", "ptr", "handle", "value"):
        stream = getattr(stream, name, stream)
    stream = stream.__cuda_stream__()[1] if hasattr(stream, "__cuda_stream__") else stream or 0
    if not isinstance(stream, int):
        raise TypeError("stream: is not a stream or its handle (%r)" % (stream,))
    return stream or 1      # frameworks call the default stream 0; the library calls it 1

class _Picture:
    """A vmafgpu_frame that describes arrays. Arrays of the same layout as before only change its addresses."""
    def __init__(self, scorer: "Scorer") -> None:
        self.frame = _T["vmafgpu_frame"]()
        self.pointer, self.data, self.pitch = ctypes.pointer(self.frame), self.frame.data, self.frame.pitch
        self.scorer, self.key = scorer, None  # type: Scorer, Any
        self.sources: List[Tuple[int, int, int]] = []      # (index in data, number of the array, offset in bytes)
    def fill(self, what: Any) -> List[View]:
        """Describes an array or a tuple of planes. Returns the arrays that the GPU reads after the call."""
        stream = self.scorer.stream
        views = [view(a, stream) for a in what] if type(what) is tuple else [view(what, stream)]
        key = [v[1:5] for v in views]
        if key != self.key:
            self.key = None
            self.sources, pitches = self.scorer._describe(self.frame, views)
            self.data[:], self.pitch[:] = [None] * 3, (pitches + [0, 0])[:3]
            self.key = key
        for i, n, offset in self.sources:
            self.data[i] = views[n][0] + offset
        return views if self.frame.memory else []

# ---- results ----
@dataclass
class Frame:
    """A scored frame. If the frame failed, `error` is set, and all values are NaN. `map` was an argument of push()."""
    index: int
    score: float                  # of the first model
    values: List[float]           # one per column
    columns: List[str]
    error: Optional[Error]
    map: Any

    @property
    def features(self) -> Dict[str, float]:
        """All columns by name."""
        return dict(zip(self.columns, self.values))

class Result:
    """The scores of a clip.

    result["vmaf"]      the values of a column, one per scored frame: float64 (without NumPy, an array.array)
    result.columns      the names of all columns; result.models: those of model scores; result.indices: of frames
    result.pool(how)    one value for the clip: "mean", "harmonic_mean", "min", "max", "median", or "p5" (a percentile)
    result.mean         the mean of the first model or, without a model, of the first column
    result.aggregates   values of the whole clip, such as apsnr_y"""
    def __init__(self, scorer: "Scorer") -> None:
        self.columns, self.models, self.indices = list(scorer.columns), list(scorer.models), array.array("q")
        self.backend, self.device, self.note = scorer.backend, scorer.device, scorer.note
        v, n, row, value = scorer._v, len(self.columns), _T["vmafgpu_score"](), ctypes.c_double()
        count, step = lib.vmafgpu_score_count(v), scorer.config.subsample or 1
        self._rows, self._first = (ctypes.c_double * (n * count))(), (self.models + self.columns)[0]
        for i in range(0 if scorer.config.discard_scores else count):
            scorer._check(lib.vmafgpu_score_at(v, i * step, row))
            ctypes.memmove(ctypes.addressof(self._rows) + 8 * n * i, row.values, 8 * n)
            self.indices.append(row.index)
        self._means = dict.fromkeys(self.columns, float("nan"))
        for i, column in enumerate(self.columns if count else []):
            scorer._check(lib.vmafgpu_pool(v, i, 0, value))
            self._means[column] = value.value
        self.mean, self.aggregates = self._means[self._first], {}  # type: float, Dict[str, float]
        for i in range(lib.vmafgpu_aggregate_count(v) if count else 0):
            scorer._check(lib.vmafgpu_aggregate(v, i, value))
            self.aggregates[lib.vmafgpu_aggregate_name(v, i).decode()] = value.value
    def __len__(self) -> int:
        return len(self.indices)
    def __getitem__(self, column: str) -> Any:
        values = array.array("d", self._column(column))
        try:
            return importlib.import_module("numpy").array(values)
        except ImportError:
            return values
    def _column(self, column: str) -> List[float]:
        if column not in self.columns:
            raise KeyError("%s: is not a column; the columns are %s" % (column, ", ".join(self.columns)))
        return list(self._rows[self.columns.index(column)::len(self.columns)])
    def pool(self, how: str = "mean", column: Optional[str] = None) -> float:
        """Pools a column (default: the first model) over all frames, with the bits of the C functions."""
        values, total = self._column(column or self._first), 0.0
        if how == "mean":
            return self._means[column or self._first]
        if how == "harmonic_mean":
            for value in values:      # not sum(), whose rounding depends on the version of Python
                total += 1 / (value + 1)
            return len(values) / total - 1
        try:
            p = {"min": 0.0, "median": 50.0, "max": 100.0}.get(how, -1.0) if how[:1] != "p" else float(how[1:])
            rank = abs(p) / 100 * (len(values) - 1)
            below, values = int(rank), sorted(values) if 0 <= p <= 100 else []
            return values[below] + (values[min(below + 1, len(values) - 1)] - values[below]) * (rank - below)
        except (ValueError, IndexError):
            raise ValueError("pool: method is unknown (%s), or there are no scores" % how) from None
    def __repr__(self) -> str:
        means = ", ".join("%s %.6f" % (m, self._means[m]) for m in self.models or self.columns)
        return "<vmafgpu.Result of %d frames: %s, %s %s>" % (len(self), means, self.backend, self.device)

# ---- scoring ----
_forks: List[int] = []            # grows in the child of a fork, which cannot use the GPU and the threads of its parent
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _forks.append(1))

class _Guard:
    """Held while a Scorer is in a call. Refuses closed Scorers, forked processes, and two calls at the same time."""
    def __init__(self) -> None:
        self.lock, self.is_open, self.forks = threading.Lock(), True, len(_forks)
    def __enter__(self) -> None:
        if len(_forks) != self.forks or not self.is_open:
            raise Error(-3, "the Scorer is closed" if not self.is_open else
                        "the Scorer was opened before the fork; open another one in this process")
        if not self.lock.acquire(False):
            raise Error(-3, "the Scorer is in use by another thread, or by the caller of this callback")
    def __exit__(self, *exception: Any) -> None:
        self.lock.release()

class Scorer:
    """Scores a clip, pair by pair. Use it in a `with` statement, or call close().

    width, height   size of luma in pixels
    models          "vmaf_v0.6.1" (default), a list of names, or {column: name}. A name is that of a built-in model or
                    the path of a .json file; {"version": name, "enable_transform": 1} sets more fields of
                    vmafgpu_model_config
    features        "psnr", a list of names, or {name: options}; options are a string or a dict
    stream          the stream that fills arrays in GPU memory, unless they name it; default: the default stream
    pixels          "bgra8" if RGB frames with four components have this order

    All other keywords are fields of vmafgpu_config in vmafgpu.h, with the same names and defaults. Enumerators are
    strings: chroma="422", backend="cuda". gpu={"device": 1} and colour={...} set fields of the struct in the field.
    on_score(Frame), on_heatmap(path, index, scale, samples), on_reusable(pairs), on_log(level, message) and
    parallel_for(count, task) are functions.
    Arrays in host memory can change as soon as a call returns. Arrays in GPU memory must not change until wait() has
    returned, or before work on a stream that was passed to stream_wait(); the Scorer keeps them alive until then. One
    thread at a time can use a Scorer. The library releases the global interpreter lock."""
    def __init__(self, width: int, height: int, *, models: Any = None, features: Any = None, stream: Any = None,
                 pixels: Optional[str] = None, **fields: Any) -> None:
        self._v: Any = None
        self._raised, self._guard = None, _Guard()  # type: Any, _Guard
        self._parsed, self._borrowed, self._maps = [], collections.deque(), {}  # type: List[Any], Any, Dict[int, Any]
        self._pushed, self._ended, self._pixels = 0, False, pixels
        self.stream = 1 if stream is None else _stream_handle(stream)
        self._given = config = _T["vmafgpu_config"]()      # keeps the callbacks alive
        v = ctypes.POINTER(_T["vmafgpu"])()
        fields.update(width=width, height=height, on_log=fields.get("on_log") or (     # failures are raised, too
            lambda level, message: log.log((logging.DEBUG, logging.WARNING, logging.INFO)[level], "%s", message)))
        try:
            for name, value in fields.items():
                self._set(config, name, value)
            self._set_models(config, _items(models))
            for at, (key, item) in zip(self._array(config, "feature", _items(features)), _items(features)):
                self._set(at, "name", key or item)
                self._set(at, "options", item if key else None)
            result = lib.vmafgpu_open(v, config)
            if result < 0:
                error = Error(result, lib.vmafgpu_last_error(v or None).decode())
                lib.vmafgpu_close(v)
                raise self._raised or error
        finally:
            for model in self._parsed:
                lib.vmafgpu_model_release(model)
        self._v, self._score = v, _T["vmafgpu_score"]()
        self.config = _T["vmafgpu_config"].from_buffer_copy(lib.vmafgpu_get_config(v).contents)   # with all defaults
        self.columns = [lib.vmafgpu_column_name(v, i).decode() for i in range(lib.vmafgpu_column_count(v))]
        outputs = itertools.takewhile(lambda i: i >= 0, (lib.vmafgpu_model_column(v, m) for m in itertools.count()))
        self.models = [self.columns[i] for i in outputs]
        self._reference, self._distorted = _Picture(self), _Picture(self)
        across, down = ctypes.c_int(), ctypes.c_int()
        lib.vmafgpu_map_blocks(v, across, down)
        self.map_shape = (down.value, across.value)

    # ---- from Python values to the config ----
    def _set(self, target: Any, name: str, value: Any) -> None:
        base = declarations.fields[type(target).__name__].get(name)
        if base is None:
            raise TypeError("%s: is not a field of %s" % (name, type(target).__name__))
        field = getattr(target, name)
        if value is None:
            return
        if name == "options" and isinstance(value, dict):
            value = ":".join("%s=%s" % (k, str(v).lower() if isinstance(v, bool) else v) for k, v in value.items())
        if isinstance(field, ctypes.Structure) and isinstance(value, dict):
            for inner, item in value.items():
                self._set(field, inner, item)
            return
        if base in _E and (isinstance(value, str) or str(value) in _E[base]):
            if str(value).lower() not in _E[base]:
                raise ValueError("%s: unknown value (%s); use %s" % (name, value, ", ".join(_E[base])))
            value = _E[base][str(value).lower()]
        elif callable(value):
            value = type(field)(self._adapter(name, value))
        elif name == "kernels":
            target.kernels_size, value = len(value), ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p)
        elif name == "devices":
            target.device_count, value = len(value), (ctypes.c_int * len(value))(*value)
        try:    # ctypes would take an integer for the address of a string
            setattr(target, name, os.fsencode(value) if base == "char" else value)
        except TypeError as error:
            raise TypeError("%s: %s (%r)" % (name, error, value)) from None
        if isinstance(value, int) and value and getattr(target, name) != value:
            raise ValueError("%s: is out of range (%d)" % (name, value))

    @staticmethod
    def _array(config: Any, what: str, items: List[Any]) -> Any:
        """Sets config.models or config.features to a new array of this length."""
        elements = (_T["vmafgpu_%s_config" % what] * len(items))()
        setattr(config, what + "s", elements if items else None)
        setattr(config, what + "_count", len(items))
        return elements

    def _set_models(self, config: Any, items: List[Tuple[Optional[str], Any]]) -> None:
        for at, (column, what) in zip(self._array(config, "model", items), items):
            model = dict(what) if isinstance(what, dict) else {"version": os.fspath(what)}
            version = model.get("version", "")
            name = column or (re.sub(r"\.json$", "", os.path.basename(version)) if len(items) > 1 else None)
            if version.endswith(".json"):
                with open(model.pop("version"), "rb") as file:
                    text = file.read()
                parsed, message = ctypes.POINTER(_T["vmafgpu_model"])(), ctypes.create_string_buffer(512)
                result = lib.vmafgpu_model_parse(parsed, (name or "vmaf").encode(), text, len(text), None, message, 512)
                if result < 0:
                    raise Error(result, "%s: %s" % (version, message.value.decode()))
                self._parsed.append(parsed)
                at.model = parsed
            for field, value in dict({"name": name}, **model).items():
                self._set(at, field, value)
    def _adapter(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a Python function as a callback. The method that called the library raises its exceptions again."""
        def heatmap(user: Any, at: Any) -> None:
            m = at.contents
            samples = memoryview(ctypes.string_at(m.samples, 2 * m.width * m.height))
            function(m.path.decode(), m.index, m.scale, samples.cast("H", (m.height, m.width)))
        adapters: Dict[str, Callable[..., Any]] = {
            "on_log": lambda user, level, message: function(level, message.decode()), "on_heatmap": heatmap,
            "on_score": lambda user, score: function(self._frame(score.contents)),
            "on_reusable": lambda user, pairs: function(pairs),
            "parallel_for": lambda user, count, task, arg: function(count, lambda i: task(arg, i))}
        def call(*arguments: Any) -> Any:
            try:
                return adapters.get(name, function)(*arguments)
            except BaseException as error:
                self._raised = self._raised or error
        return call

    # ---- from arrays to frames ----
    def _describe(self, frame: Any, views: List[View]) -> Tuple[List[Tuple[int, int, int]], List[int]]:
        """Sets the format of a frame. Returns the sources of data[], see _Picture, and the pitches."""
        c, first, size, base = self.config, views[0], int(views[0].kind[2:]), 1 << 20
        for v in views:
            if v.device != first.device:
                raise ValueError("frame: planes are on different devices (%s:%d and %s:%d)" % (first.device + v.device))
            if v.kind[0] == ">" and v.kind[2:] != "1":
                raise TypeError("frame: samples must be little-endian (%s)" % v.kind)
        frame.memory, frame.pixels = _MEMORY["host" if first.device[0] == "cpu" else "device"], 0
        if len(views) == 1 and len(first.shape) == 1:
            expected = lib.vmafgpu_frame_size(c, 0)
            if first.kind[1] not in "ui" or _strides(first) != (size,) or first.shape[0] * size != expected:
                raise ValueError("frame: a complete frame has %d bytes, not %d %s" % (expected, *first.shape, v.kind))
            whole = lib.vmafgpu_frame_of(c, base, 0)
            return [(i, 0, at - base) for i, at in enumerate(whole.data) if at], list(whole.pitch)
        if len(views) == 1 and len(first.shape) == 3:
            return self._describe_pixels(frame, first, _strides(first), size)  # type: ignore[no-any-return]
        if len(views) > (1 if c.chroma == 1 else 2 if c.layout else 3):
            raise ValueError("frame: there are too many planes (%d)" % len(views))
        across, down, size = int(c.chroma in (0, 2)), int(c.chroma == 0), c.bytes_per_sample
        for i, v in enumerate(views):
            shape, steps, expected = v.shape, _strides(v), (c.height, c.width)
            if i:
                expected = ((c.height + down) >> down, ((c.width + across) >> across) * (2 if c.layout else 1))
            if i and c.layout and len(shape) == 3 and shape[2] == 2 and steps[1:] == (2 * size, size):
                shape, steps = (shape[0], 2 * shape[1]), (steps[0], size)
            if shape != expected:
                raise ValueError("frame: plane %d must have the shape %s, not %s" % (i, expected, shape))
            if v.kind[1] not in "ui" or int(v.kind[2:]) != size:
                raise TypeError("frame: plane %d must contain samples of type uint%d, not %s" % (i, 8 * size, v.kind))
            if steps[1] != size or not steps[0]:
                raise ValueError("frame: samples in a row of plane %d must be contiguous, and rows must not repeat "
                                 "(strides: %s bytes); make a copy" % (i, steps))
        return [(i, i, 0) for i in range(len(views))], [_strides(v)[0] for v in views]
    def _describe_pixels(self, frame: Any, v: View, steps: Tuple[int, ...], size: int) -> Any:
        height, width, shape, sources = self.config.height, self.config.width, v.shape, [(0, 0, 0)]
        if shape[1:] == (height, width) and shape[0] in (3, 4):
            shape, steps = (height, width, shape[0]), (steps[1], steps[2], steps[0])
        if shape[:2] != (height, width):
            raise ValueError("frame: RGB must have the shape (%d, %d, 3 or 4) or (3, %d, %d), not %s"
                             % (height, width, height, width, v.shape))
        names = {("u1", 3): "rgb24", ("u1", 4): self._pixels or "rgba8", ("f2", 4): "rgba16f"}
        name = names.get((v.kind[1:], shape[2]), "")
        if steps[2] != size or steps[1] != size * shape[2]:
            name = "rgb8_planar" if name in ("rgb24", "rgba8") and steps[1] == 1 else ""
            sources = [(i, 0, i * steps[2]) for i in range(3)]
        if name not in _PIXELS or not steps[0]:
            raise TypeError("frame: RGB must be packed pixels or planes of uint8, or float16 of 4 components, not %s "
                            "of shape %s with strides of %s bytes; make a copy" % (v.kind, v.shape, _strides(v)))
        frame.pixels = _PIXELS[name]
        return sources, [steps[0]]

    # ---- calls ----
    def _check(self, result: int) -> int:
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
        if result < 0:
            raise Error(result, lib.vmafgpu_last_error(self._v).decode())
        return result
    def _call(self, function: Any, *arguments: Any) -> None:
        with self._guard:
            self._check(function(self._v, *arguments))
    def push(self, reference: Any, distorted: Any, map: Any = None) -> List[Frame]:
        """Scores the next pair, and returns the frames whose scores have become ready since the last call. `map` is a
        float32 array of map_shape that receives the loss of each block; it requires map_block_size and live."""
        return self.try_push(reference, distorted, map, lib.vmafgpu_push) or []
    def try_push(self, reference: Any, distorted: Any, map: Any = None, function: Any = None) -> Optional[List[Frame]]:
        """Like push(), but if the queue of the GPU is full, skips the pair and returns None instead of waiting."""
        with self._guard:
            borrowed = self._reference.fill(reference) + self._distorted.fill(distorted)
            self._await(borrowed)
            if map is not None:
                self._request(map)
            result = (function or lib.vmafgpu_try_push)(self._v, self._reference.pointer, self._distorted.pointer)
            self._pushed += result == 0
            if borrowed and result == 0:
                self._borrow(self._pushed, borrowed)
            if (result or self._raised is not None) and self._check(result) > 0:
                return None
            return self._ready()
    def _await(self, views: List[View]) -> None:
        """Makes later work of the library wait for the streams that fill arrays. Several GPUs do not support this."""
        for stream in {v.stream for v in views if not self.config.gpu.device_count}:
            self._check(lib.vmafgpu_after_stream(self._v, None if stream == 1 else stream))
    def _borrow(self, pairs: int, what: Any) -> None:
        """Keeps arrays in GPU memory alive until the library does not use them any more."""
        self._borrowed.append((pairs, what))
        while self._borrowed and self._borrowed[0][0] <= lib.vmafgpu_reusable_count(self._v):
            self._borrowed.popleft()
    def _request(self, map: Any) -> None:
        v, shape = view(map, self.stream), self.map_shape
        if v.kind[1:] != "f4" or v.shape != shape or _strides(v) != (4 * shape[1], 4):
            raise ValueError("map: must be packed float32 of shape %s, not %s of shape %s" % (shape, v.kind, v.shape))
        memory = _MEMORY["host" if v.device[0] == "cpu" else "device"]
        self._check(lib.vmafgpu_request_map(self._v, ctypes.cast(v.address, ctypes.POINTER(ctypes.c_float)), memory))
        self._maps[self._pushed] = map
    def clip(self, reference: Any, distorted: Any) -> None:
        """Scores all frames of two arrays that have one dimension more than a frame, or of two tuples of such arrays.
        result() returns the scores."""
        sides = [[view(a, self.stream) for a in (clip if type(clip) is tuple else (clip,))]
                 for clip in (reference, distorted)]
        counts = {v.shape[0] if len(v.shape) > 1 else -1 for side in sides for v in side}
        if len(counts) != 1 or -1 in counts:
            raise ValueError("clip: the arrays must have the shape (frames, ...) with equal numbers of frames, not %s"
                             % ", ".join(str(v.shape) for side in sides for v in side))
        with self._guard:
            moving, borrowed = [], []  # type: List[Tuple[Any, int, int, int]], List[View]
            for picture, side in zip((self._reference, self._distorted), sides):
                first = tuple(v._replace(shape=v.shape[1:], strides=_strides(v)[1:]) for v in side)
                borrowed += picture.fill(first)
                moving += [(picture.data, i, side[n].address + at, _strides(side[n])[0])
                           for i, n, at in picture.sources]
            push, r, d, v = lib.vmafgpu_push, self._reference.pointer, self._distorted.pointer, self._v
            count = counts.pop()
            if borrowed:
                self._await(borrowed)
                self._borrow(self._pushed + count, borrowed)
            for frame in range(count):
                for data, i, address, step in moving:
                    data[i] = address + frame * step
                result = push(v, r, d)
                self._pushed += result == 0
                if result or self._raised is not None:
                    self._check(result)
    def _frame(self, s: Any, message: str = "") -> Frame:
        error = Error(s.result, message or lib.vmafgpu_result_message(s.result).decode()) if s.result < 0 else None
        values = s.values[:len(self.columns)] if s.values else [float("nan")] * len(self.columns)
        return Frame(s.index, s.score, values, self.columns, error, self._maps.pop(s.index, None))
    def _ready(self) -> List[Frame]:
        frames, s, v, next_score = [], self._score, self._v, lib.vmafgpu_next_score  # type: List[Frame], Any, Any, Any
        while True:
            s.result = 0
            result = next_score(v, s)
            if result > 0 and self._raised is None:
                return frames
            failed = result < 0 and s.result == result    # otherwise the call itself failed
            if not failed:
                self._check(result)
            frames.append(self._frame(s, lib.vmafgpu_last_error(v).decode() if failed else ""))

    def ready(self) -> List[Frame]:
        """Returns the frames whose scores have become ready since the last call; never waits."""
        with self._guard:
            return self._ready()
    def result(self) -> Result:
        """Ends the clip, waits for all scores, and returns them. Raises the Error of the first frame that failed."""
        if not self._ended:
            self._ended = True
            self._call(lib.vmafgpu_flush)
            self._borrowed.clear()
        with self._guard:
            return Result(self)
    def reset(self) -> None:
        """Discards all frames and scores; the next pair starts a new clip."""
        self._call(lib.vmafgpu_reset)
        self._pushed, self._ended = 0, False
        self._borrowed.clear()
        self._maps.clear()
    def wait(self, pairs: int = -1) -> None:
        """Waits until the arrays of the first `pairs` pairs (-1: of all) in GPU memory are no longer in use."""
        self._call(lib.vmafgpu_wait, pairs)
    def stream_wait(self, stream: Any, pairs: int = -1) -> None:
        """Makes later work on a stream wait until these arrays are no longer in use."""
        self._call(lib.vmafgpu_stream_wait, None if _stream_handle(stream) == 1 else _stream_handle(stream), pairs)

    backend = property(lambda self: lib.vmafgpu_backend_name(self._v).decode(), doc='"cpu", "cuda" or "hip"')
    device = property(lambda self: (lib.vmafgpu_device_name(self._v) or lib.vmafgpu_instruction_set(self._v)).decode())
    note = property(lambda self: lib.vmafgpu_backend_note(self._v).decode(), doc="why no GPU is used")
    def close(self) -> None:
        """Waits for the GPU and frees everything. Later calls raise an Error."""
        v, self._v, self._guard.is_open = self._v, None, False
        if v and len(_forks) == self._guard.forks:
            lib.vmafgpu_close(v)
        self._borrowed.clear()
    def __enter__(self) -> "Scorer":
        return self
    def __exit__(self, *exception: Any) -> None:
        self.close()
    def __del__(self) -> None:
        if getattr(self, "_v", None):
            self.close()

def _items(wanted: Any) -> List[Tuple[Optional[str], Any]]:
    """Returns (None, item) for a single item or the items of a list, and (name, item) for those of a dict."""
    if isinstance(wanted, (str, os.PathLike)) or (isinstance(wanted, dict) and "version" in wanted):
        return [(None, wanted)]
    return list(wanted.items()) if isinstance(wanted, dict) else [(None, item) for item in wanted or []]

def score(reference: Any, distorted: Any, **options: Any) -> Result:
    """Scores two clips and returns the Result. A clip is an array of shape (frames, height, width), (frames, height,
    width, 3 or 4) or (frames, 3, height, width), a tuple of planes of shape (frames, height, width), a single frame, or
    any iterable of frames. Width, height and device are those of the first frame; `options` are those of Scorer."""
    shapes = [tuple(getattr(c[0] if type(c) is tuple else c, "shape", ())) for c in (reference, distorted)]
    # With three dimensions, a single frame has its components first or last.
    single = all(len(n) == 2 or (len(n) == 3 and (n[2] < 5 or (n[0] == 3 and "colour" in options))) for n in shapes)
    whole = not single and all(len(n) > 2 for n in shapes)
    pairs: Iterator[Any] = iter([(reference, distorted)])
    if not single and not whole:
        pairs = itertools.zip_longest(reference, distorted)
    pair = next(pairs, None)
    if pair is None:
        raise ValueError("score: the clips contain no frames")
    first = view(pair[0][0] if type(pair[0]) is tuple else pair[0])
    shape = first.shape[1:] if whole else first.shape
    if "width" not in options and len(shape) > 1:
        options["height"], options["width"] = shape[-2:] if len(shape) == 2 or shape[2] > 4 else shape[:2]
    elif "width" not in options or "height" not in options:
        raise ValueError("score: set width and height, which the first frame does not show")
    if first.kind[1:] in ("u2", "i2") and "bit_depth" not in options:
        raise ValueError("score: samples have 16 bits; set bit_depth to the number of bits in use (9 to 16)")
    if first.device[0] != "cpu":
        options.setdefault("backend", first.device[0])
        options["gpu"] = dict({"device": first.device[1], "frame_memory": "device"}, **options.get("gpu", {}))
    with Scorer(**options) as scorer:
        for r, d in itertools.chain([pair], pairs):
            if r is None or d is None:
                raise ValueError("score: the clips have different numbers of frames")
            (scorer.clip if whole else scorer.push)(r, d)
        return scorer.result()
