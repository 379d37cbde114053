# Copyright (c) 2026 the vmafgpu authors
# SPDX-License-Identifier: BSD-2-Clause-Patent
"""VMAF as a loss in PyTorch. The forward pass computes the exact score, the backward pass uses its slopes.

    import vmafgpu
    loss = vmafgpu.torch_loss(reference, distorted)     # 100 minus the mean score; a scalar of type float64
    loss.backward()                                     # distorted.grad
    scores = vmafgpu.torch_score(reference, distorted)  # one score per picture

Both functions take luma of shape (height, width), (pictures, height, width) or (pictures, 1, height, width), on the CPU
or a GPU. `reference` and `distorted` have the same shape and are on the same device. Floats are code values divided by
2 ** bit_depth - 1, so 0..1. Integers are code values: uint8 with bit_depth=8, otherwise int16 or uint16.

    bit_depth   8 to 16: the precision at which the pictures are compared
    is_clip     1: the pictures are consecutive frames, and motion is that of the clip. By default, each picture is
                scored alone, without motion
    model       name or path of a model, which must use only adm, vif and motion
    threads     number of CPU threads; default: that of PyTorch

The score is that of rounded and clamped code values. The gradient passes rounding and clamping unchanged
(straight-through), so it is not 0 for values outside 0..1. It is the derivative of the prediction before clip and
transform, so it is not 0 at a score of 100. See SLOPES in the manual of vmafgpu.h: slopes describe small, structured
changes, and a higher score is not always a better picture. The reference gets no gradient.

Tensors in GPU memory stay there. The library waits for the work that is queued on the current stream of PyTorch, and
the functions return when the scores and the slopes are complete.
"""
import collections
import ctypes
import sys
import threading
from typing import Any, List, Optional, Tuple

import torch

import vmafgpu

__all__ = ["torch_loss", "torch_score"]
_CONTEXTS = 8                       # number of contexts that are kept for later calls
_KINDS = {torch.uint8: "|u1", torch.int16: "<i2"}

class _Context:
    """A context of the library, and descriptions of the four frames that it compares."""
    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer
        self.pictures = [vmafgpu._Picture(scorer) for _ in range(4)]

_contexts: "collections.OrderedDict[Any, _Context]" = collections.OrderedDict()
_lock = threading.Lock()

def _context(shape: Tuple[int, int], device: Tuple[str, int], bit_depth: int, model: Any, threads: int) -> _Context:
    """Returns a context, which only this thread uses. The contexts that were not used for the longest time are closed,
    as soon as no thread uses them."""
    key = (shape, device, bit_depth, repr(model), threads, threading.get_ident(), len(vmafgpu._forks))
    with _lock:
        context = _contexts.pop(key, None)
    if context is None:
        gpu: Any = {} if device[0] == "cpu" else {"gpu": {"device": device[1], "frame_memory": "device"}}
        context = _Context(vmafgpu.Scorer(shape[1], shape[0], models=[model], chroma="400", bit_depth=bit_depth,
                                        backend=device[0], threads=threads, slopes=1, max_edit_size=1, **gpu))
    with _lock:
        _contexts[key] = context
        while len(_contexts) > _CONTEXTS:
            _contexts.popitem(last=False)
    return context

def _code_values(what: str, tensor: torch.Tensor, bit_depth: int) -> torch.Tensor:
    """Returns packed code values of type uint8 or int16."""
    kept = torch.uint8 if bit_depth == 8 else torch.int16
    tensor = tensor.detach()
    if tensor.is_floating_point():
        if not bool(torch.isfinite(tensor).all()):
            raise ValueError("%s: contains values that are not finite" % what)
        wide = tensor if tensor.dtype == torch.float64 else tensor.float()
        tensor = (wide.clamp(0, 1) * (2 ** bit_depth - 1)).round().to(torch.int32).to(kept)
    elif tensor.dtype != kept and (bit_depth == 8 or tensor.dtype != getattr(torch, "uint16", kept)):
        raise TypeError("%s: must have a floating-point type or, with bit_depth=%d, the type %s, not %s"
                        % (what, bit_depth, "uint8" if bit_depth == 8 else "int16 or uint16", tensor.dtype))
    return tensor.view(kept).contiguous() if tensor.dtype != kept else tensor.contiguous()

def _device(tensor: torch.Tensor) -> Tuple[str, int]:
    kind = tensor.device.type
    if kind == "cpu":
        return "cpu", 0
    if kind != "cuda":
        raise TypeError("distorted: device %s is not supported; use the CPU, CUDA or ROCm" % tensor.device)
    return ("hip" if torch.version.hip else "cuda"), tensor.device.index or 0

def _measure(reference: torch.Tensor, distorted: torch.Tensor, bit_depth: int, is_clip: bool, model: Any,
             threads: int, needs_slopes: bool) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """Returns the scores of pictures of shape (pictures, height, width), and their slopes."""
    count, height, width = distorted.shape
    device = _device(distorted)
    context = _context((height, width), device, bit_depth, model, threads or torch.get_num_threads())
    scorer, lib = context.scorer, vmafgpu.lib
    stream = 1 if device[0] == "cpu" else torch.cuda.current_stream(distorted.device).cuda_stream or 1
    sides = [_code_values(name, side, bit_depth) for name, side in (("reference", reference), ("distorted", distorted))]
    slopes = torch.empty(distorted.shape, dtype=torch.float32, device=distorted.device) if needs_slopes else None
    memory = vmafgpu._MEMORY["host" if device[0] == "cpu" else "device"]
    score, scores = vmafgpu._T["vmafgpu_score"](), []  # type: Any, List[float]

    def frame(at: int, side: int, n: int) -> Any:
        if not 0 <= n < count:
            return None
        tensor = sides[side][n]
        context.pictures[at].fill(vmafgpu.View(tensor.data_ptr(), (height, width), None, _KINDS[tensor.dtype], device,
                                              tensor, stream))
        return context.pictures[at].pointer

    with scorer._guard:
        if device[0] != "cpu":
            scorer._check(lib.vmafgpu_after_stream(scorer._v, None if stream == 1 else stream))
        for n in range(count):
            around = [frame(2, 0, n - 1), frame(3, 0, n + 1)] if is_clip else [None, None]
            scorer._check(lib.vmafgpu_edit_begin(scorer._v, frame(0, 0, n), frame(1, 1, n), *around, score))
            scores.append(score.score)
            if slopes is not None:
                to = ctypes.cast(slopes[n].data_ptr(), ctypes.POINTER(ctypes.c_float))
                scorer._check(lib.vmafgpu_edit_slopes(scorer._v, to, 0, memory))
    return torch.tensor(scores, dtype=torch.float64, device=distorted.device), slopes

class _Score(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, reference: torch.Tensor, distorted: torch.Tensor, bit_depth: int, is_clip: bool, model: Any,
                threads: int) -> torch.Tensor:
        scores, slopes = _measure(reference, distorted, bit_depth, is_clip, model, threads, ctx.needs_input_grad[1])
        ctx.save_for_backward(*([] if slopes is None else [slopes]))
        ctx.scale, ctx.type = 2 ** bit_depth - 1, distorted.dtype
        return scores

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_score: torch.Tensor) -> Any:
        slopes, = ctx.saved_tensors
        by_sample = slopes * (by_score * ctx.scale).to(slopes.dtype)[:, None, None]
        return None, by_sample.to(ctx.type), None, None, None, None

def torch_score(reference: torch.Tensor, distorted: torch.Tensor, *, bit_depth: int = 8, is_clip: bool = False,
                model: Any = "vmaf_v0.6.1", threads: int = 0) -> torch.Tensor:
    """Returns the scores of all pictures, of type float64: the bits of the library. See the module."""
    if reference.shape != distorted.shape or reference.device != distorted.device:
        raise ValueError("distorted: must have the shape and the device of the reference, %s on %s, not %s on %s"
                         % (tuple(reference.shape), reference.device, tuple(distorted.shape), distorted.device))
    shape = tuple(distorted.shape)
    if not 2 <= len(shape) <= 4 or (len(shape) == 4 and shape[1] != 1) or 0 in shape:
        raise ValueError("distorted: must be luma of shape (height, width), (pictures, height, width) or "
                         "(pictures, 1, height, width), not %s" % (shape,))
    if not 8 <= bit_depth <= 16:
        raise ValueError("bit_depth: must be 8 to 16, not %s" % bit_depth)
    flat = (-1,) + shape[-2:]
    apply, compiler = _Score.apply, getattr(torch, "compiler", None)  # type: Any, Any
    if compiler and "torch._dynamo" in sys.modules:     # torch.compile() cannot trace calls of the library
        apply = compiler.disable(apply)
    scores: torch.Tensor = apply(reference.reshape(flat), distorted.reshape(flat), bit_depth, bool(is_clip), model,
                                 threads)
    return scores

def torch_loss(reference: torch.Tensor, distorted: torch.Tensor, **options: Any) -> torch.Tensor:
    """Returns 100 minus the mean score, for optimisers that minimise. `options` are those of torch_score()."""
    return 100 - torch_score(reference, distorted, **options).mean()
