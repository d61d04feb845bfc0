"""From points to answers: whether two nodes are tied, and to which class a node belongs."""

import math

import torch
from torch import Tensor, nn

from ..checks import check_count, check_positive, is_number
from ..geometry import Manifold, ManifoldParameter
from ..geometry.manifold import require_manifold
from ..spaces.dissimilarities import Dissimilarity, check_dissimilarity


class Decoder(nn.Module):
    """What both decoders share: how far apart two points are, in units of a temperature."""

    def __init__(
        self,
        manifold: Manifold,
        temperature: float,
        dissimilarity: Dissimilarity,
        epsilon: float | None,
        dtype: torch.dtype,
    ) -> None:
        super().__init__()
        require_manifold(manifold)
        check_positive("temperature", temperature)
        self.manifold, self.epsilon = manifold, epsilon
        self.dissimilarity = check_dissimilarity(dissimilarity)
        manifold.pair_function(self.dissimilarity, epsilon)  # raises here rather than in forward
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature), dtype=dtype))

    @property
    def temperature(self) -> Tensor:
        """t, positive by construction: exp of the parameter ``log_temperature``."""
        return self.log_temperature.exp()

    def between(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity [...] of points [..., d]."""
        return self.manifold.pair_function(self.dissimilarity, self.epsilon)(x, y)

    def extra_repr(self) -> str:
        """What ``repr`` shows beside the manifold."""
        return f"dissimilarity={self.dissimilarity!r}"


class LinkDecoder(Decoder):
    """Fermi–Dirac: a tie at dissimilarity D has the probability 1/(exp((D - r)/t) + 1).

    ``forward`` gives logits (r - D)/t, for ``binary_cross_entropy_with_logits``; `probability`
    gives probabilities. Neither overflows.

    Parameters
    ----------
    manifold : Manifold
        Where the points live.
    radius : float
        r to start from, a learnt parameter: at this dissimilarity the probability is one half.
    temperature : float
        t to start from, learnt and always positive.
    dissimilarity, epsilon
        D_γ by default, whose slope is infinite on the light cone and counted as 0 there.
        ``"smoothed"``, with an ``epsilon``, has finite slopes and is often easier to train.
    dtype : torch.dtype, optional
        Of r and t; default: float64, like points.

    Examples
    --------
    >>> import ultrahyperbolic as uh
    >>> M = uh.PseudoHyperboloid(3, 1)
    >>> decoder = LinkDecoder(M, radius=1.0)
    >>> x, y = M.random(4, generator=0), M.random(4, generator=1)
    >>> decoder(x, y).shape, decoder.probability(x, x).gt(0.5).all().item()
    (torch.Size([4]), True)
    """

    def __init__(
        self,
        manifold: Manifold,
        *,
        radius: float = 1.0,
        temperature: float = 1.0,
        dissimilarity: Dissimilarity = "geodesic",
        epsilon: float | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__(manifold, temperature, dissimilarity, epsilon, dtype)
        if not (is_number(radius) and math.isfinite(radius)):
            raise ValueError(f"radius must be a finite number, got {radius!r}")
        self.radius = nn.Parameter(torch.tensor(float(radius), dtype=dtype))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """The logits [...] of ties between points x and y [..., d]."""
        return (self.radius - self.between(x, y)) / self.temperature

    def probability(self, x: Tensor, y: Tensor) -> Tensor:
        """The probability [...] of ties."""
        return torch.sigmoid(self(x, y))


class ClassDecoder(Decoder):
    """A learnt point for each class: the nearer its point, the likelier the class.

    ``forward`` gives logits -D/t [..., classes], for ``cross_entropy``.

    Parameters
    ----------
    manifold : Manifold
        Where the points live.
    classes : int
        How many classes.
    temperature, dissimilarity, epsilon, dtype
        As for `LinkDecoder`.
    scale, generator
        The points of the classes start near the origin, as those of `ManifoldEmbedding` do.

    Examples
    --------
    >>> import ultrahyperbolic as uh
    >>> M = uh.PseudoHyperboloid(3, 1)
    >>> ClassDecoder(M, 7)(M.random(10, generator=0)).shape
    torch.Size([10, 7])
    """

    def __init__(
        self,
        manifold: Manifold,
        classes: int,
        *,
        temperature: float = 1.0,
        dissimilarity: Dissimilarity = "geodesic",
        epsilon: float | None = None,
        scale: float = 0.1,
        generator: torch.Generator | int | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__(manifold, temperature, dissimilarity, epsilon, dtype)
        classes = check_count("classes", classes, 1)
        start = manifold.random_near_pole(classes, epsilon=scale, generator=generator, dtype=dtype)
        self.prototypes = ManifoldParameter(start, manifold)

    def forward(self, x: Tensor) -> Tensor:
        """The logits [..., classes] of points x [..., d]."""
        return -self.between(x.unsqueeze(-2), self.prototypes) / self.temperature
