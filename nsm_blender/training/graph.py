# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients of a computation of many small kernels, recorded once as a CUDA graph and then replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

_WARM_UP = 3
"""Times that a computation runs before it is recorded, so that what is made at first use, such as workspaces of the
linear algebra, is there; as many as PyTorch's documentation advises."""


class Graph:
    """The error () of `function` of some inputs, and its gradients by parameters on a CUDA device.

    What the function does must depend on the shapes of its inputs alone, as the same kernels are launched again with
    what the inputs hold then.
    """

    def __init__(
        self,
        function: Callable[..., torch.Tensor],
        inputs: Sequence[torch.Tensor],
        parameters: Sequence[torch.Tensor],
    ) -> None:
        self._inputs = [one.clone() for one in inputs]
        self._parameters = parameters
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                self._forget()
                function(*self._inputs).backward()  # type: ignore[no-untyped-call]
        torch.cuda.current_stream().wait_stream(stream)
        self._forget()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._error = function(*self._inputs)
            self._error.backward()  # type: ignore[no-untyped-call]
        # They lie in the graph's own memory, where each replay writes them anew.
        self._gradients = [one.grad for one in parameters]

    def takes(self, inputs: Sequence[torch.Tensor]) -> bool:
        """Whether inputs have the shapes of those that it was recorded with."""
        return [one.shape for one in inputs] == [one.shape for one in self._inputs]

    def __call__(self, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
        """The error () of other inputs of the same shapes; puts the gradients into the parameters."""
        for own, new in zip(self._inputs, inputs, strict=True):
            own.copy_(new)
        self._graph.replay()
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient
        return self._error.detach().clone()

    def _forget(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None
