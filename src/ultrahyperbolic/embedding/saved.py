"""An embedding as its folder holds it, for the questions that need neither torch nor pandas."""

from ..arrays import Floats
from ..spaces import Geometry
from .answers import less_popularity
from .embedding import Embedding


class Saved(Embedding):
    """What `Embedding.load` reads, with distances from numpy, of products too."""

    def distances_from(self, row: int) -> Floats:
        """[n] of the node in a row to all."""
        assert isinstance(self.space, Geometry)  # as a folder has it
        return less_popularity(self.space.distances(self.points[row], self.points), self.popularity, row)
