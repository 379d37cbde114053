# Copyright (c) 2026 the vmafgpu authors
# SPDX-License-Identifier: BSD-2-Clause-Patent
"""VMAF as a loss in PyTorch. The forward pass computes exact scores. The backward pass uses their slopes.

    import vmafgpu
    loss = vmafgpu.torch_loss(reference, distorted)     # 100 minus the mean score; a scalar of type float64
    loss.backward()                                     # distorted.grad
    scores = vmafgpu.torch_score(reference, distorted)  # one score per picture

Both functions take luma of shape (height, width), (pictures, height, width) or (pictures, 1, height, width), on the CPU
or a GPU. `reference` and `distorted` must have the same shape and be on the same device. Floats are code values divided
by 2 ** bit_depth - 1, so the full range is 0..1. Integers are code values. Their type must be uint8 if bit_depth is 8,
otherwise int16 or uint16.

    bit_depth   number of bits of a code value, 8 to 16; default: 8
    is_clip     True: the pictures are consecutive frames of a clip, and motion is computed between them. False (the
                default): the pictures are independent, and motion is 0
    model       name or path of a model that uses only adm, vif and motion; default: "vmaf_v0.6.1"
    threads     number of CPU threads; default: the number of threads of PyTorch

Floats are clamped and rounded to code values before they are scored. The gradient ignores both (straight-through), so
it can be nonzero for values outside 0..1. The gradient is the derivative of the prediction before clip and transform,
so it can be nonzero at a score of 100. Slopes describe small, structured changes, and a higher score is not always a
better picture; see SLOPES in the manual in vmafgpu.h. The reference gets no gradient.

Tensors in GPU memory stay there. The library waits for the work that is queued on the current stream of PyTorch. The
functions return when the scores and the slopes are complete. Several pictures take less time in one call than in
separate calls: a GPU processes up to 32 small pictures, or 8 pictures of 1920x1080, at the same time, or fewer if its
memory is short.
"""
import collections
import ctypes
import logging
import math
import os
import re
import threading
from typing import Any, List, Optional, Tuple

import torch

import vmafgpu

__all__ = ["torch_loss", "torch_score"]
_CONTEXTS = 8                       # number of contexts that are kept for later calls
_MOST_PICTURES = 32                 # maximum number of pictures that a GPU processes at the same time
_MOST_SAMPLES = 2 * 3840 * 2160     # maximum number of samples of these pictures; about 30 bytes of GPU memory each
_FLOATS = ctypes.POINTER(ctypes.c_float)

class _Context:
    """A context of the library. Scores batches of pictures and computes their slopes."""
    def __init__(self, shape: Tuple[int, int], device: Tuple[str, int], bit_depth: int, model: Any, threads: int,
                 is_clip: bool, **gpu: Any) -> None:
        self.is_on_gpu = device[0] != "cpu"
        options: Any = {"gpu": dict(gpu, device=device[1], frame_memory="device")} if self.is_on_gpu else {}
        entry = dict(model) if isinstance(model, dict) else {"version": os.fspath(model)}
        if not is_clip:
            entry["options"] = _without_motion(entry.get("options"))
        self.scorer = vmafgpu.Scorer(shape[1], shape[0], models=[entry], chroma="400", bit_depth=bit_depth,
                                     backend=device[0], threads=threads, slopes=1, live=not is_clip, on_log=_log,
                                     **options)
        self.memory = vmafgpu._MEMORY["device" if self.is_on_gpu else "host"]
        row = shape[1] * (1 if bit_depth == 8 else 2)
        self.pair = [vmafgpu._T["vmafgpu_frame"](pitch=(row, 0, 0), memory=self.memory) for _ in range(2)]
        self.picture, self.plane = row * shape[0], 4 * shape[0] * shape[1]      # sizes in bytes

    def score(self, reference: int, distorted: int, count: int, slopes: int, stream: int) -> List[float]:
        """Returns the scores of `count` pairs of pictures, and writes their slopes. `reference`, `distorted` and
        `slopes` are addresses of packed memory. If `slopes` is 0, no slopes are computed. The GPU first finishes the
        work that is queued on `stream`."""
        lib, v, check, (r, d), scores = vmafgpu.lib, self.scorer._v, self.scorer._check, self.pair, []
        with self.scorer._guard:
            try:
                if self.is_on_gpu:
                    check(lib.vmafgpu_after_stream(v, stream or None))
                for n in range(count):
                    if slopes:
                        to = ctypes.cast(slopes + n * self.plane, _FLOATS)
                        check(lib.vmafgpu_slopes_next(v, to, 0, self.memory))
                    r.data[0], d.data[0] = reference + n * self.picture, distorted + n * self.picture
                    check(lib.vmafgpu_push(v, r, d))
                lib.vmafgpu_flush(v)        # fails if a picture has no score
                score = vmafgpu._T["vmafgpu_score"]()
                for n in range(count):
                    result = lib.vmafgpu_next_score(v, score)
                    if result:
                        raise vmafgpu.Error(result, re.sub("^frame ", "picture ", lib.vmafgpu_last_error(v).decode()))
                    scores.append(score.score)
            finally:
                lib.vmafgpu_reset(v)        # also waits for the GPU if a call has failed
        return scores

def _without_motion(options: Any) -> Any:
    """Adds an option that makes motion 0 to the options of a model."""
    if isinstance(options, dict):
        return dict(options, **{"motion.motion_force_zero": True})
    return ":".join(filter(None, [options, "motion.motion_force_zero=true"]))

def _log(level: int, message: str) -> None:
    if "motion_force_zero" not in message:      # a model without motion does not use this option
        vmafgpu.log.log((logging.DEBUG, logging.WARNING, logging.INFO)[level], "%s", message)

_contexts: "collections.OrderedDict[Any, _Context]" = collections.OrderedDict()
_lock = threading.Lock()

def _open(batch: int, *arguments: Any) -> _Context:
    """Opens a context. If memory is short, first releases memory that is only kept for later calls, and then tries
    smaller batches."""
    is_released = False
    while True:
        try:
            return _Context(*arguments, batch=batch)
        except vmafgpu.Error as error:
            if "out of memory" not in str(error) or (is_released and batch <= 1):
                raise
        if is_released:
            batch //= 2
        with _lock:
            _contexts.clear()
        torch.cuda.empty_cache()
        is_released = True

def _context(shape: Tuple[int, int], device: Tuple[str, int], bit_depth: int, model: Any, threads: int,
             is_clip: bool, count: int) -> _Context:
    """Returns a context for `count` pictures that only this thread uses. On a GPU, the context processes 1, 2, 4, 8, 16
    or 32 pictures at the same time, so that there are few contexts for different numbers of pictures. At most _CONTEXTS
    contexts are kept. The least recently used ones are dropped, and closed when no thread uses them."""
    most = max(1, min(count, _MOST_PICTURES, _MOST_SAMPLES // (shape[0] * shape[1])))
    batch = 1 << most.bit_length() - 1 if device[0] != "cpu" else 0
    key = (shape, device, bit_depth, repr(model), threads, is_clip, batch, threading.get_ident(), len(vmafgpu._forks))
    with _lock:
        context = _contexts.pop(key, None)
    if context is None:
        context = _open(batch, shape, device, bit_depth, model, threads, is_clip)
    with _lock:
        _contexts[key] = context
        while len(_contexts) > _CONTEXTS:
            _contexts.popitem(last=False)
    return context

def _code_values(sides: torch.Tensor, bit_depth: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """Converts references, distorted pictures, or both. `sides` has the shape (sides, pictures, height, width). Returns
    packed code values of type uint8 or int16, and a number per side, which is finite if all floats of the side are
    finite."""
    kept, most = torch.uint8 if bit_depth == 8 else torch.int16, 2 ** bit_depth - 1
    if not sides.is_floating_point():
        return (sides if sides.dtype == kept else sides.view(kept)).contiguous(), torch.zeros(len(sides))
    wide = sides if sides.dtype == torch.float64 else sides.float()
    if sides.is_cuda:
        largest = torch.linalg.vector_norm(wide, math.inf, (1, 2, 3))
    else:       # on the CPU, vector_norm() takes many times as long
        largest = torch.stack([torch.stack(torch.aminmax(side)).abs().amax() for side in wide])
    whole = (wide * most).clamp_(0, most).round_()
    return (whole.to(torch.int32) if bit_depth == 16 else whole).to(kept).contiguous(), largest

def _check_type(name: str, side: torch.Tensor, bit_depth: int) -> None:
    kept = (torch.uint8,) if bit_depth == 8 else (torch.int16, getattr(torch, "uint16", torch.int16))
    if not side.is_floating_point() and side.dtype not in kept:
        raise TypeError("%s: must have a floating-point type or, with bit_depth=%d, the type %s, not %s"
                        % (name, bit_depth, "uint8" if bit_depth == 8 else "int16 or uint16", side.dtype))

def _device(tensor: torch.Tensor) -> Tuple[str, int]:
    kind = tensor.device.type
    if kind == "cpu":
        return "cpu", 0
    if kind != "cuda":
        raise TypeError("distorted: device %s is not supported; use the CPU, CUDA or ROCm" % tensor.device)
    return ("hip" if torch.version.hip else "cuda"), tensor.device.index or 0

def _measure(reference: torch.Tensor, distorted: torch.Tensor, bit_depth: int, is_clip: bool, model: Any,
             threads: int, needs_slopes: bool) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """Returns the scores, on the CPU, and the slopes, on the device of the pictures. `reference` and `distorted` have
    the shape (pictures, height, width)."""
    count, height, width = distorted.shape
    device = _device(distorted)
    context = _context((height, width), device, bit_depth, model, threads or torch.get_num_threads(), is_clip, count)
    names, sides = ("reference", "distorted"), (reference, distorted)
    for name, side in zip(names, sides):
        _check_type(name, side, bit_depth)
    if device[0] != "cpu" and distorted.is_floating_point() and reference.dtype == distorted.dtype:
        groups = [torch.stack(sides)]       # half as many operations: launching them takes most of the time
    else:
        groups = [side[None] for side in sides]
    codes, largest = zip(*(_code_values(group, bit_depth) for group in groups))
    r, d = (group.data_ptr() + k * count * context.picture for group in codes for k in range(len(group)))
    slopes = torch.empty(distorted.shape, dtype=torch.float32, device=distorted.device) if needs_slopes else None
    stream = 0 if device[0] == "cpu" else torch.cuda.current_stream(distorted.device).cuda_stream
    scores = context.score(r, d, count, 0 if slopes is None else slopes.data_ptr(), stream)
    for name, value in zip(names, (value for group in largest for value in group.tolist())):
        if not math.isfinite(value):
            raise ValueError("%s: contains values that are not finite" % name)
    return torch.tensor(scores, dtype=torch.float64), slopes

class _Score(torch.autograd.Function):
    """Computes the scores. If `is_loss` is set, computes 100 minus their mean instead."""
    @staticmethod
    def forward(ctx: Any, reference: torch.Tensor, distorted: torch.Tensor, is_loss: bool, bit_depth: int,
                is_clip: bool, model: Any, threads: int) -> torch.Tensor:
        flat = (-1,) + distorted.shape[-2:]
        scores, slopes = _measure(reference.reshape(flat), distorted.reshape(flat), bit_depth, is_clip, model, threads,
                                  ctx.needs_input_grad[1])
        ctx.save_for_backward(*([] if slopes is None else [slopes]))
        ctx.count, ctx.scale = len(scores) if is_loss else 0, 2 ** bit_depth - 1
        ctx.type, ctx.shape = distorted.dtype, distorted.shape
        if is_loss:
            return torch.full((), 100 - scores.mean().item(), dtype=torch.float64, device=distorted.device)
        return scores.to(distorted.device, non_blocking=True)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_output: torch.Tensor) -> Any:
        slopes, = ctx.saved_tensors
        if not ctx.count:
            by_score = (by_output[:, None, None] * ctx.scale).to(slopes.dtype)
        elif ctx.count & (ctx.count - 1):
            by_score = by_output / -ctx.count * ctx.scale
        else:       # the quotient is exact, so one operation gives the same bits
            by_score = by_output * (-ctx.scale / ctx.count)
        by_sample = slopes * by_score       # of type float32: a tensor without dimensions does not change the type
        return None, by_sample.to(ctx.type).view(ctx.shape), None, None, None, None, None

def _apply(reference: torch.Tensor, distorted: torch.Tensor, is_loss: bool, bit_depth: int = 8, is_clip: bool = False,
           model: Any = "vmaf_v0.6.1", threads: int = 0) -> torch.Tensor:
    if reference.shape != distorted.shape or reference.device != distorted.device:
        raise ValueError("distorted: must have the shape and the device of the reference, %s on %s, not %s on %s"
                         % (tuple(reference.shape), reference.device, tuple(distorted.shape), distorted.device))
    shape = tuple(distorted.shape)
    if not 2 <= len(shape) <= 4 or (len(shape) == 4 and shape[1] != 1) or 0 in shape:
        raise ValueError("distorted: must be luma of shape (height, width), (pictures, height, width) or "
                         "(pictures, 1, height, width), not %s" % (shape,))
    if not 8 <= bit_depth <= 16:
        raise ValueError("bit_depth: must be 8 to 16, not %s" % bit_depth)
    apply, compiler = _Score.apply, getattr(torch, "compiler", None)  # type: Any, Any
    if compiler and compiler.is_compiling():        # torch.compile() cannot trace calls of the library
        apply = compiler.disable(apply)
    result: torch.Tensor = apply(reference, distorted, is_loss, bit_depth, bool(is_clip), model, threads)
    return result

def torch_score(reference: torch.Tensor, distorted: torch.Tensor, *, bit_depth: int = 8, is_clip: bool = False,
                model: Any = "vmaf_v0.6.1", threads: int = 0) -> torch.Tensor:
    """Returns one score per picture, of type float64, with the bits of the library. The docstring of the module
    vmafgpu_torch describes the arguments."""
    return _apply(reference, distorted, False, bit_depth, is_clip, model, threads)

def torch_loss(reference: torch.Tensor, distorted: torch.Tensor, *, bit_depth: int = 8, is_clip: bool = False,
               model: Any = "vmaf_v0.6.1", threads: int = 0) -> torch.Tensor:
    """Returns 100 minus the mean score, for optimisers that minimise. The mean is computed on the CPU."""
    return _apply(reference, distorted, True, bit_depth, is_clip, model, threads)
