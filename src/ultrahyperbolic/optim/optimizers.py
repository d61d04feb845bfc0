"""Descent steps as ``torch.optim`` optimisers, and torch's own through φ (Section 4.1)."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm, parametrize
from torch.optim import Optimizer
from torch.optim.adam import adam
from torch.optim.optimizer import ParamsT, StateDict
from torch.optim.sgd import sgd

from ..checks import check_fraction, check_positive
from ..geometry import Euclidean, Manifold
from ..geometry.arguments import check_finite
from ..geometry.manifold import require_manifold
from ..geometry.parameter import manifold_of
from .descent import DescentSettings, Direction
from .groups import Curvatures, Group, Stepped, step_points

_ANY = Euclidean(1)  # where settings are checked and no manifold is given


class ManifoldOptimizer(Optimizer, ABC):
    """What the optimisers share: a descent step for points of a manifold, torch's own for all other
    parameters.

    A `ultrahyperbolic.ManifoldParameter` lives on the manifold it carries. Plain parameters live on
    their group's ``manifold``; where it is None (the default), they move as in ``torch.optim``.
    Points are checked when they are added. ``state_dict`` holds plain data; loading one made on
    another geometry is refused. A learned β among the parameters takes its points along.
    """

    def __init__(
        self, params: ParamsT, manifold: Manifold | None, weight_decay: float, **defaults: object
    ) -> None:
        if manifold is not None:
            require_manifold(manifold)
        check_positive("weight_decay", weight_decay, zero=True)
        super().__init__(params, {"manifold": manifold, **defaults, "weight_decay": weight_decay})

    @abstractmethod
    def _settings(self, group: Group, manifold: Manifold) -> DescentSettings:
        """What a parameter group asks of the descent step on a manifold."""

    @abstractmethod
    def _step_plain(self, params: list[Tensor], gradients: list[Tensor], group: Group) -> None:
        """One step of ``torch.optim`` for parameters that are not points."""

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters, all or none, after checking that points are on their manifold."""
        super().add_param_group(param_group)
        group, number = self.param_groups[-1], len(self.param_groups) - 1
        try:
            if group["manifold"] is not None:
                require_manifold(group["manifold"], f"manifold of group {number}")
            self._settings(group, group["manifold"] or _ANY)
            lr = group["lr"]  # a number is checked above
            if isinstance(lr, Tensor) and not ((lr >= 0) & lr.isfinite()).all():
                raise ValueError(f"lr must be finite and non-negative, got {lr}")
            for name, param in _named(number, group):
                if (manifold := _manifold(param, group)) is not None:
                    manifold.assert_point(param.detach(), name=name)
        except BaseException:
            self.param_groups.pop()
            raise

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step for every parameter that has a gradient; a closure re-evaluates the loss.

        A gradient, a step of points or another parameter that is not finite raises a
        ``FloatingPointError`` that names it. Points with such a gradient or step do not move, and
        no other parameter does. Nothing is checked while a CUDA graph is captured.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        params = [(param, group) for group in self.param_groups for param in group["params"]]
        placed = [(param, _manifold(param, group)) for param, group in params]
        curvatures = Curvatures((param, place) for param, place in placed if place is not None)
        learned = {param for param, _ in placed} & curvatures.parameters
        slopes = curvatures.slopes(learned)
        stepped: list[Stepped] = []
        plains: list[dict[Tensor, Tensor]] = []
        for group in self.param_groups:
            plains.append({})
            for param in group["params"]:
                manifold, gradient = _manifold(param, group), param.grad
                if manifold is None and (slope := slopes.get(param)) is not None:
                    gradient = slope if gradient is None else gradient + slope.to(gradient)
                if gradient is None:
                    continue
                if manifold is None:
                    plains[-1][param] = gradient
                else:
                    stepped.append(step_points(param, self.state, self._settings(group, manifold)))
        self._require_finite(stepped, plains)
        for group, plain in zip(self.param_groups, plains, strict=True):
            if plain:
                self._step_plain(list(plain), list(plain.values()), group)
        if learned:
            curvatures.follow()
        return loss

    def _require_finite(self, stepped: list[Stepped], plains: list[dict[Tensor, Tensor]]) -> None:
        """Raise unless all steps, and all other parameters and gradients, are finite."""
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            return
        held = [tensor for plain in plains for pair in plain.items() for tensor in pair]
        values = [tensor._values() if tensor.is_sparse else tensor for tensor in held]
        finite = [step.finite.all() for step in stepped]
        if values:
            largest = get_total_norm([value for value in values if value.numel()], torch.inf)
            finite.append(0.0 * largest == 0.0)  # 0 times what is infinite or NaN is NaN
        if not finite or bool(torch.stack([each.to(finite[0].device) for each in finite]).all()):
            return
        names = {}
        for number, group in enumerate(self.param_groups):
            for name, param in _named(number, group):
                names[param] = name
                tensors = {name: param.detach()}
                if param.grad is not None:
                    tensors = {f"the gradient of {name}": param.grad.to_dense()} | tensors
                for each, tensor in tensors.items():
                    check = check_finite(each, tensor)
                    if not check.ok:
                        raise FloatingPointError(f"{check.reason}; shape {tuple(param.shape)}")
        over = next(step.param for step in stepped if not step.finite.all())
        raise FloatingPointError(
            f"a step of {names[over]}, of shape {tuple(over.shape)}, overflows though its gradient "
            "is finite: set max_step, or choose a smaller lr"
        )

    def state_dict(self) -> StateDict:
        """The state as plain data, with the names of the geometries."""
        saved = super().state_dict()
        for group, own in zip(saved["param_groups"], self.param_groups, strict=True):
            del group["manifold"]
            group["geometry"], *group["geometries"] = _labels(own)
        return saved

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load what `state_dict` gave; the geometries must be the same."""
        manifolds = [group["manifold"] for group in self.param_groups]
        groups = [dict(group) for group in state_dict["param_groups"]]
        for index, (group, own) in enumerate(zip(groups, self.param_groups, strict=False)):
            labels = group.pop("geometry", None), *group.pop("geometries", [])
            for saved, found in zip(labels, _labels(own), strict=False):
                if saved != found:
                    raise ValueError(
                        f"the saved state of group {index} belongs to {saved or 'no manifold'}, "
                        f"this optimiser's to {found or 'no manifold'}"
                    )
        super().load_state_dict({**state_dict, "param_groups": groups})
        for group, manifold in zip(self.param_groups, manifolds, strict=True):
            group["manifold"] = manifold


def _of(group: Group, *names: str) -> Group:
    """Some options of a group."""
    return {name: group[name] for name in names}


def _manifold(param: Tensor, group: Group) -> Manifold | None:
    """Where the rows of a parameter live: on its own manifold, or else on its group's."""
    return manifold_of(param) or group["manifold"]


def _named(number: int, group: Group) -> list[tuple[str, Tensor]]:
    """The parameters of a group with their names, or with their positions if they have none."""
    places = [f"param_groups[{number}]['params'][{i}]" for i in range(len(group["params"]))]
    return list(zip(group.get("param_names") or places, group["params"], strict=True))


def _labels(group: Group) -> list[str | None]:
    """The geometry of a group, and those that its parameters carry themselves."""
    manifolds = group["manifold"], *map(manifold_of, group["params"])
    return [None if manifold is None else manifold._label() for manifold in manifolds]


class PseudoRiemannianSGD(ManifoldOptimizer):
    """Algorithm 1: x ← exp_x(-η ζ), with practical options; ``torch.optim.SGD`` for parameters that
    are not points.

    >>> import torch, ultrahyperbolic as uh
    >>> class Model(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.manifold = uh.PseudoHyperboloid(3, 1)
    ...         self.nodes = uh.ManifoldParameter(self.manifold.random_near_pole(34), self.manifold)
    ...         self.head = torch.nn.Linear(5, 2)
    >>> optimizer = uh.optim.PseudoRiemannianSGD(Model().parameters(), lr=1e-2)

    Equal to ``torch.optim.SGD`` on `ultrahyperbolic.Euclidean`, too. Sparse gradients, as of
    ``nn.Embedding(sparse=True)``, move their rows alone.

    Parameters
    ----------
    params : iterable
        Parameters or groups of them, such as ``model.parameters()``.
    manifold : Manifold, optional
        Where the rows of plain parameters live. Without it, only a ``ManifoldParameter`` is a
        point.
    lr : float
        η. The paper keeps it small (1e-6), for |χ| grows like ‖x‖⁴/β² times the gradient.
    momentum : float
        Heavy-ball factor; the running gradient is carried along by parallel transport.
    max_step : float, optional
        Longest move (Euclidean norm) of a point in one step. Set it where gradients are unbounded,
        as those of distances are near a light cone.
    direction : str
        ζ: ``"surrogate"`` for |P_x| ∇f, the Riemannian gradient where the metric is definite,
        ``"descent"`` for the paper's χ, or another of `DescentSettings`.
    weight_decay : float
        As in ``torch.optim``, for parameters that are not points: points have no 0 to decay to.
    """

    def __init__(
        self,
        params: ParamsT,
        manifold: Manifold | None = None,
        lr: float = 1e-3,
        *,
        momentum: float = 0.0,
        max_step: float | None = None,
        direction: Direction = "surrogate",
        weight_decay: float = 0.0,
    ) -> None:
        options = {"lr": lr, "momentum": momentum, "max_step": max_step, "direction": direction}
        super().__init__(params, manifold, weight_decay, **options)

    def _settings(self, group: Group, manifold: Manifold) -> DescentSettings:
        return DescentSettings(manifold, **_of(group, "lr", "direction", "momentum", "max_step"))

    def _step_plain(self, params: list[Tensor], gradients: list[Tensor], group: Group) -> None:
        buffers = [self.state[param].get("momentum_buffer") for param in params]
        sparse = any(each.is_sparse for each in gradients)
        options = _of(group, "weight_decay", "momentum", "lr")
        options |= {"dampening": 0.0, "nesterov": False, "maximize": False}
        sgd(params, gradients, buffers, sparse, **options)
        if group["momentum"]:
            for param, buffer in zip(params, buffers, strict=True):
                self.state[param]["momentum_buffer"] = buffer


class PseudoRiemannianAdam(ManifoldOptimizer):
    """Adam for points: tangent vectors are scaled as wholes, by their running squared length.

    The length is that of `Manifold.component_sqnorm`, positive in any signature, so ``lr`` is about
    how far a point moves in one step. In hyperbolic space this is Riemannian Adam, on
    `ultrahyperbolic.Euclidean` and for other parameters ``torch.optim.Adam``. Points follow
    geodesics with `Manifold.retr_transp`; moves to where rounding would hide the manifold are not
    made. Sparse gradients update their rows alone.

    Parameters
    ----------
    params, manifold, max_step, direction, weight_decay
        As for `PseudoRiemannianSGD`; Adam rarely needs ``max_step``.
    lr : float
        Step size, about the length of a move.
    betas : (float, float)
        Decay of the running direction and of its running squared length.
    eps : float
        Added to the root of the second moment.
    """

    def __init__(
        self,
        params: ParamsT,
        manifold: Manifold | None = None,
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        max_step: float | None = None,
        direction: Direction = "surrogate",
        weight_decay: float = 0.0,
    ) -> None:
        options = {"betas": betas, "eps": eps, "max_step": max_step, "direction": direction}
        super().__init__(params, manifold, weight_decay, lr=lr, **options)

    def _settings(self, group: Group, manifold: Manifold) -> DescentSettings:
        betas = group["betas"]
        if not isinstance(betas, tuple | list) or len(betas) != 2:
            raise ValueError(f"betas must be two numbers in [0, 1), got {betas!r}")
        for index, beta in enumerate(betas):
            check_fraction(f"betas[{index}]", beta)
        options = _of(group, "lr", "direction", "eps", "max_step")
        return DescentSettings(manifold, momentum=betas[0], second_moment=betas[1], **options)

    def _step_plain(self, params: list[Tensor], gradients: list[Tensor], group: Group) -> None:
        if any(gradient.is_sparse for gradient in gradients):
            raise RuntimeError(
                "Adam takes no sparse gradients, as in torch.optim, but for points of a manifold"
            )
        states = [self.state[param] for param in params]
        for param, state in zip(params, states, strict=True):
            if not state:
                state["step"] = torch.tensor(0.0)
                for name in ("exp_avg", "exp_avg_sq"):
                    state[name] = torch.zeros_like(param, memory_format=torch.preserve_format)
        names = ("exp_avg", "exp_avg_sq", "step")
        means, squares, steps = ([state[name] for state in states] for name in names)
        beta1, beta2 = group["betas"]
        options = _of(group, "lr", "weight_decay", "eps") | {"beta1": beta1, "beta2": beta2}
        options |= {"amsgrad": False, "maximize": False}
        adam(params, gradients, means, squares, [], steps, **options)


class OntoManifold(nn.Module):
    """A ``torch.nn.utils.parametrize`` parametrisation x = φ(z), with a copy of the manifold."""

    def __init__(self, manifold: Manifold) -> None:
        super().__init__()
        require_manifold(manifold)
        self.manifold = copy.deepcopy(manifold)

    def forward(self, z: Tensor) -> Tensor:
        """φ(z)."""
        return self.manifold.phi(z)

    def right_inverse(self, x: Tensor) -> Tensor:
        """x, for φ(x) = x on the manifold; a value off the manifold becomes φ of it."""
        self.manifold.assert_phi(x.detach())
        return x


def optimize_through_phi(module: nn.Module, name: str, manifold: Manifold) -> nn.Module:
    """Make ``module.name`` a point set φ(z) on the manifold and z its parameter; returns the
    module.

    >>> import torch
    >>> from ultrahyperbolic import PseudoHyperboloid
    >>> M = PseudoHyperboloid(3, 1)
    >>> nodes = optimize_through_phi(torch.nn.Embedding(34, 5, dtype=torch.float64), "weight", M)
    >>> M.check_point(nodes.weight).ok
    True
    >>> adam = torch.optim.Adam(nodes.parameters())
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    if not isinstance(name, str) or not isinstance(getattr(module, name, None), Tensor):
        kind = type(module).__name__
        raise ValueError(f"name must be that of a parameter of {kind}, got {name!r}")
    require_manifold(manifold)
    manifold.assert_phi(getattr(module, name).detach(), name=name)
    parametrize.register_parametrization(module, name, OntoManifold(manifold))
    return module
