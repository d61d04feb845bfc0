"""What is known of a space as plain data: its names, its distances and its quasi-Newton steps,
without torch.
"""

from .named import MANIFOLD as MANIFOLD
from .named import Geometry as Geometry
from .named import ManifoldField as ManifoldField
from .named import Quadric as Quadric
from .named import Space as Space
from .named import described as described
from .named import manifold_of as manifold_of
